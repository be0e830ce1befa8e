"""Every operation of codegen/kernel/ops.py in every type it takes, against its meaning in torch.

The values are special ones and random ones.
"""

from __future__ import annotations

import ctypes
import itertools
import math

import numpy as np
import pytest
import torch

from codegen.kernel.ir import AxisVar, Buffer, Const, Kernel, Load, Loop, Op, Store
from codegen.kernel.ops import INTEGERS, OPS, STORAGE, TORCH_DTYPES, reference, result_dtype

INF, NAN = math.inf, math.nan
# The largest error in units in the last place, against float64 (float32) and eager (float64).
ULP_F32 = {
    "exp": 1.1,
    "exp2": 1.1,
    "expm1": 1.6,
    "sin": 1.6,
    "cos": 1.6,
    "log": 1.0,
    "log1p": 1.5,
    "tanh": 1.5,
    "erf": 1.6,
    "sigmoid": 2.6,
    "erfc": 1.6,
    "lgamma": 1.6,
    "atan2": 1.5,
}
ULP_F64 = {"sigmoid": 4, "lgamma": 8, "erfc": 4, "erf": 3}
APPROXIMATE = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "erf erfc sigmoid lgamma pow hypot normal_cdf".split()
)
BESIDE_ONE = frozenset({"normal_cdf"})  # exact to a rounding of 1

SPECIAL_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, -2.0, 3.0, 0.625, 0.9375, 4.0, 9.0, -9.0, 10.0,
    16.7, 88.7, 88.8, 89.5, -87.3, -88.0,
    -103.9, -104.5, 128.0, -126.5, -149.5, -151.0, 700.0, -745.0, 1e-3, 1e-7, 1e-20, 1e-38, -1e-40, 1e-45,
    1e10, -1e10, 123456.7, 3e38, -3e38,
    1e200, -1e200, 710.2, -710.2, 1e-310, INF, -INF, NAN, math.pi, math.pi / 2, 1e-8, 0.99999994, 1.0000001,
]  # fmt: skip


def integers(dtype: str) -> torch.Tensor:
    info = torch.iinfo(TORCH_DTYPES[dtype])
    small = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
    small += [] if info.min == 0 else [-1, -2, -3, -7, -31, -64, -100]
    return torch.tensor(small, dtype=TORCH_DTYPES[dtype])


def values(dtype: str) -> torch.Tensor:
    """Special values, and random ones of all magnitudes."""
    torch.manual_seed(0)
    if dtype == "b8":
        return torch.tensor([False, True, True, False, True])
    if dtype in INTEGERS:
        return integers(dtype)
    random = torch.cat([torch.randn(40), torch.randn(40) * 10.0 ** torch.randint(-30, 30, (40,))])
    wide = torch.cat([torch.tensor(SPECIAL_FLOATS, dtype=torch.float64), random.double()])
    return wide.to(TORCH_DTYPES[dtype])


def operands(name: str, dtype: str) -> list[torch.Tensor]:
    arity = OPS[name].arity
    one = values(dtype)
    if arity == 1:
        return [one]
    if name == "where":
        left, right = (tensor.contiguous() for tensor in cross(one, one))
        return [torch.arange(len(left)) % 3 == 0, left, right]
    if arity == 2:
        return cross(one, one)
    short = one[torch.linspace(0, len(one) - 1, 25).long()]
    grid = torch.tensor(list(itertools.product(range(len(short)), repeat=3)))
    return [short[grid[:, position]].contiguous() for position in range(3)]


def cross(left: torch.Tensor, right: torch.Tensor) -> list[torch.Tensor]:
    return [left.repeat_interleave(len(right)), right.repeat(len(left))]


def elementwise(
    name: str, dtypes: tuple[str, ...], result: str, count: int, *, vector: bool = True
) -> Kernel:
    loads = [Load(position, f"x{position}", AxisVar("i"), dtype) for position, dtype in enumerate(dtypes)]
    op = Op(len(dtypes), name, tuple(range(len(dtypes))), result)
    body = [*loads, op, Store("out", AxisVar("i"), len(dtypes))]
    buffers = [Buffer(f"x{position}", dtype) for position, dtype in enumerate(dtypes)]
    loop = Loop("i", Const(count), body, parallel=True, vector=vector)
    return Kernel("op", (*buffers, Buffer("out", result, writable=True)), (), [loop])


def apply(
    run, name: str, args: list[torch.Tensor], dtypes: tuple[str, ...], result: str, *, vector: bool = True
) -> torch.Tensor:
    count = len(args[0])
    out = torch.empty(count, dtype=TORCH_DTYPES[result])
    kernel = elementwise(name, dtypes, result, count, vector=vector)
    assert run(kernel, {"out": out, **{f"x{position}": arg for position, arg in enumerate(args)}}) == 0
    return out


