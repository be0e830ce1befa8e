"""Accumulators.

In:  `Accumulator`, `Update` and `ReadAccumulator` of loop IR.
Out: stack slots that LLVM's `sroa` turns into registers: one scalar, and for each vector loop that updates
     the accumulator a vector for each of the unrolled copies. A read combines them all:

    sum over 1000 f32     ->     4 vectors of 16 partial sums; at the end added pairwise down to one lane

So a vector loop has no dependence between its lanes. Sums are reassociated; every update happens once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from codegen.kernel.errors import EmitError
from codegen.kernel.ir import Accumulator, Loop, ReadAccumulator, ScanStep, Stmt, Update
from codegen.llvm.arithmetic import smaller_or_larger
from codegen.llvm.emitter import AccumulatorState, Emitter
from codegen.llvm.types import FLOATS, SIZES, UNSIGNED, constant, register_type
from codegen.llvm.values import Code, Value

ARG = {"argmax": "max", "argmin": "min"}
_NO_INDEX = -1  # the index in a lane that has seen no element yet


def identity(combine: str, dtype: str) -> float | int | bool:
    """The start value of an accumulator."""
    which = ARG.get(combine, combine)
    if which in ("max", "min"):
        return _extreme(dtype, largest=which == "min")
    return {"sum": 0, "prod": 1, "any": False, "all": True}[which]


def _extreme(dtype: str, *, largest: bool) -> float | int | bool:
    if dtype in FLOATS:
        return math.inf if largest else -math.inf
    if dtype == "b8":
        return largest
    bits = 8 * SIZES[dtype]
    if dtype in UNSIGNED:
        return (1 << bits) - 1 if largest else 0
    return (1 << (bits - 1)) - 1 if largest else -(1 << (bits - 1))


# --- declaration ------------------------------------------------------------------------------------------


def declare_accumulator(emitter: Emitter, accumulator: Accumulator, following: list[Stmt]) -> None:
    """`following`: the statements after it in its block; their vector loops decide which slots are needed."""
    if accumulator.dtype in ("bf16", "f16"):
        raise EmitError(f"accumulator {accumulator.name} of {accumulator.dtype}: accumulate in f32")
    if emitter.copy == 0:
        emitter.accumulators[accumulator.name] = AccumulatorState(accumulator, emitter.lanes)
    state = emitter.accumulators[accumulator.name]
    start = identity(accumulator.combine, accumulator.dtype)
    _add_slot(
        emitter, state, (emitter.lanes, emitter.copy), start if accumulator.init is None else accumulator.init
    )
    if emitter.lanes > 1:
        return
    for loop in updating_vector_loops(following, accumulator.name):
        plan = emitter.plan(loop)
        for copy in range(plan.unroll if plan.lanes > 1 else 0):
            if (plan.lanes, copy) not in state.slots:
                _add_slot(emitter, state, (plan.lanes, copy), start)
    for loop in updating_vector_loops(following, accumulator.name, scanning):  # one for all copies
        lanes = emitter.plan(loop).lanes
        if (lanes, 0) not in state.slots:
            _add_slot(emitter, state, (lanes, 0), start)


def updating(statement: Stmt, name: str) -> bool:
    return isinstance(statement, Update) and statement.accumulator == name


def scanning(statement: Stmt, name: str) -> bool:
    return isinstance(statement, ScanStep) and statement.accumulator == name


def updating_vector_loops(
    statements: list[Stmt], name: str, does: Callable[[Stmt, str], bool] = updating
) -> list[Loop]:
    found = []
    for statement in statements:
        if isinstance(statement, Loop):
            if statement.vector and _contains(statement.body, name, does):
                found.append(statement)
            elif not statement.vector:
                found += updating_vector_loops(statement.body, name, does)
    return found


def _contains(statements: list[Stmt], name: str, does: Callable[[Stmt, str], bool]) -> bool:
    return any(
        does(statement, name) or (isinstance(statement, Loop) and _contains(statement.body, name, does))
        for statement in statements
    )


def _add_slot(
    emitter: Emitter, state: AccumulatorState, key: tuple[int, int], start: float | int | bool
) -> None:
    lanes = key[0]
    dtype = state.accumulator.dtype
    contents = [(register_type(dtype, lanes), constant(dtype, start, lanes))]
    if state.accumulator.combine in ARG:
        contents.append((register_type("i64", lanes), constant("i64", _NO_INDEX, lanes)))
    slots = []
    for kind, text in contents:
        slot = emitter.function.stack_slot(kind)
        emitter.function.line(f"store {kind} {text}, ptr {slot}, align 64")
        slots.append(slot)
    state.slots[key] = tuple(slots)


# --- combining --------------------------------------------------------------------------------------------

Combine = Callable[[Code, str, str, str], str]


def _extremum(which: str) -> Combine:
    def combine(code: Code, dtype: str, old: str, new: str) -> str:
        """Floats use one LLVM instruction that keeps NaNs.

        Selects become a chain of masks, 1.4 times as slow. The sign of the result is open for -0.0 and 0.0.
        It is open in eager too, because eager's lanes meet in their own order.
        """
        if dtype not in FLOATS:
            return smaller_or_larger(code, dtype, which, new, old)
        return code.intrinsic(f"{which}imum", dtype, new, old, flags="nsz ")

    return combine


def _operation(for_floats: str, for_integers: str) -> Combine:
    return lambda code, dtype, old, new: code.binary(
        for_floats if dtype in FLOATS else for_integers, dtype, old, new
    )


COMBINE: dict[str, Combine] = {
    "sum": _operation("fadd", "add"),
    "prod": _operation("fmul", "mul"),
    "max": _extremum("max"),
    "min": _extremum("min"),
    "any": _operation("or", "or"),
    "all": _operation("and", "and"),
}

Pair = tuple[str, ...]


def _better(code: Code, which: str, dtype: str, old: Pair, new: Pair, *, in_order: bool) -> str:
    """Whether `new` replaces `old`.

    It does if it has an element that is beyond `old`, or is the only NaN, or if `old` has no element.
    `in_order`: new comes later, so that the old one stays if both are equal; else the one with the smaller
    index wins.
    """
    predicate = {"max": "gt", "min": "lt"}[which]
    absent = code.compare("icmp eq", "i64", old[1], code.constant("i64", _NO_INDEX))
    if dtype in FLOATS:
        beyond = code.compare(f"fcmp o{predicate}", dtype, new[0], old[0])
        new_nan, old_nan = code.is_nan(dtype, new[0]), code.is_nan(dtype, old[0])
        first_nan = code.binary(
            "and", "b8", new_nan, code.binary("xor", "b8", old_nan, code.constant("b8", True))
        )
        beyond = code.binary("or", "b8", beyond, first_nan)
        same = code.compare("fcmp oeq", dtype, new[0], old[0])
        same = code.binary("or", "b8", same, code.binary("and", "b8", new_nan, old_nan))
    else:
        sign = "u" if dtype in UNSIGNED else "s"
        beyond = code.compare(f"icmp {sign}{predicate}", dtype, new[0], old[0])
        same = code.compare("icmp eq", dtype, new[0], old[0])
    better = code.binary("or", "b8", beyond, absent)
    if in_order:
        return better
    earlier = code.compare("icmp slt", "i64", new[1], old[1])
    better = code.binary("or", "b8", better, code.binary("and", "b8", same, earlier))
    return code.binary(
        "and", "b8", better, code.compare("icmp ne", "i64", new[1], code.constant("i64", _NO_INDEX))
    )


def _combined(code: Code, accumulator: Accumulator, old: Pair, new: Pair) -> Pair:
    """Combines two partial results into one."""
    combine, dtype = accumulator.combine, accumulator.dtype
    if combine not in ARG:
        return (COMBINE[combine](code, dtype, old[0], new[0]),)
    better = _better(code, ARG[combine], dtype, old, new, in_order=False)
    return code.select(better, dtype, new[0], old[0]), code.select(better, "i64", new[1], old[1])


# --- updates ----------------------------------------------------------------------------------------------


def emit_update(emitter: Emitter, update: Update) -> None:
    state = emitter.accumulators[update.accumulator]
    accumulator, function = state.accumulator, emitter.function
    slots = state.slots[emitter.lanes, emitter.copy]
    code = Code(function, emitter.target, function.depth, emitter.lanes)
    value = emitter.value(update.value)
    if value.dtype != accumulator.dtype:
        raise EmitError(f"update of {update.accumulator} ({accumulator.dtype}) with a value of {value.dtype}")
    old, new = _loaded(code, accumulator, slots), code.operand(value)
    mask = None if state.lanes > 1 else emitter.mask
    if accumulator.combine in ARG:
        assert update.index is not None
        pair = (new, code.operand(emitter.value(update.index)))
        better = _better(code, ARG[accumulator.combine], accumulator.dtype, old, pair, in_order=True)
        if mask is not None:
            better = code.binary("and", "b8", better, mask)
        result: Pair = (
            code.select(better, accumulator.dtype, new, old[0]),
            code.select(better, "i64", pair[1], old[1]),
        )
    else:
        if mask is not None:
            rest = code.constant(accumulator.dtype, identity(accumulator.combine, accumulator.dtype))
            new = code.select(mask, accumulator.dtype, new, rest)
        result = (COMBINE[accumulator.combine](code, accumulator.dtype, old[0], new),)
    for kind, slot, text in zip(_slot_types(code, accumulator), slots, result, strict=True):
        function.line(f"store {kind} {text}, ptr {slot}, align 64")


def _slot_types(code: Code, accumulator: Accumulator) -> list[str]:
    return [code.type(accumulator.dtype)] + ([code.type("i64")] if accumulator.combine in ARG else [])


def _loaded(code: Code, accumulator: Accumulator, slots: tuple[str, ...]) -> Pair:
    kinds = _slot_types(code, accumulator)
    return tuple(
        code.function.define_here(f"load {kind}, ptr {slot}, align 64")
        for kind, slot in zip(kinds, slots, strict=True)
    )


# --- reading ----------------------------------------------------------------------------------------------


def read_accumulator(emitter: Emitter, read: ReadAccumulator) -> Value:
    state = emitter.accumulators[read.accumulator]
    accumulator, function = state.accumulator, emitter.function
    which = 1 if accumulator.combine in ARG else 0
    dtype = "i64" if which else accumulator.dtype
    if state.lanes > 1:
        code = Code(function, emitter.target, function.depth, state.lanes)
        own = _loaded(code, accumulator, state.slots[state.lanes, emitter.copy])
        return Value(own[which], dtype, state.lanes, function.depth)
    total: Pair | None = None
    for lanes in sorted({lanes for lanes, _ in state.slots}, reverse=True):
        code = Code(function, emitter.target, function.depth, lanes)
        for key in sorted(key for key in state.slots if key[0] == lanes):
            part = _loaded(code, accumulator, state.slots[key])
            total = part if total is None else _combined(code, accumulator, total, part)
        below = max((other for other, _ in state.slots if other < lanes), default=lanes)
        assert total is not None
        total = _folded(code, accumulator, total, below)
    assert total is not None
    return Value(total[which], dtype, 1, function.depth)


def _folded(code: Code, accumulator: Accumulator, total: Pair, lanes: int) -> Pair:
    """Halves the vector until it has `lanes` lanes: the upper half is combined into the lower one."""
    while code.lanes > lanes:
        half = code.lanes // 2
        narrow = code.with_lanes(half)
        lower = tuple(
            _half(code, kind, text, 0)
            for kind, text in zip(_slot_types(code, accumulator), total, strict=True)
        )
        upper = tuple(
            _half(code, kind, text, half)
            for kind, text in zip(_slot_types(code, accumulator), total, strict=True)
        )
        total = _combined(narrow, accumulator, lower, upper)
        code = narrow
    return total


def _half(code: Code, kind: str, text: str, first: int) -> str:
    half = code.lanes // 2
    if half == 1:
        return code.define(f"extractelement {kind} {text}, i64 {first}")
    order = "<" + ", ".join(f"i32 {lane}" for lane in range(first, first + half)) + ">"
    return code.define(f"shufflevector {kind} {text}, {kind} poison, <{half} x i32> {order}")
