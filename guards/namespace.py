"""The names of a frame as guards see them.

In:  the `_capture.Frame` of a call, with localsplus as a tuple. The settrace hook makes the same from Python.
Out: `FrameNamespace`. `Source.resolve` starts from it.

    def f(x, *, k=1): ...     f(a)  ->  locals {"x": a, "k": 1}, globals f.__globals__, builtins, function f
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from capture_records import dataclass

UNBOUND: Any = object()  # marks an unbound local where there is no native `_capture.NULL`
STACK_ITEM = "___stack_"  # and a number: the argument of a resume function that was an item of the stack


@dataclass(frozen=True)
class FrameNamespace:
    """The bound arguments by name, and the places of all other names. Free variables are in
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
        """`values` has one item for each of `localsplus_names(code)`, and `null` marks an unbound one.
        `names` is (globals, builtins).
        """
        bound = {name: value for name, value in zip(localsplus_names(code), values) if value is not null}
        return FrameNamespace(bound, names[0], names[1], function)


def localsplus_names(code: CodeType) -> tuple[str, ...]:
    """The names of the fast locals in the order of the frame: locals, then cells that are no arguments, then
    free variables.
    """
    cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return (*code.co_varnames, *cells, *code.co_freevars)
