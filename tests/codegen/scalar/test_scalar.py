"""Scalar functions: each operator against torch or Python, the texts, bad input."""

from __future__ import annotations

import ctypes
import math
import operator
import re

import pytest
import torch
import torch.fx
import torch.nn.functional as F

import capture
from codegen.scalar.operators import OPERATORS

NUMBERS = (0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -3.5, 7.0, 1e-9, 123.456, math.inf, -math.inf, math.nan)
#: functions of Python that raise, or give integers, where floats of torch follow IEEE: their namesakes
IEEE = {
    operator.truediv: torch.div, operator.itruediv: torch.div, operator.mod: torch.remainder,
    operator.floordiv: torch.floor_divide, operator.ifloordiv: torch.floor_divide,
    operator.pow: torch.pow, math.pow: torch.pow, pow: torch.pow, math.fmod: torch.fmod,
    round: torch.round, int: torch.trunc, abs: torch.abs, float: torch.positive, bool: lambda x: x != 0,
    operator.not_: torch.logical_not, operator.truth: lambda x: x != 0, math.fabs: torch.abs,
    math.degrees: torch.rad2deg, math.radians: torch.deg2rad, min: None, max: None,
}  # fmt: skip
INTEGERS_ONLY = {
    operator.and_, operator.or_, operator.xor, operator.invert, operator.inv, operator.lshift,
    operator.rshift,
    torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor, torch.bitwise_not, torch.bitwise_left_shift,
    torch.bitwise_right_shift,
}  # fmt: skip
THREE = {torch.where, torch.clamp, torch.clip, torch.lerp}
TWO = {
    operator.add, operator.iadd, operator.sub, operator.isub, operator.mul, operator.imul, torch.mul,
    torch.multiply, torch.minimum, torch.maximum, torch.fmin, torch.fmax, math.fmod, math.copysign,
    torch.copysign, math.atan2, torch.atan2, torch.arctan2, math.hypot, torch.hypot, torch.nextafter,
    operator.eq, torch.eq, operator.ne, torch.ne, torch.not_equal, operator.lt, torch.lt, torch.less,
    operator.le, torch.le, torch.less_equal, operator.gt, torch.gt, torch.greater, operator.ge, torch.ge,
    torch.greater_equal, torch.add, torch.sub, torch.subtract, torch.rsub, operator.truediv,
    operator.itruediv, torch.true_divide, torch.div, torch.divide, operator.mod, torch.remainder,
    operator.floordiv, operator.ifloordiv, torch.floor_divide, torch.fmod, operator.pow, pow, math.pow,
    torch.pow, min, max, torch.logical_and, torch.logical_or, torch.logical_xor,
}  # fmt: skip


def graph(function, count: int) -> torch.fx.GraphModule:
    made = torch.fx.Graph()
    inputs = [made.placeholder(name) for name in "xyz"[:count]]
    made.output(made.call_function(function, tuple(inputs)))
    return torch.fx.GraphModule(torch.nn.Module(), made)


def truth(function, values):
    """In float64, by torch where it has the function."""
    tensors = [torch.tensor(value, dtype=torch.float64) for value in values]
    if function is torch.where:
        tensors[0] = tensors[0] != 0
    used = IEEE.get(function, function)
    if used is None:
        return float(function(*values))
    if getattr(used, "__module__", "") == "math":
        used = getattr(torch, {"lgamma": "lgamma"}.get(used.__name__, used.__name__))
    if used in (F.relu6, F.leaky_relu, F.silu):
        return float(used(*tensors))
    return float(used(*tensors))


FLOAT_FUNCTIONS = sorted(set(OPERATORS) - INTEGERS_ONLY, key=lambda f: f"{f.__module__}.{f.__name__}")


