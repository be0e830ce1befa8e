"""What an exported function takes and gives, as plain data.

In:  a Program; the names of its inputs.
Out: `Interface`: the arguments, memories, results and sizes of the C function, which JSON holds.

    def f(x): y = x + 1; return y, y.t()
        ->   argument x; memory 0 of y; results: memory 0 as [3, 4], memory 0 as [4, 3] with strides (1, 4)

Numbers in it are ints, names of sizes, or `[operation, left, right]`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from capture_records import dataclass
from codegen.kernel.ir import Binary, Const, Expr, Sym

#: of memory that the function gets, in bytes
WORKSPACE_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor argument, or memory that the function writes. Sizes and strides count elements.

    name: in C. path: where it is in the arguments of the program, or the name of a parameter.
    written: the function writes to it.
    """

    name: str
    path: str
    dtype: torch.dtype
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    written: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A tensor of the program's result: a layout on an argument or on a memory."""

    source: str  # "argument" or "memory"
    place: int
    dtype: torch.dtype
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offset: Expr


@dataclass(frozen=True, slots=True)
class Size:
    """A size that the caller chooses: dim `dim` of the argument `argument`, between the bounds."""

    name: str
    argument: int
    dim: int
    least: int
    most: int


@dataclass(slots=True)
class Interface:
    """The C function `name(arguments..., sizes..., memories..., workspace)`."""

    name: str
    arguments: list[Tensor]
    sizes: list[Size]
    memories: list[Tensor]
    results: list[Result]
    workspace: Expr
    may_fail: bool = False
    cblas: bool = False  # its code calls cblas

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "arguments": list(map(_plain, self.arguments)),
            "sizes": list(map(_plain, self.sizes)),
            "memories": list(map(_plain, self.memories)),
            "results": list(map(_plain, self.results)),
            "workspace": plain_number(self.workspace),
        }


def _plain(record: Any) -> dict[str, Any]:
    return {field.name: _plain_value(getattr(record, field.name)) for field in dataclasses.fields(record)}


def _plain_value(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, tuple):
        return list(map(plain_number, value))
    return plain_number(value) if isinstance(value, (Const, Sym, Binary)) else value


def plain_number(expr: Expr) -> Any:
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Sym):
        return expr.name
    assert isinstance(expr, Binary), "sizes have no axes"
    return [expr.op, plain_number(expr.left), plain_number(expr.right)]
