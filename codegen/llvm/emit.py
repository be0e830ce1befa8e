"""A kernel of loop IR as LLVM text.

In:  `codegen.kernel.ir.Kernel` (verified), `Target`.
Out: `emit(kernel, target)`: a module with the one function and the declarations it needs.

    for i in 64 parallel vector:            %i = phi i64 ...
      %0 = load x[i]                        %t3 = load <16 x float>, ptr %t2
      %1 = mul %0, %0                 ->    %t4 = fmul <16 x float> %t3, %t3
      store out[i], %1                      store <16 x float> %t4, ptr %t5

This file walks over the statements. Loops, memory, reductions, index arithmetic and operations have their own
files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.kernel.errors import EmitError
from codegen.kernel.ir import (
    Accumulator,
    Buffer,
    Check,
    ConstOp,
    IndexOp,
    Kernel,
    Load,
    Loop,
    Op,
    ReadAccumulator,
    ScanStep,
    Stmt,
    Store,
    Update,
)
from codegen.kernel.ops import OPS
from codegen.llvm.arithmetic import EMITTERS
from codegen.llvm.casts import cast
from codegen.llvm.emitter import AccumulatorState, VectorPlan
from codegen.llvm.function_text import FunctionText, module_of
from codegen.llvm.index import AxisPlace, IndexArithmetic
from codegen.llvm.interleaved import (
    emit_interleaved,
    emit_interleaved_loads,
    interleaved_loads,
    interleaved_stores,
)
from codegen.llvm.loops import emit_loop, plan_vector_loop, statements_in
from codegen.llvm.memory import NONTEMPORAL, any_lane, emit_load, emit_store
from codegen.llvm.reduce import declare_accumulator, emit_update, read_accumulator
from codegen.llvm.scans import emit_scan_step
from codegen.llvm.streaming import only_reads, rows_ahead, written_past_caches
from codegen.llvm.target import Target
from codegen.llvm.values import Code, Value, constant_value


def emit(kernel: Kernel, target: Target) -> str:
    """The LLVM module of `kernel`. Raises EmitError for loop IR that has no meaning as machine code."""
    return module_of([emit_function(kernel, target)])


def emit_function(kernel: Kernel, target: Target, symbol: str | None = None) -> tuple[dict[str, str], str]:
    """(declarations by name, definition) of `kernel` with the name `symbol`, for `module_of`."""
    emitter = KernelEmitter(kernel, target)
    emitter.block(kernel.body)
    text = emitter.text(symbol or kernel.name)
    return emitter.function.declarations, text


class KernelEmitter:
    """The state of the walk.

    axes: where each open loop stands; lanes: the lanes of the open vector loop, else 1; mask: which of them
    are inside the loop, None if all are. An unrolled vector loop writes each statement once for each of
    `copies` vectors, so that all copies share a loop inside it. `copy` is the copy that is being written; it
    has its own values.
    """

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.kernel = kernel
        self.target = target
        self.function = FunctionText()
        self.axes: dict[str, AxisPlace] = {}
        self._values: list[dict[int, Value]] = [{}]
        self.accumulators: dict[str, AccumulatorState] = {}
        self.lanes = 1
        self.in_vector_loop = False
        self.mask: str | None = None
        self.copies = 1
        self.copy = 0
        self._copy_places: tuple[str, list[AxisPlace]] | None = None
        self.index = IndexArithmetic(self.function, self._code, self)
        self.sizes = self._load_arguments("%sizes", "i64", list(kernel.sizes))
        self.pointers = self._load_arguments("%buffers", "ptr", [buffer.name for buffer in kernel.buffers])
        self.written = self._written_buffers()
        self.ahead = rows_ahead(kernel)
        self.past_caches = written_past_caches(kernel) if target.architecture == "x86_64" else set()
        # set while the version of a loop is written whose stores to them are aligned
        self.leaves_out_caches = False
        self._buffers = {buffer.name: buffer for buffer in kernel.buffers}
        self._plans: dict[int, VectorPlan] = {}
        self._failures: dict[int, str] = {}

    def _code(self, level: int, lanes: int) -> Code:
        return Code(self.function, self.target, level, lanes)

    def _load_arguments(self, array: str, kind: str, names: list[str]) -> dict[str, str]:
        loaded = {}
        for position, name in enumerate(names):
            place = self.function.temp()
            loaded[name] = self.function.temp()
            self.function.entry.append(f"  {place} = getelementptr {kind}, ptr {array}, i64 {position}")
            align = self.target.pointer_bytes if kind == "ptr" else 8
            self.function.entry.append(f"  {loaded[name]} = load {kind}, ptr {place}, align {align}")
        return loaded

    def _written_buffers(self) -> set[str]:
        """Buffers that a store may change, aliases included."""
        roots = {buffer.name: buffer.alias_of or buffer.name for buffer in self.kernel.buffers}
        stored = {roots[stmt.buffer] for stmt in statements_in(self.kernel.body) if isinstance(stmt, Store)}
        return {name for name, root in roots.items() if root in stored}

    # --- look-ups ------------------------------------------------------------------------------------------

    def value(self, number: int) -> Value:
        return self._values[self.copy][number]

    def define(self, number: int, value: Value) -> None:
        self._values[self.copy][number] = value

    def buffer(self, name: str) -> Buffer:
        return self._buffers[name]

    def plan(self, loop: Loop) -> VectorPlan:
        plan = self._plans.get(id(loop))
        if plan is None:
            plan = self._plans[id(loop)] = plan_vector_loop(loop, self.kernel, self.target)
        return plan

    # --- statements ----------------------------------------------------------------------------------------

    def block(self, statements: list[Stmt]) -> None:
        """Emits the statements. Values and accumulators of a block end with the block."""
        values, accumulators = [dict(known) for known in self._values], dict(self.accumulators)
        rows, read = self._interleaved(statements)
        with_others = (
            {id(s) for row in (*rows.values(), *read.values()) for s in row} - rows.keys() - read.keys()
        )
        for position, statement in enumerate(statements):
            if id(statement) in with_others:
                continue
            if isinstance(statement, Loop):
                emit_loop(self, statement)
                continue
            for copy in range(self.copies):
                self._turn_to(copy)
                if isinstance(statement, Accumulator):
                    declare_accumulator(self, statement, statements[position + 1 :])
                elif id(statement) in rows:
                    emit_interleaved(self, rows[id(statement)])
                elif id(statement) in read:
                    emit_interleaved_loads(self, read[id(statement)])
                else:
                    _STATEMENTS[type(statement)](self, statement)
            self._turn_to(0)
        self._values, self.accumulators = values, accumulators

    def _interleaved(
        self, statements: list[Stmt]
    ) -> tuple[dict[int, tuple[Store, ...]], dict[int, tuple[Load, ...]]]:
        if self._copy_places is None or self.mask is not None or self.lanes == 1:
            return {}, {}
        axis = self._copy_places[0]
        return (
            interleaved_stores(statements, axis, self.written),
            interleaved_loads(statements, axis, self.written),
        )

    def block_in_copies(self, statements: list[Stmt], axis: str, places: list[AxisPlace]) -> None:
        """Emits the body of a vector loop for each of the `places` of its axis."""
        outer, self._copy_places = self._values, (axis, places)
        self.copies, self._values = len(places), [dict(outer[0]) for _ in places]
        self._turn_to(0)
        self.block(statements)
        self.copies, self._values, self._copy_places = 1, outer, None
        del self.axes[axis]

    def _turn_to(self, copy: int) -> None:
        self.copy = copy
        if self._copy_places is not None:
            axis, places = self._copy_places
            self.axes[axis] = places[copy]

    def op(self, op: Op) -> None:
        args = [self.value(number) for number in op.args]
        code = self._code(
            max((arg.level for arg in args), default=0), max((arg.lanes for arg in args), default=1)
        )
        operands = [code.operand(arg) for arg in args]
        if op.name == "cast":
            text = cast(code, args[0].dtype, op.dtype, operands[0])
        else:
            domain = args[1 if OPS[op.name].result == "second" else 0].dtype
            text = EMITTERS[op.name](code, domain, *operands)
        self.define(op.number, Value(text, op.dtype, code.lanes, code.level))

    def constant(self, op: ConstOp) -> None:
        self.define(op.number, constant_value(op.dtype, op.value))

    def index_value(self, op: IndexOp) -> None:
        self.define(op.number, self.index.value(op.index, op.dtype))

    def load(self, load: Load) -> None:
        self.define(load.number, emit_load(self, load))

    def read(self, read: ReadAccumulator) -> None:
        self.define(read.number, read_accumulator(self, read))

    def scan_step(self, step: ScanStep) -> None:
        self.define(step.number, emit_scan_step(self, step))

    def check(self, check: Check) -> None:
        """Leaves the function if the condition is false in a lane that is inside the loop."""
        condition = self.value(check.condition)
        code = self._code(self.function.depth, condition.lanes)
        failed = code.binary("xor", "b8", condition.text, code.constant("b8", True))
        if self.mask is not None and condition.lanes > 1:
            failed = code.binary("and", "b8", failed, self.mask)
        label = self._failures.setdefault(check.code, f"failed_check_{len(self._failures)}")
        following = self.function.new_label("checked")
        self.function.branch(any_lane(code, failed), label, following)
        self.function.start_block(following)
        self.function.frames[-1].may_leave = True

    # --- the function --------------------------------------------------------------------------------------

    def _attributes(self) -> str:
        """The attributes of the function. If the kernel calls Sleef, they align the stack.

        Sleef's functions keep whole vectors on the stack, after the caller's. They take a third longer if a
        vector crosses a cache line.
        """
        attributes = self.target.attributes(only_reads(self.kernel))
        calls_sleef = any(name.startswith("@Sleef_") for name in self.function.declarations)
        return f"{attributes} alignstack({self.target.vector_bytes})" if calls_sleef else attributes

    def text(self, symbol: str) -> str:
        """The definition, after all statements are emitted."""
        # Other threads read the results after the kernel: they have to be in memory by then.
        fence = ["  call void @llvm.x86.sse.sfence()"] if NONTEMPORAL in self.function.declarations else []
        if fence:
            self.function.declare("@llvm.x86.sse.sfence", "void @llvm.x86.sse.sfence()")
        lines = [
            f"define i32 @{symbol}(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) {self._attributes()} {{",
            "entry:",
            *self.function.entry,
            *self.function.frames[0].lines,
            *fence,
            "  ret i32 0",
        ]
        for code, label in self._failures.items():
            lines += [f"{label}:", *fence, f"  ret i32 {code}"]
        return "\n".join([*lines, "}"])


_STATEMENTS: dict[type[Any], Callable[[KernelEmitter, Any], None]] = {
    Op: KernelEmitter.op,
    ConstOp: KernelEmitter.constant,
    IndexOp: KernelEmitter.index_value,
    Load: KernelEmitter.load,
    Store: emit_store,
    Check: KernelEmitter.check,
    Update: emit_update,
    ScanStep: KernelEmitter.scan_step,
    ReadAccumulator: KernelEmitter.read,
}

__all__ = ["EmitError", "KernelEmitter", "emit", "emit_function"]