def assert_identical(
    actual: torch.Tensor, expected: torch.Tensor, args: list[torch.Tensor], *, zero_sign: bool = True
) -> None:
    """Equal values, NaN at the same places, and the same sign of zero."""
    same = actual == expected
    if actual.is_floating_point():
        same = same | (actual.isnan() & expected.isnan())
        if zero_sign:
            same = same & ((actual != 0) | (torch.signbit(actual) == torch.signbit(expected)))
    if not same.all():
        at = int((~same).nonzero()[0])
        raise AssertionError(
            f"{[arg[at].item() for arg in args]} gives {actual[at].item()}, "
            f"expected {expected[at].item()}; {int((~same).sum())} differ"
        )


def ulp_error(actual: torch.Tensor, exact: torch.Tensor, beside_one: bool = False) -> torch.Tensor:
    """|actual - exact| in units in the last place of `exact` (of 1) in the type of `actual`; 0 if both are
    NaN or the same infinity.
    """
    info = torch.finfo(actual.dtype)
    rounded = exact.to(actual.dtype)
    _, exponent = torch.frexp(torch.ones_like(exact) if beside_one else exact.abs().clamp(min=info.tiny))
    unit = torch.ldexp(torch.full_like(exact, info.eps), exponent - 1)
    error = (actual.double() - exact).abs() / unit
    agree = (actual == rounded) | (actual.isnan() & rounded.isnan())
    # Overflow: the distance from the largest number to infinity is one rounding error
    return torch.where(
        agree, torch.where(rounded.isfinite(), error, 0.0).nan_to_num(0.0), error.nan_to_num(math.inf)
    )


def libm_fma(left: torch.Tensor, right: torch.Tensor, addend: torch.Tensor) -> torch.Tensor:
    single = left.dtype == torch.float32
    function = ctypes.CDLL("libm.so.6").fmaf if single else ctypes.CDLL("libm.so.6").fma
    number = ctypes.c_float if single else ctypes.c_double
    function.restype, function.argtypes = number, [number] * 3
    rows = zip(left.tolist(), right.tolist(), addend.tolist(), strict=True)
    return torch.tensor([function(*row) for row in rows], dtype=left.dtype)


# Eager's sqrt is not always correctly rounded; torch has no fma.
BETTER_THAN_EAGER = {
    "sqrt": lambda x: torch.from_numpy(np.sqrt(x.numpy())),
    "fma": libm_fma,
}

# Like eager, whose vector code overflows early, or like libm.
LIBM = {
    "sinh": lambda x: torch.from_numpy(np.sinh(x.numpy())),
    "cosh": lambda x: torch.from_numpy(np.cosh(x.numpy())),
}

CASES = [(name, dtype) for name, spec in OPS.items() if name != "cast" for dtype in sorted(spec.domain)]


@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda value: value)
def test_operation(run, name: str, dtype: str) -> None:
    args = operands(name, dtype)
    dtypes = ("b8", dtype, dtype) if name == "where" else (dtype,) * len(args)
    result = result_dtype(name, dtypes, dtype)
    actual = apply(run, name, args, dtypes, result)
    if name not in APPROXIMATE:
        # eager's vector and scalar code differ there
        equal_zeros_are_free = name in ("min", "max")
        if (
            name == "fmod"
            # libm is used if there is no Sleef: it is exact where eager gives NaN, because eager's quotient
            # overflows
        ):
            defined = (args[0] / args[1]).isfinite() | args[0].isinf() | (args[1] == 0)
            args, actual = [arg[defined] for arg in args], actual[defined]
        expected = BETTER_THAN_EAGER.get(name, lambda *_: reference(name, args, dtype))(*args)
        assert_identical(actual, expected, args, zero_sign=not equal_zeros_are_free)
        return
    exact = LIBM.get(name, lambda *wide: reference(name, list(wide), "f64"))(*(arg.double() for arg in args))
    bound = ULP_F32.get(name, 1.1) if dtype == "f32" else ULP_F64.get(name, 2)
    error = ulp_error(actual, exact, name in BESIDE_ONE)
    error[actual == reference(name, args, dtype)] = 0  # like eager, which overflows early in sinh and cosh
    worst = int(error.argmax())
    assert error[worst] <= bound, (
        f"{[arg[worst].item() for arg in args]}: {actual[worst].item()!r}, "
        f"exact {exact[worst].item()!r}, {error[worst]:.2f} ulp"
    )


CASTS = list(itertools.product(sorted(STORAGE), repeat=2))


@pytest.mark.parametrize(("source", "target"), CASTS, ids=lambda value: value)
def test_cast(run, source: str, target: str) -> None:
    x = values(source)
    if source in ("f32", "f64", "bf16", "f16"):
        near = torch.tensor(
            [
                2.0**31,
                -(2.0**31),
                2.0**31 - 1,
                -(2.0**31) - 0.5,
                2.0**63,
                -(2.0**63),
                255.5,
                256.0,
                -1.5,
                65504.0,
                65519.0,
                65520.0,
                65536.0,
                6e-8,
                2.98e-8,
                2.9802325e-08,
                6.1e-5,
                1.0009765625,
                1.00048828125,
                3.3895e38,
            ]
        )
        x = torch.cat([x, near.to(x.dtype)])
    actual = apply(run, "cast", [x], (source,), target)
    assert_identical(actual, reference("cast", [x], target), [x])


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_all_half_precision_numbers_survive(run, name: str) -> None:
    encodings = torch.arange(-32768, 32768, dtype=torch.int32).to(torch.int16).view(TORCH_DTYPES[name])
    wide = apply(run, "cast", [encodings], (name,), "f32")
    assert_identical(wide, encodings.float(), [encodings])
    assert_identical(apply(run, "cast", [wide], ("f32",), name), encodings, [wide])


