"""The interface of the walk over a kernel, for the functions that each write a statement.

In:  a kernel, a target.
Out: `Emitter`, which `emit.KernelEmitter` implements: the state of the walk; look-ups; the call that emits
     the statements inside of a loop.
"""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

from capture_records import dataclass
from codegen.kernel.ir import Accumulator, Buffer, Expr, Kernel, Loop, Stmt
from codegen.llvm.function_text import FunctionText
from codegen.llvm.index import AxisPlace, IndexArithmetic
from codegen.llvm.target import Target
from codegen.llvm.values import Value


@dataclass(slots=True)
class AccumulatorState:
    """The place of an accumulator in stack slots.

    lanes:  1, or the lanes of the vector loop that declares it; then each lane of each copy has its own value
    slots:  by (lanes, copy); an argmax has a second slot for the index
    """

    accumulator: Accumulator
    lanes: int
    slots: dict[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """How a vector loop covers its extent.

    overlap:  the last vector moves back so that it ends with the loop
    masked:   the last vector has a mask, if it does not overlap
    """

    lanes: int
    unroll: int
    overlap: bool
    masked: bool


class Emitter(Protocol):
    """The state of the walk; `emit.KernelEmitter` says what each part is."""

    kernel: Kernel
    target: Target
    function: FunctionText
    index: IndexArithmetic
    axes: dict[str, AxisPlace]
    accumulators: dict[str, AccumulatorState]
    pointers: dict[str, str]
    lanes: int
    in_vector_loop: bool
    mask: str | None
    copies: int
    copy: int
    written: set[str]
    ahead: dict[int, Expr]
    past_caches: set[str]
    leaves_out_caches: bool

    def value(self, number: int) -> Value: ...

    def define(self, number: int, value: Value) -> None: ...

    def buffer(self, name: str) -> Buffer: ...

    def plan(self, loop: Loop) -> VectorPlan: ...

    def block(self, statements: list[Stmt]) -> None: ...

    def block_in_copies(self, statements: list[Stmt], axis: str, places: list[AxisPlace]) -> None: ...
