"""Loops.

In:  a `Loop` of loop IR, its bounds.
Out: a plan for a vector loop (lanes, unrolling, what happens at the end), and the blocks.

    for i in 1000 vector, f32, 16 lanes
        elementwise      63 vectors; the last one starts at 984 and computes 8 elements again
        reduction        62 vectors and one masked vector
    for i in 10 vector
        elementwise      vectors of 8 lanes at 0 and 2
    for i in n vector
        either           n // 16 vectors, and a masked one if there is a rest
    for i in min(8, n) vector
        either           8 lanes if n is at least 8; else as above

Computing elements twice needs no second copy of the body. It is correct if the result of the body does not
depend on how often it runs: no reduction, no atomic addition, no buffer that is read and written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from codegen.kernel.errors import EmitError
from codegen.kernel.ir import (
    Accumulator,
    AxisVar,
    Binary,
    Const,
    ConstOp,
    Expr,
    IndexOp,
    Kernel,
    Load,
    Loop,
    Op,
    ScanStep,
    Stmt,
    Store,
    Update,
)
from codegen.kernel.ops import OPS
from codegen.llvm.blocks import Bound, run_loop
from codegen.llvm.emitter import Emitter, VectorPlan
from codegen.llvm.index import AxisPlace, terms_of
from codegen.llvm.streaming import LINE, RUN_BYTES
from codegen.llvm.summing_loops import run_summing_loop, sum_slots
from codegen.llvm.target import Target
from codegen.llvm.types import FLOATS, SIZES, memory_element
from codegen.llvm.values import Code

_UNROLLED_STATEMENTS = 12  # a short loop around more statements than this stays a loop
_UNROLLED_ITERATIONS = 4
_SCANNED_ITERATIONS = 31
_LONG_ITERATION = 12  # cycles: one vector keeps the processor busy


# --- what a loop contains ---------------------------------------------------------------------------------


def statements_in(block: list[Stmt]) -> Iterator[Stmt]:
    for statement in block:
        yield statement
        if isinstance(statement, Loop):
            yield from statements_in(statement.body)


def _dtypes(loop: Loop) -> set[str]:
    return {
        statement.dtype
        for statement in statements_in(loop.body)
        if isinstance(statement, Op | ConstOp | IndexOp | Load | Accumulator)
    }


def _full_lanes(loop: Loop, target: Target) -> int:
    """Lanes of the widest float that the loop computes with, else of the widest integer.

    An index vector may take two registers. Half precision that is only moved is as narrow as it is in memory,
    except if wide integers are beside it.
    """
    dtypes = _dtypes(loop)
    widest = max(dtypes & FLOATS or dtypes or {"f32"}, key=SIZES.__getitem__)
    lanes = target.vector_bytes // SIZES[widest]
    return max(lanes, target.lanes("f32")) if dtypes & {"bf16", "f16"} and widest not in FLOATS else lanes


def _updated_outside(loop: Loop) -> bool:
    """Whether the loop reduces into an accumulator that is declared outside of it."""
    inside = {statement.name for statement in statements_in(loop.body) if isinstance(statement, Accumulator)}
    return any(
        isinstance(statement, Update | ScanStep) and statement.accumulator not in inside
        for statement in statements_in(loop.body)
    )


def _may_repeat(loop: Loop, kernel: Kernel) -> bool:
    """Whether running an iteration twice changes nothing.

    If threads divide the loop, one thread may run the iteration while another is elsewhere in the kernel.
    """
    roots = {buffer.name: buffer.alias_of or buffer.name for buffer in kernel.buffers}
    meanwhile = list(statements_in(kernel.body if loop.axis == kernel.split else loop.body))
    stores = [statement for statement in meanwhile if isinstance(statement, Store)]
    loaded = {roots[statement.buffer] for statement in meanwhile if isinstance(statement, Load)}
    in_place = any(roots[store.buffer] in loaded for store in stores)
    return not in_place and not any(store.combine for store in stores) and not _updated_outside(loop)


def _unroll(loop: Loop) -> int:
    """The hint. Without one, a reduction keeps enough vectors in flight to hide the latency."""
    if loop.unroll > 1 or not _updated_outside(loop):
        return loop.unroll
    statements = list(statements_in(loop.body))
    if any(isinstance(statement, Loop) for statement in statements):
        return 1
    return 1 if sum(map(_cycles, statements)) >= _LONG_ITERATION else 4


def _cycles(statement: Stmt) -> int:
    if isinstance(statement, Op):
        return OPS[statement.name].cost
    return int(isinstance(statement, Load | Store))


def plan_vector_loop(loop: Loop, kernel: Kernel, target: Target) -> VectorPlan:
    lanes, unroll, may_repeat = _full_lanes(loop, target), _unroll(loop), _may_repeat(loop, kernel)
    if not isinstance(loop.extent, Const):
        return VectorPlan(lanes, unroll, overlap=False, masked=True)
    extent = max(loop.extent.value, 1)
    if extent < lanes:
        # The largest power of two that fits; if nothing may be repeated, the smallest one that holds all.
        lanes = 1 << (extent.bit_length() - 1)
        if extent != lanes and not may_repeat:
            lanes *= 2
    unroll = max(1, min(unroll, extent // lanes))
    if may_repeat:
        unroll = _balanced(extent, lanes, unroll)
    if loop.axis == kernel.split:  # the launch chooses the bounds: they are not constants here
        return VectorPlan(lanes, unroll, overlap=may_repeat, masked=True)
    whole = extent % (lanes * unroll) == 0
    return VectorPlan(lanes, unroll, overlap=may_repeat and not whole, masked=extent % lanes != 0)


def _balanced(extent: int, lanes: int, unroll: int) -> int:
    """The unrolling with as many iterations but fewer repeated elements.

    For example, 300 elements in 16 lanes are 2 times 10 vectors, not 2 times 16.
    """
    vectors = -(-extent // lanes)
    return -(-vectors // -(-vectors // unroll))


# --- the loops themselves ---------------------------------------------------------------------------------


def emit_loop(emitter: Emitter, loop: Loop) -> None:
    divided = loop.axis == emitter.kernel.split
    extent = emitter.index.value(loop.extent)
    start: Bound = "%begin" if divided else 0
    stop: Bound = "%end" if divided else extent.text if extent.number is None else int(extent.number)
    if loop.vector:
        if emitter.lanes > 1 or emitter.in_vector_loop:
            raise EmitError(f"vector loop {loop.axis} inside a vector loop")
        _emit_vector_loop(emitter, loop, start, stop)
        return
    if not divided and isinstance(stop, int) and _is_short(loop, stop):
        for iteration in range(stop):
            _iteration(emitter, loop, AxisPlace("0", 0, 1, iteration))
        return
    run_summing_loop(
        emitter,
        start,
        stop,
        1,
        lambda text, offset: _iteration(emitter, loop, AxisPlace(text, emitter.function.depth, 1, offset)),
        sum_slots(emitter, loop.body, emitter.lanes, emitter.copies),
        _bound_of(loop.extent),
    )


def _bound_of(extent: Expr) -> int | None:
    """An upper bound of the extent, if one is known."""
    if isinstance(extent, Const):
        return extent.value
    if not isinstance(extent, Binary) or extent.op != "min":
        return None
    bounds = [bound for bound in map(_bound_of, (extent.left, extent.right)) if bound is not None]
    return min(bounds, default=None)


def _is_short(loop: Loop, extent: int) -> bool:
    """Whether to write the iterations one after another.

    There must be few iterations of few statements, without a loop among the statements.
    """
    if extent <= 1:
        return True
    scans = any(isinstance(statement, ScanStep) for statement in loop.body)
    few = (
        extent <= (_SCANNED_ITERATIONS if scans else _UNROLLED_ITERATIONS)
        and len(loop.body) <= _UNROLLED_STATEMENTS
    )
    return few and not any(isinstance(statement, Loop) for statement in loop.body)


def _iteration(emitter: Emitter, loop: Loop, place: AxisPlace) -> None:
    emitter.axes[loop.axis] = place
    emitter.block(loop.body)
    del emitter.axes[loop.axis]


def _emit_vector_loop(emitter: Emitter, loop: Loop, start: Bound, stop: Bound) -> None:
    block = _block_length(loop)
    if block is None or loop.axis == emitter.kernel.split:
        _emit_in_lanes(emitter, loop, start, stop)
        return
    whole = replace(loop, extent=Const(block))
    emitter.function.either(
        emitter.function.define_here(f"icmp eq i64 {stop}, {block}"),
        lambda: _emit_in_lanes(emitter, whole, start, block),
        lambda: _emit_in_lanes(emitter, loop, start, stop),
    )


def _block_length(loop: Loop) -> int | None:
    """The length of a whole block, because a whole block has its own code.

    The loop must be over blocks with a shorter last one (extent min(block, rest)).
    """
    return None if isinstance(loop.extent, Const) or _updated_outside(loop) else _bound_of(loop.extent)


def _emit_in_lanes(emitter: Emitter, loop: Loop, start: Bound, stop: Bound) -> None:
    plan = emitter.plan(loop)
    stores = _past_caches(emitter, loop)
    if not stores:
        _emit_planned(emitter, loop, plan, start, stop)
        return
    aligned = replace(plan, overlap=False, masked=plan.masked or plan.overlap)
    emitter.function.either(
        _all_aligned(emitter, loop, plan, stores, str(start)),
        lambda: _emit_past_caches(emitter, loop, aligned, start, stop),
        lambda: _emit_planned(emitter, loop, plan, start, stop),
    )


def _past_caches(emitter: Emitter, loop: Loop) -> list[Store]:
    """Stores of the loop that bypass the caches if they are aligned."""
    if not emitter.past_caches or not isinstance(loop.extent, Const) or _updated_outside(loop):
        return []
    if any(isinstance(statement, Loop) for statement in loop.body):
        return []
    stores = [s for s in loop.body if isinstance(s, Store) and s.buffer in emitter.past_caches]
    return [
        store
        for store in stores
        if _steps_by_one(store.index, loop.axis)
        and loop.extent.value * SIZES[emitter.buffer(store.buffer).dtype] >= RUN_BYTES
    ]


def _steps_by_one(index: Expr, axis: str) -> bool:
    """Whether neighbours on the axis are contiguous, at a place that is known before the loop."""
    terms = terms_of(index)
    factors = [term.factor for term in terms if term.atom == AxisVar(axis)]
    return factors == [Const(1)] and all(isinstance(term.atom, AxisVar | None) for term in terms)


def _all_aligned(emitter: Emitter, loop: Loop, plan: VectorPlan, stores: list[Store], start: str) -> str:
    """Whether each of the stores begins with a cache line."""
    function = emitter.function
    emitter.axes[loop.axis] = AxisPlace(start, function.depth)
    code = Code(function, emitter.target, function.depth, 1)
    bits = "0"
    for store in stores:
        element = memory_element(emitter.buffer(store.buffer).dtype)
        address = emitter.index.address(emitter.pointers[store.buffer], element, store.index)
        place = function.define_here(f"ptrtoint ptr {address.pointer} to i64")
        bits = code.binary("or", "i64", bits, place)
    del emitter.axes[loop.axis]
    rest = code.binary("and", "i64", bits, str(LINE - 1))
    return code.compare("icmp eq", "i64", rest, "0")


def _emit_past_caches(emitter: Emitter, loop: Loop, plan: VectorPlan, start: Bound, stop: Bound) -> None:
    emitter.leaves_out_caches = True
    _emit_planned(emitter, loop, plan, start, stop)
    emitter.leaves_out_caches = False


def _emit_planned(emitter: Emitter, loop: Loop, plan: VectorPlan, start: Bound, stop: Bound) -> None:
    emitter.lanes, emitter.in_vector_loop = plan.lanes, True
    if plan.overlap:
        assert isinstance(loop.extent, Const)
        _emit_overlapping(emitter, loop, plan, start, stop, loop.extent.value)
    else:
        _emit_main_and_rest(emitter, loop, plan, start, stop)
    emitter.lanes, emitter.in_vector_loop = 1, False


def _places(emitter: Emitter, plan: VectorPlan, text: str, offset: int, copies: int) -> list[AxisPlace]:
    depth = emitter.function.depth
    return [AxisPlace(text, depth, plan.lanes, offset + copy * plan.lanes) for copy in range(copies)]


def _emit_overlapping(
    emitter: Emitter, loop: Loop, plan: VectorPlan, start: Bound, stop: Bound, extent: int
) -> None:
    stride = plan.lanes * plan.unroll

    def body(text: str, offset: int) -> None:
        code = Code(emitter.function, emitter.target, emitter.function.depth, 1)
        moved = code.intrinsic("smin", "i64", text, str(extent - stride))
        emitter.block_in_copies(loop.body, loop.axis, _places(emitter, plan, moved, offset, plan.unroll))

    run_loop(emitter, start, stop, stride, body)


def _emit_main_and_rest(emitter: Emitter, loop: Loop, plan: VectorPlan, start: Bound, stop: Bound) -> None:
    """Whole vectors, `unroll` at a time; then the rest, one vector at a time."""
    function, stride = emitter.function, plan.lanes * plan.unroll

    def main(text: str, offset: int) -> None:
        emitter.block_in_copies(loop.body, loop.axis, _places(emitter, plan, text, offset, plan.unroll))

    def rest(text: str, offset: int) -> None:
        if plan.masked and plan.lanes > 1:
            emitter.mask = _mask(emitter, text, offset, stop)
        emitter.block_in_copies(loop.body, loop.axis, _places(emitter, plan, text, offset, 1))
        emitter.mask = None

    if isinstance(start, int) and isinstance(stop, int):
        middle: Bound = stop - (stop - start) % stride
    else:
        length = function.define(function.depth, f"sub nsw i64 {stop}, {start}")
        left = function.define(function.depth, f"urem i64 {length}, {stride}")
        middle = function.define(function.depth, f"sub nsw i64 {stop}, {left}")
    run_summing_loop(
        emitter,
        start,
        middle,
        stride,
        main,
        sum_slots(emitter, loop.body, plan.lanes, plan.unroll),
        _bound_of(loop.extent),
    )
    run_loop(emitter, middle, stop, plan.lanes, rest)


def _mask(emitter: Emitter, text: str, offset: int, stop: Bound) -> str:
    """The lanes before the end of the loop."""
    function, lanes = emitter.function, emitter.lanes
    if text == "0" and isinstance(stop, int):
        return (
            "<"
            + ", ".join(f"i1 {'true' if offset + lane < stop else 'false'}" for lane in range(lanes))
            + ">"
        )
    code = Code(function, emitter.target, function.depth, 1)
    left = code.binary("sub nsw", "i64", str(stop), text)
    if offset:
        left = code.binary("sub nsw", "i64", left, str(offset))
    count = code.convert("trunc", "i64", "i32", code.intrinsic("smin", "i64", left, str(lanes)))
    vector = code.with_lanes(lanes)
    first = code.define(f"insertelement {vector.type('i32')} poison, i32 {count}, i64 0")
    order = f"<{lanes} x i32> zeroinitializer"
    counts = code.define(f"shufflevector {vector.type('i32')} {first}, {vector.type('i32')} poison, {order}")
    numbers = "<" + ", ".join(f"i32 {lane}" for lane in range(lanes)) + ">"
    return vector.compare("icmp slt", "i32", numbers, counts)
