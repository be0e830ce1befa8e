"""The state of the thread: the translation changes it as the program does, and restores it.

In:  `with ThreadState(): ...` or `state = ThreadState.capture(); ...; state.restore()`.
Out: grad mode, autocast and torch's settings (`capture.process.process_flags`) are as before. The `with`
     block also restores the random state.
"""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

import torch

from capture.process.process_flags import read_flags, write_flags

DEVICES = ("cpu",)


class ThreadState:
    def __init__(self) -> None:
        self._saved: dict[str, Any] = {}
        self._random: torch.Tensor | None = None

    @classmethod
    def capture(cls) -> ThreadState:
        state = cls()
        state._saved = read_modes()
        return state

    def restore(self) -> None:
        write_modes(self._saved)

    def __enter__(self) -> ThreadState:
        self._saved = read_modes()
        self._random = torch.default_generator.get_state()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.restore()
        assert self._random is not None
        torch.default_generator.set_state(self._random)


def read_modes() -> dict[str, Any]:
    """All state that `function_kinds.STATE_FUNCTIONS` and torch's context managers change."""
    nesting = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return {
        "grad": torch.is_grad_enabled(),
        "autocast": {d: torch.is_autocast_enabled(d) for d in DEVICES},
        "autocast_dtype": {d: torch.get_autocast_dtype(d) for d in DEVICES},
        "autocast_cache": torch.is_autocast_cache_enabled(),
        "autocast_nesting": nesting,
        "inference": torch.is_inference_mode_enabled(),
        "torch_function": torch._C._is_torch_function_enabled(),
        "torch_function_modes": torch._C._is_torch_function_all_disabled(),
        "flags": read_flags(),
    }


def write_modes(modes: dict[str, Any]) -> None:
    """Set the modes that can be set. The others end only at the exit of their context managers."""
    write_flags(modes["flags"])
    torch._C._set_grad_enabled(modes["grad"])
    for device in DEVICES:
        torch.set_autocast_enabled(device, modes["autocast"][device])
        torch.set_autocast_dtype(device, modes["autocast_dtype"][device])
    torch.set_autocast_cache_enabled(modes["autocast_cache"])
    nesting = torch.autocast_increment_nesting()
    in_autocast = nesting > 1
    while nesting > modes["autocast_nesting"]:
        nesting = torch.autocast_decrement_nesting()
    if in_autocast and nesting == 0:  # the outermost region does this at its end
        torch.clear_autocast_cache()
    while nesting < modes["autocast_nesting"]:
        nesting = torch.autocast_increment_nesting()


def put_back(modes: dict[str, Any], error: BaseException, open_autocasts: int) -> None:
    """Undo the changes of a graph that raised before its end, which would have undone them.

    How deep autocast is nested is no guard of a graph: it differs from call to call. So does the grad mode of
    a graph that does the same in each: `modes` has none, since the graph did not change it.
    """
    now = read_modes()
    modes = {**now, **modes, "autocast_nesting": now["autocast_nesting"] - open_autocasts}
    if now != modes:
        # Inference mode ends when its guard object dies, and a frame of the graph holds that object.
        traceback.clear_frames(error.__traceback__)
        write_modes(modes)