@pytest.mark.parametrize(
    "name", ["exp", "exp2", "expm1", "log", "log1p", "tanh", "erf", "sigmoid", "normal_cdf", "sin", "cos"]
)
def test_inline_functions_on_many_values(run, name: str) -> None:
    torch.manual_seed(1)
    ranges = {
        "exp": (-104, 89),
        "exp2": (-150, 128),
        "expm1": (-20, 89),
        "sin": (-40_000, 40_000),  # beyond 2**15 Sleef's
        "cos": (-40_000, 40_000),
        "log": (-44, 44),
        "log1p": (-1, 3),
        "tanh": (-10, 10),
        "erf": (-5, 5),
        "sigmoid": (-88, 40),
        "normal_cdf": (-15, 8),
    }
    low, high = ranges[name]
    x = torch.rand(200_000) * (high - low) + low
    small = (torch.rand(100_000) * 2 - 1) * 2.0 ** torch.randint(-20, 2, (100_000,))
    x = torch.cat([x.exp() if name == "log" else x, small.abs() if name == "log" else small])
    actual = apply(run, name, [x], ("f32",), "f32")
    error = ulp_error(actual, reference(name, [x.double()], "f64"), name in BESIDE_ONE)
    assert error.max() <= ULP_F32.get(name, 1.1), f"{x[int(error.argmax())].item()!r}: {error.max():.2f} ulp"


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_waves_stay_within_one(run, name: str) -> None:
    """Near their extremes, and where they vanish, errors are relative to what they are."""
    places = torch.arange(-20_000, 20_000, dtype=torch.float64) * (math.pi / 2)
    x = (places.float()[:, None] * torch.tensor([1 - 2**-23, 1.0, 1 + 2**-23])).flatten()
    actual = apply(run, name, [x], ("f32",), "f32")
    assert actual.abs().max() <= 1
    error = ulp_error(actual, reference(name, [x.double()], "f64"))
    assert error.max() <= ULP_F32[name], f"{x[int(error.argmax())].item()!r}: {error.max():.2f} ulp"


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_a_far_lane_changes_no_other(run_host, name: str) -> None:
    x = torch.linspace(-30, 30, 1000)
    beside = x.clone()
    beside[::7] = 1e10
    alone, together = (apply(run_host, name, [values], ("f32",), "f32") for values in (x, beside))
    kept = beside == x
    assert torch.equal(alone[kept], together[kept])
    assert together[0] == reference(name, [beside], "f32")[0]


ODD = "tanh sin tan asin atan sinh asinh atanh erf expm1 log1p".split()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", ODD)
def test_odd_functions_keep_the_sign_of_zero(run, name: str, dtype: str) -> None:
    zeros = torch.tensor([-0.0, 0.0] * 20, dtype=TORCH_DTYPES[dtype])
    assert_identical(apply(run, name, [zeros], (dtype,), dtype), zeros, [zeros])


def test_exponentials_in_float64_on_many_values(run) -> None:
    """libm's values are within slightly more than half a unit in the last place."""
    torch.manual_seed(1)
    x = torch.cat(
        [torch.rand(100_000, dtype=torch.float64) * 1456 - 746, torch.randn(100_000, dtype=torch.float64)]
    )
    actual = apply(run, "exp", [x], ("f64",), "f64")
    error = ulp_error(actual, torch.from_numpy(np.exp(x.numpy())))
    assert error.max() <= 1.6, f"{x[int(error.argmax())].item()!r}: {error.max():.2f} ulp"


def test_tanh_in_float64_on_many_values(run) -> None:
    torch.manual_seed(1)
    scales = torch.tensor([1e-300, 1e-8, 1e-3, 0.1, 1, 5, 20], dtype=torch.float64)
    x = (torch.randn(30_000, 1, dtype=torch.float64) * scales).flatten()
    actual = apply(run, "tanh", [x], ("f64",), "f64")
    error = ulp_error(actual, torch.from_numpy(np.tanh(x.numpy())))
    assert error.max() <= 3.5, f"{x[int(error.argmax())].item()!r}: {error.max():.2f} ulp"


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda value: value)
def test_scalar_form_gives_what_the_vector_form_gives(run_host, name: str, dtype: str) -> None:
    """Equal in every bit: a value is uniform in one kernel and varying in another."""
    args = [arg[:2000].contiguous() for arg in operands(name, dtype)]
    dtypes = ("b8", dtype, dtype) if name == "where" else (dtype,) * len(args)
    result = result_dtype(name, dtypes, dtype)
    scalar, vector = (apply(run_host, name, args, dtypes, result, vector=form) for form in (False, True))
    assert_identical(scalar, vector, args)
