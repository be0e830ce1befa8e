"""The names of a frame as guards see them.

In:  the `_capture.Frame` of a call (localsplus as a tuple), or the same put together by the settrace hook.
Out: `FrameNamespace`, from which `Source.resolve` starts.

    def f(x, *, k=1): ...     f(a)  ->  locals {"x": a, "k": 1}, globals f.__globals__, builtins, function f
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

UNBOUND: Any = object()  # marks an unbound local where the native `_capture.NULL` is not at hand


@dataclass(frozen=True)
class FrameNamespace:
    """Bound arguments by name, and where all other names come from. Free variables are reached through
    `function.__closure__`.
    """

    locals: Mapping[str, Any]
    globals: dict[str, Any]
    builtins: dict[str, Any]
    function: FunctionType

    @staticmethod
    def from_localsplus(
        code: CodeType,
        values: Sequence[Any],
        null: Any,
        names: tuple[dict[str, Any], dict[str, Any]],
        function: FunctionType,
    ) -> FrameNamespace:
        """`values` has one item for each of `localsplus_names(code)`; `null` marks an unbound one; `names` is
        (globals, builtins).
        """
        bound = {name: value for name, value in zip(localsplus_names(code), values) if value is not null}
        return FrameNamespace(bound, names[0], names[1], function)


def localsplus_names(code: CodeType) -> tuple[str, ...]:
    """Names of the fast locals in the order of the frame: locals, then cells that are not arguments, then
    free variables.
    """
    cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return (*code.co_varnames, *cells, *code.co_freevars)
