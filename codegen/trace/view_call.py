"""How a tensor of a graph is a view of another one.

In:  the operator that made it, and the arguments behind its parent.
Out: `ViewCall`.

    y = x.select(0, 1)   ->   ViewCall(aten.select.int, (0, 1), {})
"""

from __future__ import annotations

from typing import Any

from torch._ops import OpOverload

from capture_records import dataclass


@dataclass(slots=True)
class ViewCall:
    """A view operator applied to `parent`: `func(parent, *args, **kwargs)`.

    `index` says which of its results the view is (None: it has one result).
    """

    func: OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    index: int | None = None

    def arguments(self) -> dict[str, Any]:
        """Its arguments by name, with defaults, without the tensor."""
        names = self.func._schema.arguments[1:]
        given = dict(zip((argument.name for argument in names), self.args)) | self.kwargs
        return {argument.name: given.get(argument.name, argument.default_value) for argument in names}
