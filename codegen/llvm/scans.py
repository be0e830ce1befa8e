"""Running sums, products and extremes.

In:  a `ScanStep` of loop IR.
Out: the accumulator combined with the value. In a vector loop each lane is first combined with the lanes
     before it:

    x0 x1 x2 x3   ->   x0 x0+x1 x1+x2 x2+x3   ->   x0 x0+x1 x0+x1+x2 x0+x1+x2+x3
    ->  each + the accumulator before the vector

So a vector waits for only one operation of the vector before it.
"""

from __future__ import annotations

from codegen.kernel.ir import ScanStep
from codegen.llvm.emitter import Emitter
from codegen.llvm.reduce import COMBINE, identity
from codegen.llvm.values import Code, Value


def emit_scan_step(emitter: Emitter, step: ScanStep) -> Value:
    state, function = emitter.accumulators[step.accumulator], emitter.function
    combine, dtype = state.accumulator.combine, state.accumulator.dtype
    code = Code(function, emitter.target, function.depth, emitter.lanes)
    across = emitter.lanes > state.lanes
    slot = state.slots[emitter.lanes, 0 if state.lanes == 1 else emitter.copy][0]
    before = function.define_here(f"load {code.type(dtype)}, ptr {slot}, align 64")
    value = code.operand(emitter.value(step.value))
    if across and emitter.mask is not None:
        value = code.select(emitter.mask, dtype, value, code.constant(dtype, identity(combine, dtype)))
    inclusive = _prefixes(code, combine, dtype, value) if across else value
    result = COMBINE[combine](code, dtype, before, inclusive)
    after = COMBINE[combine](code, dtype, before, _last(code, dtype, inclusive)) if across else result
    function.line(f"store {code.type(dtype)} {after}, ptr {slot}, align 64")
    return Value(result, dtype, code.lanes, function.depth)


def _last(code: Code, dtype: str, value: str) -> str:
    """The last lane in every lane: the accumulator of a loop over lanes has this form."""
    kind, lanes = code.type(dtype), code.lanes
    order = ", ".join([f"i32 {lanes - 1}"] * lanes)
    return code.define(f"shufflevector {kind} {value}, {kind} poison, <{lanes} x i32> <{order}>")


def _prefixes(code: Code, combine: str, dtype: str, value: str) -> str:
    """Each lane combined with all lanes before it."""
    kind, lanes = code.type(dtype), code.lanes
    nothing = code.constant(dtype, identity(combine, dtype))
    distance = 1
    while distance < lanes:
        order = ", ".join(f"i32 {lane - distance if lane >= distance else lanes}" for lane in range(lanes))
        moved = code.define(f"shufflevector {kind} {value}, {kind} {nothing}, <{lanes} x i32> <{order}>")
        value = COMBINE[combine](code, dtype, moved, value)
        distance *= 2
    return value
