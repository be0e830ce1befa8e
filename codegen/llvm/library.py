"""Calls of functions: Sleef's, which libtorch_cpu exports, libm's, and those of one register.

In:  `Op` names of `codegen/kernel/ops.py`; operands, vectors of any length or scalars.
Out: calls. A longer vector is several calls, a shorter one or a scalar a call with lanes that nobody reads:

    tan f32 <8 x float> %x, where a register has 16     ->     shuffle %x; call Sleef_tanf16; shuffle
"""

from __future__ import annotations

from codegen.llvm.types import register_type
from codegen.llvm.values import Code

#: functions of Sleef; the error bound is part of the name
SLEEF = {
    **dict.fromkeys(
        ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos"), "u10"
    ),
    **dict.fromkeys(
        ("atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "lgamma", "pow"), "u10"
    ),
    "erfc": "u15",
    "hypot": "u05",
    "nextafter": "",
    "fmod": "",
}


def call_library(code: Code, name: str, dtype: str, *operands: str) -> str:
    """Calls Sleef's function `name` in the width of the processor, or libm's for each lane."""
    if code.target.sleef is None:
        return _call_libm(code, name, dtype, operands)
    return call_vector(code, sleef_function(code, name, dtype, len(operands)), dtype, *operands)


def sleef_function(code: Code, name: str, dtype: str, arity: int) -> str:
    """The name of Sleef's function of one register, which is declared."""
    width = code.target.lanes(dtype)
    function = f"Sleef_{name}{'f' if dtype == 'f32' else 'd'}{width}_{SLEEF[name]}{code.target.sleef}"
    kind = register_type(dtype, width)
    code.function.declare(
        f"@{function}", f"{kind} @{function}({', '.join([kind] * arity)}) nounwind willreturn memory(none)"
    )
    return function


def call_vector(code: Code, function: str, dtype: str, *operands: str) -> str:
    """Calls a function of one register for vectors of any length, or for a scalar."""
    width = code.target.lanes(dtype)
    kind = register_type(dtype, width)
    parts = [_resized(code, dtype, operand, width) for operand in operands]
    results = [
        code.define(f"call {kind} @{function}({', '.join(f'{kind} {part}' for part in chunk)})")
        for chunk in zip(*parts, strict=True)
    ]
    return _joined(code, dtype, results, width)


def _resized(code: Code, dtype: str, operand: str, width: int) -> list[str]:
    """`operand` as vectors of `width` lanes; a shorter one is filled up with its own lanes."""
    element = register_type(dtype, 1)
    kind = code.type(dtype)
    if code.lanes == width:
        return [operand]
    if code.lanes == 1:
        full = register_type(dtype, width)
        first = code.define(f"insertelement {full} poison, {element} {operand}, i64 0")
        return [_shuffled(code, full, first, [0] * width)]
    if code.lanes < width:
        return [_shuffled(code, kind, operand, [lane % code.lanes for lane in range(width)])]
    return [_shuffled(code, kind, operand, list(range(at, at + width))) for at in range(0, code.lanes, width)]


def _joined(code: Code, dtype: str, results: list[str], width: int) -> str:
    kind = register_type(dtype, width)
    if code.lanes == width:
        return results[0]
    if code.lanes == 1:
        return code.define(f"extractelement {kind} {results[0]}, i64 0")
    if code.lanes < width:
        return _shuffled(code, kind, results[0], list(range(code.lanes)))
    while len(results) > 1:
        kind = register_type(dtype, width)
        order = list(range(2 * width))
        pairs = zip(results[::2], results[1::2], strict=True)
        results = [_shuffled(code, kind, left, order, right) for left, right in pairs]
        width *= 2
    return results[0]


def _shuffled(code: Code, kind: str, operand: str, lanes: list[int], other: str = "poison") -> str:
    order = "<" + ", ".join(f"i32 {lane}" for lane in lanes) + ">"
    return code.define(f"shufflevector {kind} {operand}, {kind} {other}, <{len(lanes)} x i32> {order}")


def _call_libm(code: Code, name: str, dtype: str, operands: tuple[str, ...]) -> str:
    function = name + ("f" if dtype == "f32" else "")
    element, kind = register_type(dtype, 1), code.type(dtype)
    code.function.declare(
        f"@{function}",
        f"{element} @{function}({', '.join([element] * len(operands))}) nounwind willreturn memory(none)",
    )

    def call(scalars: list[str]) -> str:
        return code.define(
            f"call {element} @{function}({', '.join(f'{element} {scalar}' for scalar in scalars)})"
        )

    if code.lanes == 1:
        return call(list(operands))
    result = "poison"
    for lane in range(code.lanes):
        scalar = call([code.define(f"extractelement {kind} {operand}, i64 {lane}") for operand in operands])
        result = code.define(f"insertelement {kind} {result}, {element} {scalar}, i64 {lane}")
    return result
