"""Outputs that are made outside of the compiled code.

In:  an input of the graph, or a result of its compiled forward.
Out: the view of it that the program returned.

    return x * 2, x[0]   ->   the second output: Replay of select(x, 0, 0), on input 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture_records import dataclass

if TYPE_CHECKING:
    from codegen.trace.view_call import ViewCall


@dataclass(slots=True)
class Replay:
    """An output that is a view of a graph input or of another output.

    It is made outside the compiled code, so that autograd sees the view. `base` is the position of the input,
    or of the function's result. `views` are applied from first to last; they were made in the grad `modes`.
    """

    from_input: bool
    base: int
    views: list[ViewCall | None]
    detach: bool
    modes: frozenset[bool]

    @property
    def cut_off(self) -> bool:
        """Whether the program detached it. The grad mode of its views is unknown then."""
        return self.detach and None in self.views

    def run(self, base: torch.Tensor) -> torch.Tensor:
        value = base
        for view in self.views:
            if view is None:
                value = (
                    torch.ops.aten.alias(value) if value.requires_grad and not self.detach else value.detach()
                )
            else:
                made = view.func(value, *view.args, **view.kwargs)
                value = made if view.index is None else made[view.index]
        return value.detach() if self.detach and value.requires_grad else value
