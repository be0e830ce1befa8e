"""The scalar operations of loop IR, one line for each, with its meaning.

In:  names in `ir.Op.name`, chosen by `codegen.lower`.
Out: `OPS[name]` has the number of arguments, their element types and the type of the result.
     `codegen.llvm` emits each operation. `reference` is its meaning: a function of torch tensors. Tests
     compare it with the machine code.

    OPS["lt"] -> OpSpec(name="lt", arity=2, domain=NUMBERS | {"b8"}, result="b8", ...)

Types. Arithmetic exists only for the types in `domain`. bf16 and f16 are storage types: lowering casts them
to f32 and back around each ATen operation, exactly where eager rounds. Operations that only change the sign
take them without a cast. A `b8` register is an i1.

Integers wrap around. Integer division never traps: a divisor of 0 gives 0, and the most negative number
divided by -1 wraps. Lowering adds a `Check` where eager raises. Floats follow IEEE. The only fast-math flags
are those that keep NaN, infinities and signed zero. Only the op `fma` contracts mul and add.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from capture_records import dataclass

FLOATS = frozenset({"f32", "f64"})
SIGNED = frozenset({"i64", "i32", "i16", "i8"})
INTEGERS = SIGNED | {"u8"}
NUMBERS = FLOATS | INTEGERS
BITS = INTEGERS | {"b8"}
COMPARABLE = NUMBERS | {"b8"}
HALVES = frozenset({"bf16", "f16"})
STORAGE = COMPARABLE | HALVES

TORCH_DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "b8": torch.bool,
}
IR_DTYPES = {dtype: name for name, dtype in TORCH_DTYPES.items()}


@dataclass(frozen=True, slots=True)
class OpSpec:
    """`result` is "same" (as the arguments), "b8", "second" (where: as arguments 2 and 3) or "any" (cast).

    All arguments of "same" have one type. The Op of "any" names the type of its result.

    `cost`: rough cycles for each element of a vectorised op. Fusion uses it.
    """

    name: str
    arity: int
    domain: frozenset[str]
    result: str
    cost: int
    reference: Callable[..., Tensor]


def _nonzero(divisor: Tensor) -> Tensor:
    return torch.where(divisor == 0, torch.ones_like(divisor), divisor)


def _is_minus_one(divisor: Tensor) -> Tensor:
    """Whether the divisor is -1. A u8 divisor never is: a comparison with -1 would find 255."""
    return divisor == -1 if divisor.dtype.is_signed else torch.zeros_like(divisor, dtype=torch.bool)


def _integer_division(mode: str) -> Callable[[Tensor, Tensor], Tensor]:
    def divide(left: Tensor, right: Tensor) -> Tensor:
        negates = _is_minus_one(right)
        quotient = torch.where(
            negates, -left, torch.div(left, _nonzero(right) + 2 * negates, rounding_mode=mode)
        )
        return torch.where(right == 0, torch.zeros_like(quotient), quotient).to(left.dtype)

    return divide


def _integer_remainder(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def remainder(left: Tensor, right: Tensor) -> Tensor:
        safe = torch.where(_is_minus_one(right), torch.ones_like(right), _nonzero(right))
        return torch.where(right == 0, torch.zeros_like(left), function(left, safe)).to(left.dtype)

    return remainder


def _fma(left: Tensor, right: Tensor, addend: Tensor) -> Tensor:
    wide = left.double() * right.double() + addend.double()
    return wide.to(left.dtype)


def _normal_cdf(value: Tensor) -> Tensor:
    return (torch.erf(value * math.sqrt(0.5)) + 1) * 0.5


def _not(value: Tensor) -> Tensor:
    return torch.bitwise_not(value)


def _spec(name: str, arity: int, domain: frozenset[str], result: str, cost: int, reference: Any) -> OpSpec:
    return OpSpec(name, arity, domain, result, cost, reference)


_ROWS = [
    # arithmetic of floats and integers
    _spec("add", 2, NUMBERS, "same", 1, torch.add),
    _spec("sub", 2, NUMBERS, "same", 1, torch.sub),
    _spec("mul", 2, NUMBERS, "same", 1, torch.mul),
    _spec("neg", 1, NUMBERS | HALVES, "same", 1, torch.neg),  # floats: flips the sign, also of 0 and NaN
    _spec("abs", 1, NUMBERS | HALVES, "same", 1, torch.abs),
    _spec("min", 2, NUMBERS, "same", 1, torch.minimum),  # NaN where either is NaN
    _spec("max", 2, NUMBERS, "same", 1, torch.maximum),  # NaN where either is NaN
    _spec("sign", 1, NUMBERS, "same", 2, torch.sign),  # -1, 0, 1; 0 for NaN
    # division
    _spec("div", 2, FLOATS, "same", 4, torch.div),
    # exact remainder with the sign of the dividend, as C's fmod
    _spec("fmod", 2, FLOATS, "same", 30, torch.fmod),
    _spec("truncdiv", 2, INTEGERS, "same", 20, _integer_division("trunc")),  # as C's /
    _spec("floordiv", 2, INTEGERS, "same", 20, _integer_division("floor")),  # as Python's //
    _spec("rem", 2, INTEGERS, "same", 20, _integer_remainder(torch.fmod)),  # as C's %
    _spec("mod", 2, INTEGERS, "same", 20, _integer_remainder(torch.remainder)),  # as Python's %
    # floats
    _spec("fma", 3, FLOATS, "same", 1, _fma),  # left * right + addend, rounded once
    _spec("fmin", 2, FLOATS, "same", 2, torch.fmin),  # where one is NaN: the other one
    _spec("fmax", 2, FLOATS, "same", 2, torch.fmax),
    _spec("copysign", 2, FLOATS | HALVES, "same", 1, torch.copysign),
    _spec("sqrt", 1, FLOATS, "same", 6, torch.sqrt),
    _spec("rsqrt", 1, FLOATS, "same", 8, torch.rsqrt),  # 1 / sqrt(x), both correctly rounded
    _spec("reciprocal", 1, FLOATS, "same", 4, torch.reciprocal),  # 1 / x, correctly rounded
    _spec("floor", 1, FLOATS, "same", 1, torch.floor),
    _spec("ceil", 1, FLOATS, "same", 1, torch.ceil),
    _spec("trunc", 1, FLOATS, "same", 1, torch.trunc),
    _spec("round", 1, FLOATS, "same", 1, torch.round),  # to nearest, ties to even
    _spec("pow", 2, FLOATS, "same", 40, torch.pow),
    _spec("exp", 1, FLOATS, "same", 10, torch.exp),
    _spec("exp2", 1, FLOATS, "same", 10, torch.exp2),
    _spec("expm1", 1, FLOATS, "same", 16, torch.expm1),
    _spec("log", 1, FLOATS, "same", 12, torch.log),
    _spec("log2", 1, FLOATS, "same", 12, torch.log2),
    _spec("log10", 1, FLOATS, "same", 12, torch.log10),
    _spec("log1p", 1, FLOATS, "same", 16, torch.log1p),
    _spec("sin", 1, FLOATS, "same", 16, torch.sin),
    _spec("cos", 1, FLOATS, "same", 16, torch.cos),
    _spec("tan", 1, FLOATS, "same", 24, torch.tan),
    _spec("asin", 1, FLOATS, "same", 24, torch.asin),
    _spec("acos", 1, FLOATS, "same", 24, torch.acos),
    _spec("atan", 1, FLOATS, "same", 20, torch.atan),
    _spec("atan2", 2, FLOATS, "same", 30, torch.atan2),
    _spec("hypot", 2, FLOATS, "same", 16, torch.hypot),
    _spec("nextafter", 2, FLOATS, "same", 12, torch.nextafter),
    _spec("sinh", 1, FLOATS, "same", 24, torch.sinh),
    _spec("cosh", 1, FLOATS, "same", 24, torch.cosh),
    _spec("tanh", 1, FLOATS, "same", 14, torch.tanh),
    _spec("asinh", 1, FLOATS, "same", 30, torch.asinh),
    _spec("acosh", 1, FLOATS, "same", 30, torch.acosh),
    _spec("atanh", 1, FLOATS, "same", 30, torch.atanh),
    _spec("erf", 1, FLOATS, "same", 16, torch.erf),
    _spec("erfc", 1, FLOATS, "same", 24, torch.erfc),
    # (1 + erf(x / sqrt(2))) / 2: the absolute error is one rounding of 1
    _spec("normal_cdf", 1, FLOATS, "same", 16, _normal_cdf),
    _spec("sigmoid", 1, FLOATS, "same", 14, torch.sigmoid),  # 1 / (1 + exp(-x))
    _spec("lgamma", 1, FLOATS, "same", 60, torch.lgamma),
    _spec("isnan", 1, FLOATS, "b8", 1, torch.isnan),
    _spec("isinf", 1, FLOATS, "b8", 1, torch.isinf),
    _spec("signbit", 1, FLOATS, "b8", 1, torch.signbit),
    # comparisons: false where either is NaN (`ne` is true); False < True
    _spec("eq", 2, COMPARABLE, "b8", 1, torch.eq),
    _spec("ne", 2, COMPARABLE, "b8", 1, torch.ne),
    _spec("lt", 2, COMPARABLE, "b8", 1, torch.lt),
    _spec("le", 2, COMPARABLE, "b8", 1, torch.le),
    _spec("gt", 2, COMPARABLE, "b8", 1, torch.gt),
    _spec("ge", 2, COMPARABLE, "b8", 1, torch.ge),
    # bits: on b8 these are the logical operations
    _spec("and", 2, BITS, "same", 1, torch.bitwise_and),
    _spec("or", 2, BITS, "same", 1, torch.bitwise_or),
    _spec("xor", 2, BITS, "same", 1, torch.bitwise_xor),
    _spec("not", 1, BITS, "same", 1, _not),
    # 0 where the amount is negative or too large
    _spec("shl", 2, INTEGERS, "same", 1, torch.bitwise_left_shift),
    # arithmetic (u8: logical); an amount out of range fills with the sign
    _spec("shr", 2, INTEGERS, "same", 1, torch.bitwise_right_shift),
    # operations of every type
    _spec("where", 3, STORAGE, "second", 1, torch.where),  # where(b8, a, b), lane by lane
    # cast: float -> int truncates (NaN and numbers out of range: as the host converts, like eager); int ->
    # int wraps; to b8: != 0 (NaN is true); from b8: 0 or 1; to bf16/f16: round to nearest even, NaN stays NaN
    _spec("cast", 1, STORAGE, "any", 1, None),
]

OPS: dict[str, OpSpec] = {spec.name: spec for spec in _ROWS}


def reference(name: str, args: list[Tensor], dtype: str) -> Tensor:
    """What `Op(name, args, dtype)` computes, on torch tensors (one element, or all lanes of a vector)."""
    if name == "cast":
        return args[0].to(TORCH_DTYPES[dtype])
    return OPS[name].reference(*args)


def result_dtype(name: str, arg_dtypes: tuple[str, ...], dtype: str) -> str:
    """The type that `name` gives for arguments of these types; raises ValueError if it does not take them."""
    spec = OPS.get(name)
    if spec is None:
        raise ValueError(f"unknown operation {name!r}")
    if len(arg_dtypes) != spec.arity:
        raise ValueError(f"{name} takes {spec.arity} arguments, got {len(arg_dtypes)}")
    operands = arg_dtypes
    if spec.result == "second":
        if arg_dtypes[0] != "b8":
            raise ValueError(f"the condition of {name} is {arg_dtypes[0]}, expected b8")
        operands = arg_dtypes[1:]
    if any(operand != operands[0] for operand in operands) or operands[0] not in spec.domain:
        raise ValueError(f"{name} does not take {', '.join(arg_dtypes)}")
    return {"same": operands[0], "second": operands[0], "b8": "b8", "any": dtype}[spec.result]