@pytest.mark.parametrize("function", FLOAT_FUNCTIONS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_operator_of_floats(function):
    count = 3 if function in THREE else 2 if function in TWO else 1
    native = capture.jit_scalar(graph(function, count))
    groups = [NUMBERS[i:] + NUMBERS[:i] for i in range(0, len(NUMBERS), 3 if count == 3 else 1)]
    rows = {1: [(x,) for x in NUMBERS], 2: [(x, y) for x in NUMBERS for y in NUMBERS]}.get(
        count, [row for a in groups for b in groups for row in zip(NUMBERS, a, b)]
    )
    for row in rows:
        if function in (torch.clamp, torch.clip) and not row[1] <= row[2]:
            continue
        if function is torch.lerp and not all(map(math.isfinite, row)):
            continue
        expected, found = truth(function, row), native(*row)
        close = math.isclose(found, expected, rel_tol=4e-15, abs_tol=1e-300)
        assert close or found == expected or (math.isnan(found) and math.isnan(expected)), (
            row,
            found,
            expected,
        )


PYTHON = [
    operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor, operator.lt,
    operator.eq, operator.ge, min, max, lambda a, b: a % (b * b + 1), lambda a, b: a // (b * b + 1),
    lambda a, b: (a << 3) - (b >> 1), lambda a, b: ~a + abs(b) - (-a), lambda a, b: a**3 + b**2 + (a > b),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_integers_are_pythons(number, dtype):
    function = PYTHON[number]
    native = capture.jit_scalar(function if number > 10 else graph(function, 2), dtype)
    for a in (-1000, -7, -1, 0, 1, 5, 999):
        for b in (-31, -2, 0, 3, 40):
            assert native(a, b) == int(function(a, b)), (a, b)


def test_float32_rounds_to_float32():
    native = capture.jit_scalar(lambda x, y: x / y + 0.1, torch.float32)
    expected = torch.tensor(1.0) / torch.tensor(3.0) + torch.tensor(0.1)
    assert native(1.0, 3.0) == expected.item()


def dead_and_repeated(x, y):
    unused = math.exp(y) * 17
    return math.sin(x) * math.cos(y) + math.sin(x) * math.cos(y)


def test_dead_code_and_repeated_expressions_disappear():
    native = capture.jit_scalar(dead_and_repeated)
    assert len(re.findall(r"call double @sin", native.optimized_ir)) == 1
    assert len(re.findall(r"fmul", native.optimized_ir)) == 1
    assert "1.7" not in native.optimized_ir and "fma" not in native.optimized_ir.split("define")[1]
    assert "fma" in native.ir.split("define")[1], "as emitted, exp is there"
    assert native(0.3, 0.4) == dead_and_repeated(0.3, 0.4)


def test_names_and_texts():
    native = capture.jit_scalar(lambda x, y: math.sin(x * 2) * math.cos(y) * 3 * y + x)
    assert native.name == "fused_mul_sin_cos_mul_mul_mul_add"
    for text in (native.ir, native.optimized_ir, native.asm):
        assert native.name in text


def test_the_pointer_of_c():
    native = capture.jit_scalar(lambda x, y: x * 2 + y)
    address = ctypes.cast(native.cfunc, ctypes.c_void_p).value
    again = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(address)
    assert again(2.0, 0.5) == 4.5


def test_arguments_by_name_and_defaults():
    native = capture.jit_scalar(lambda x, y=2.0: x - y)
    assert native(5.0) == 3.0 and native(y=1.0, x=5.0) == 4.0
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        native()
    with pytest.raises(TypeError, match="x must be a number"):
        native("five")


def test_numbers_that_a_module_holds():
    module = torch.nn.Module()
    module.scale = torch.tensor(3.0)
    made = torch.fx.Graph()
    x = made.placeholder("x")
    made.output(made.call_method("mul", (made.call_method("sin", (x,)), made.get_attr("scale"))))
    assert capture.jit_scalar(torch.fx.GraphModule(module, made))(0.5) == math.sin(0.5) * 3


BAD = {
    "a branch": (lambda x: 1 if x > 0 else 2, {}, "can't trace"),
    "two results": (lambda x: (x, x), {}, "returns one number"),
    "an unknown function": (lambda x: torch.fft.fft(x), {}, "has no native form on scalars"),
    "an unknown method": (lambda x: x.cumsum(0), {}, "the method cumsum has no native form"),
    "a division of integers": (lambda x: x / 2, {"dtype": torch.int64}, "write //"),
    "a sine of integers": (lambda x: math.sin(x), {"dtype": torch.int32}, "sin does not take i32"),
    "a large constant": (lambda x: x + 2**40, {"dtype": torch.int32}, "is no number of i32"),
    "half an integer": (lambda x: x * 0.5, {"dtype": torch.int64}, "0.5 is no number of i64"),
    "an exponent": (lambda x, y: x**y, {"dtype": torch.int64}, "must be a constant"),
    "a dtype": (lambda x: x, {"dtype": torch.bfloat16}, "must be one of"),
    "no function": (3, {}, "takes a function or a GraphModule"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    function, settings, text = BAD[name]
    with pytest.raises(capture.UsageError, match=re.escape(text)):
        capture.jit_scalar(function, **settings)


def test_the_error_names_the_line():
    with pytest.raises(capture.UsageError, match=r"test_scalar\.py:\d+\)$"):
        capture.jit_scalar(lambda x: torch.erfinv(x))


def test_out_of_range():
    with pytest.raises(TypeError, match="out of range"):
        capture.jit_scalar(lambda x: x, torch.int32)(2**31)


@pytest.mark.parametrize("function", [F.relu, F.relu6, F.silu, F.leaky_relu, torch.relu])
def test_functions_of_networks_are_traced(function):
    native = capture.jit_scalar(lambda x: function(x) + 1)  # most traces have inplace=False
    for x in (-2.0, 0.5, 9.0):
        assert native(x) == pytest.approx(function(torch.tensor(x, dtype=torch.float64)).item() + 1)
