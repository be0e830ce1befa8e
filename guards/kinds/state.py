"""The guard of the process's state: what changes the meaning of torch's operations.

In:  the state at the moment of the call.
Out: `GlobalStateGuard`.

    with torch.no_grad(): GlobalStateGuard.of()   ->   global state of torch: grad mode off, ...
"""

from __future__ import annotations

from guards.encoder import Encoder
from guards.guard import Guard, Stage
from guards.namespace import FrameNamespace
from guards.properties.global_state import ANY_MODE, GlobalState, read_global_state
from guards.properties.state_text import fields_text, state_text
from guards.sources import GlobalStateSource


class GlobalStateGuard(Guard):
    """Grad mode, inference mode, autocast, default dtype, deterministic flags, modes of torch functions and
    of dispatch, functorch: all are as at capture.
    """

    cost = 40
    stage = Stage.STATE
    payload: GlobalState

    @classmethod
    def of(cls, function_modes: int | None = None) -> GlobalStateGuard:
        """Make it before a FakeTensorMode or another mode is entered. `function_modes` replaces the number of
        torch function modes.
        """
        state = read_global_state()
        if function_modes is not None:
            state = state._replace(function_modes=function_modes)
        return cls((GlobalStateSource(),), state)

    def in_any_grad_mode(self) -> GlobalStateGuard:
        """The guard of a frame that does the same in each of them."""
        return GlobalStateGuard(self.sources, self.payload._replace(grad_mode=ANY_MODE))

    def holds_in(self, frame: FrameNamespace) -> bool:
        return self.payload.fits(read_global_state())

    def encode(self, encoder: Encoder) -> None:
        encoder.emit("CHECK_GLOBAL_STATE", operands=list(self.payload))

    @property
    def text(self) -> str:
        return f"{self.source.text}: {state_text(self.payload)}"

    def failure(self, frame: FrameNamespace) -> tuple[str, str]:
        old, new = self.payload, read_global_state()
        changed = old.differences(new)
        return fields_text(old, changed), fields_text(new, changed)
