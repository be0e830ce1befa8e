"""Checks that loop IR is well formed.

In:  `ir.Kernel`.
Out: nothing, or a `VerificationError` that names the kernel, the statement and the defect.

    store y[i], %7      ->   VerificationError: k0: store y[i]: %7 is not defined here

It checks: values are defined once and used where they are in scope; types fit the operations; buffers are
known, and only writable ones are written; indices use integer values and the axes of the enclosing loops;
accumulators are updated in loops after their declaration, and read after those loops; a path has at most one
vector loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.kernel import ir
from codegen.kernel.ops import INTEGERS, SIGNED, STORAGE, result_dtype

_COMBINES = frozenset({"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"})


class VerificationError(AssertionError):
    """Loop IR that has no meaning."""


class _Verifier:
    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self.buffers = {buffer.name: buffer for buffer in kernel.buffers}
        self.dtypes: dict[int, str] = {}
        self.scope: set[int] = set()
        self.axes: list[str] = []
        self.all_axes: set[str] = set()
        self.accumulators: dict[str, tuple[ir.Accumulator, int]] = {}
        self.vector = False
        self.parallel = [True]

    def fail(self, statement: Any, text: str) -> None:
        raise VerificationError(f"{self.kernel.name}: {statement}: {text}")

    def block(self, body: list[ir.Stmt]) -> None:
        scope, accumulators = set(self.scope), dict(self.accumulators)
        for statement in body:
            check = _CHECKS.get(type(statement))
            if check is None:
                self.fail(statement, "is no statement")
            else:
                check(self, statement)
        self.scope, self.accumulators = scope, accumulators

    def define(self, statement: Any, number: int, dtype: str) -> None:
        if number in self.dtypes:
            self.fail(statement, f"%{number} is defined twice")
        if dtype not in STORAGE:
            self.fail(statement, f"unknown type {dtype!r}")
        self.dtypes[number] = dtype
        self.scope.add(number)

    def use(self, statement: Any, number: int) -> str:
        if number not in self.scope:
            self.fail(statement, f"%{number} is not defined here")
        return self.dtypes[number]

    def use_bool(self, statement: Any, number: int | None, what: str) -> None:
        if number is not None and self.use(statement, number) != "b8":
            self.fail(statement, f"the {what} %{number} is {self.dtypes[number]}, expected b8")

    def index(self, statement: Any, index: ir.Expr) -> None:
        if isinstance(index, ir.Binary):
            if index.op not in ("add", "mul", "floordiv", "mod", "min", "max"):
                self.fail(statement, f"unknown index operation {index.op!r}")
            self.index(statement, index.left)
            self.index(statement, index.right)
        elif isinstance(index, ir.AxisVar) and index.name not in self.axes:
            self.fail(statement, f"{index.name} is no axis of the loops around it")
        elif isinstance(index, ir.Sym) and index.name not in self.kernel.sizes:
            self.fail(statement, f"{index.name} is no size of the kernel")
        elif isinstance(index, ir.Indirect) and self.use(statement, index.value) not in INTEGERS:
            self.fail(
                statement, f"the index %{index.value} is {self.dtypes[index.value]}, expected an integer"
            )

    def buffer(self, statement: Any, name: str, dtype: str) -> ir.Buffer:
        buffer = self.buffers.get(name)
        if buffer is None:
            self.fail(statement, f"unknown buffer {name!r}")
        assert buffer is not None
        if buffer.dtype != dtype:
            self.fail(statement, f"{name} holds {buffer.dtype}, not {dtype}")
        return buffer

    # --- statements

    def op(self, op: ir.Op) -> None:
        dtypes = tuple(self.use(op, arg) for arg in op.args)
        try:
            expected = result_dtype(op.name, dtypes, op.dtype)
        except ValueError as error:
            self.fail(op, str(error))
        if expected != op.dtype:
            self.fail(op, f"gives {expected}")
        self.define(op, op.number, op.dtype)

    def const(self, op: ir.ConstOp) -> None:
        self.define(op, op.number, op.dtype)

    def index_op(self, op: ir.IndexOp) -> None:
        self.index(op, op.index)
        if op.dtype not in SIGNED:
            self.fail(op, "an index is a signed integer")
        self.define(op, op.number, op.dtype)

    def load(self, load: ir.Load) -> None:
        self.buffer(load, load.buffer, load.dtype)
        self.index(load, load.index)
        self.use_bool(load, load.mask, "mask")
        self.define(load, load.number, load.dtype)

    def store(self, store: ir.Store) -> None:
        buffer = self.buffer(store, store.buffer, self.use(store, store.value))
        if not buffer.writable:
            self.fail(store, f"{buffer.name} is not writable")
        self.index(store, store.index)
        self.use_bool(store, store.mask, "mask")

    def check(self, check: ir.Check) -> None:
        self.use_bool(check, check.condition, "condition")
        if check.code <= 0:
            self.fail(check, f"code {check.code} is not positive")

    def accumulator(self, accumulator: ir.Accumulator) -> None:
        if accumulator.combine not in _COMBINES:
            self.fail(accumulator, f"unknown combination {accumulator.combine!r}")
        if accumulator.name in self.accumulators:
            self.fail(accumulator, "is declared twice")
        truth = accumulator.combine in ("any", "all")
        if truth != (accumulator.dtype == "b8") or accumulator.dtype in ("bf16", "f16"):
            self.fail(accumulator, f"{accumulator.combine} does not take {accumulator.dtype}")
        self.accumulators[accumulator.name] = (accumulator, len(self.axes))

    def update(self, update: ir.Update) -> None:
        found = self.accumulators.get(update.accumulator)
        if found is None:
            self.fail(update, "the accumulator is not declared here")
        assert found is not None
        declaration, depth = found
        if depth == len(self.axes):
            self.fail(update, "is not inside a loop after the declaration")
        if any(self.parallel[depth + 1 :]):
            self.fail(update, "a parallel loop stands between it and the declaration")
        if self.use(update, update.value) != declaration.dtype:
            self.fail(update, f"the accumulator holds {declaration.dtype}")
        positional = declaration.combine.startswith("arg")
        if positional != (update.index is not None):
            self.fail(update, f"{declaration.combine} takes {'an' if positional else 'no'} index")
        if update.index is not None and self.use(update, update.index) != "i64":
            self.fail(update, "the index is i64")

    def scan(self, scan: ir.ScanStep) -> None:
        self.update(ir.Update(scan.accumulator, scan.value))
        accumulator = self.accumulators[scan.accumulator][0]
        if accumulator.combine not in ("sum", "prod", "max", "min") or scan.dtype != accumulator.dtype:
            self.fail(scan, f"gives {accumulator.dtype} by {accumulator.combine}")
        self.define(scan, scan.number, scan.dtype)

    def read(self, read: ir.ReadAccumulator) -> None:
        found = self.accumulators.get(read.accumulator)
        if found is None or found[1] != len(self.axes):
            self.fail(read, "is read in another block than that of its declaration")
        assert found is not None
        expected = "i64" if found[0].combine.startswith("arg") else found[0].dtype
        if read.dtype != expected:
            self.fail(read, f"gives {expected}")
        self.define(read, read.number, read.dtype)

    def loop(self, loop: ir.Loop) -> None:
        if loop.axis in self.axes:
            self.fail(loop.axis, "a loop around it has the same axis")
        if loop.vector and self.vector:
            self.fail(loop.axis, "a vector loop inside a vector loop")
        if loop.unroll < 1:
            self.fail(loop.axis, f"unroll {loop.unroll}")
        self.index(loop.axis, loop.extent)
        vector = self.vector
        self.vector = vector or loop.vector
        self.axes.append(loop.axis)
        self.parallel.append(loop.parallel)
        self.block(loop.body)
        self.axes.pop()
        self.parallel.pop()
        self.vector = vector


_CHECKS: dict[type, Callable[[_Verifier, Any], None]] = {
    ir.Op: _Verifier.op,
    ir.ConstOp: _Verifier.const,
    ir.IndexOp: _Verifier.index_op,
    ir.Load: _Verifier.load,
    ir.Store: _Verifier.store,
    ir.Check: _Verifier.check,
    ir.Accumulator: _Verifier.accumulator,
    ir.Update: _Verifier.update,
    ir.ScanStep: _Verifier.scan,
    ir.ReadAccumulator: _Verifier.read,
    ir.Loop: _Verifier.loop,
}


def verify(kernel: ir.Kernel) -> None:
    """Raise a VerificationError if `kernel` is not well formed."""
    names = [buffer.name for buffer in kernel.buffers]
    if len(set(names)) != len(names):
        raise VerificationError(f"{kernel.name}: two buffers of one name in {names}")
    for buffer in kernel.buffers:
        if buffer.dtype not in STORAGE:
            raise VerificationError(f"{kernel.name}: buffer {buffer.name} of unknown type {buffer.dtype!r}")
        if buffer.alias_of is not None and buffer.alias_of not in names:
            raise VerificationError(
                f"{kernel.name}: buffer {buffer.name} aliases {buffer.alias_of!r}, which is no buffer"
            )
    _Verifier(kernel).block(kernel.body)
    _check_split(kernel)


def _check_split(kernel: ir.Kernel) -> None:
    """Every store must be in a loop over the divided axis. Else several threads would do the store."""
    if kernel.split is not None:
        _check_divided(kernel, kernel.body)


def _check_divided(kernel: ir.Kernel, body: list[ir.Stmt]) -> None:
    for statement in body:
        if isinstance(statement, ir.Store):
            raise VerificationError(
                f"{kernel.name}: is split over {kernel.split}, but stores to {statement.buffer} outside of it"
            )
        if isinstance(statement, ir.Loop) and statement.axis != kernel.split:
            _check_divided(kernel, statement.body)
        elif isinstance(statement, ir.Loop) and not statement.parallel:
            raise VerificationError(f"{kernel.name}: is split over {kernel.split}, which is not parallel")
