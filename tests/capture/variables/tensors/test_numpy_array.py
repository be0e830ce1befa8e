"""Functions of NumPy that stay in the graph give NumPy's result: type, dtype, shape, values.

NaN, infinities and signed zeros too.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest
import torch

import capture
from capture.graph import numpy_functions
from capture.report.config import config
from capture.report.counters import counters

FUNCTIONS = {
    path: function
    for path, function in numpy_functions.supported_functions().items()
    if path not in numpy_functions.CREATION.split()
}


def arrays(dtype: str) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((3, 4)) * 3 for _ in range(2))
    if dtype == "special":
        a[0, :3] = np.nan, np.inf, -0.0
        a[1, 0] = -np.inf
        return [(a,), (a, b), (a, 2)]
    a, b = a.astype(dtype), b.astype(dtype)
    return [(a,), (a, b), (a, 2), (a[0], b[0]), ([a, b],), (a[:3, :3],), (a > 0, a, b)]


def outcome(function: Any, args: tuple[Any, ...]) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except Exception as error:
        return type(error)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, (tuple, list)):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if not isinstance(left, (np.ndarray, np.generic)):
        return type(left) is type(right) and bool(left == right)
    if type(left) is not type(right) or left.dtype != right.dtype or left.shape != right.shape:
        return False
    return np.allclose(left, right, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "special"])
@pytest.mark.parametrize("path", FUNCTIONS)
def test_as_numpy(path: str, dtype: str) -> None:
    function = FUNCTIONS[path]

    def program(*args: Any) -> Any:
        return function(*args)

    fast = capture.compile(program, backend="eager")
    with config.patch(raise_on_error=True, recompile_limit=100):
        for args in arrays(dtype):
            expected, found = outcome(program, args), outcome(fast, args)
            assert same(expected, found), (args, expected, found)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.numpy().__iadd__(1).sum(),
        lambda x: torch.from_numpy(x.numpy()).add_(1).sum(),
        lambda x: np.add(x.detach().numpy()[1:], 1, out=x.numpy()[1:]).sum(),
    ],
)
@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_autograd_counts_no_write_to_an_array(write: Any, backend: str) -> None:
    def outcome(function: Any) -> Any:
        x, weight = torch.ones(3), torch.ones(3, requires_grad=True)
        product = weight * x  # keeps x
        function(x)
        product.sum().backward()
        return x._version, weight.grad.tolist()

    assert outcome(capture.compile(write, backend=backend)) == outcome(write)


def stored(a: Any, f: float) -> Any:
    a[1] = f
    a[3:] = f * 2
    a[a > 1] = f
    return a, a[::2]


WITH_FLOATS = {
    "stored": stored,
    "add": lambda a, f: (a + f, f + a),
    "sub": lambda a, f: (a - f, f - a),
    "mul": lambda a, f: (a * f, np.multiply(f, a)),
    "truediv": lambda a, f: (a / f, f / a),
    "compare": lambda a, f: (a < f, f >= a, a == f),
    "in place": lambda a, f: operator.iadd(a.astype(np.result_type(a, np.float32)), f),
    "computed": lambda a, f: a * (2 * f + 1) - f,
    "number": lambda a, f: (a[0] * f, a.sum() - f),
}
FLOATS = (0.1, 0.3, -0.7, 0.0, -0.0, 1e300, float("inf"), float("nan"), 1 / 3, 2.0, 1e-300)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("function", WITH_FLOATS.values(), ids=WITH_FLOATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats_that_change_beside_arrays(function: Any, dtype: str) -> None:
    """They are rounded to the precision of the array, and one capture serves all of them."""
    array = (np.arange(6) - 2).astype(dtype)
    capture.reset()
    fast = capture.compile(function, backend="eager")
    with config.patch(raise_on_error=True, recompile_limit=100):
        for number in FLOATS:
            expected, found = outcome(function, (array.copy(), number)), outcome(fast, (array.copy(), number))
            assert repr(expected) == repr(found)
    if dtype in ("float64", "float32"):
        assert sum(counters["recompiles"].values()) == 1


def test_powers_of_complex_numbers_are_those_of_numpy() -> None:
    def program(a: Any) -> Any:
        return a**0.0, a + np.inf

    array = np.array([0j, 1j], np.complex64)
    assert repr(capture.compile(program, backend="eager")(array)) == repr(program(array))


COMPLEX = {
    "add": lambda a, b: (a[0] + a[1], a + a[1], a + b, a + a.real, 2.5 - a[0], np.subtract(a, b[0])),
    "mul": lambda a, b: (a[0] * a[1], a * b, np.multiply(a[1], b), np.square(a)),
    "div": lambda a, b: (a[0] / a[1], a / b, a / 2.0, np.reciprocal(a)),
    "products": lambda a, b: (a @ b, a.dot(b), np.vdot(a, b), np.outer(a, b), a.prod()),
    "matrices": lambda a, b: (np.linalg.matrix_power(np.outer(a, b), 2), np.average(a, weights=b)),
    "in place": lambda a, b: (operator.iadd(a[0], a[1]), operator.imul(a.copy(), b[1])),
    "others": lambda a, b: (-a, abs(a), a.conj(), a.sum(), a == b, np.where(a.real > 0, a, b), a.real),
}


@pytest.mark.parametrize("function", COMPLEX.values(), ids=COMPLEX)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex_numbers_are_those_of_numpy(function: Any) -> None:
    """Also where a part is infinite or no number: torch gives other parts there."""
    fast = capture.compile(function)
    numbers = [1 + 2j, complex(math.inf, 0), complex(math.inf, 3), complex(0, math.inf), 1e300 - 1e300j]
    for first, second in itertools.product([*numbers, complex(math.nan, 1)], repeat=2):
        a, b = np.array([first, second, 1 + 1j]), np.array([second, 1j, first])
        assert repr(fast(a.copy(), b)) == repr(function(a.copy(), b))


POWERS = {
    "array": lambda a: (a**0.5, a**-0.5, np.power(a, 0.5), a**2, a**-1, a**0.0, a**1.5),
    "number": lambda a: (a[0] ** 0.5, a[1] ** 0.5, a[1] ** -0.5, a[0] ** 2),
    "by a number of another precision": lambda a: (a ** np.float64(0.5), a ** np.float32(0.5)),
    "by a number": lambda a: (a ** a[-1], a ** (a[-1] * 2), a[0] ** a[-1]),
    "in place": lambda a: operator.ipow(a.copy(), a[-1]),
    "fmod": lambda a: (np.fmod(a, 1e-310), np.fmod(1e300, a)),
}


@pytest.mark.parametrize("function", POWERS.values(), ids=POWERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_and_remainders_at_the_ends_of_numbers(function: Any, dtype: str, backend: str) -> None:
    array = np.array([-math.inf, -0.0, math.inf, 0.0, -2.0, math.nan, 0.25, 0.5], dtype)
    assert repr(capture.compile(function, backend=backend)(array)) == repr(function(array))


def changed_in_place(a: Any) -> Any:
    number = same = a[1]
    number += 1
    number *= a[2]
    return number, same


def written_behind_a_read(a: Any) -> Any:
    number, taken = a[1], np.take(a, 2)
    first, *others = a
    a[:] = 50
    return number, taken, first, others


def summed_in_place(a: Any) -> Any:
    total = same = a.sum()
    total -= 1
    return total, same


def walked_over(a: Any) -> Any:
    total = 0.0
    for value in a:
        total += value
        value *= 2
    return total


def number_made_an_array(a: Any) -> Any:
    number = a[1]
    made = np.atleast_1d(number)
    made += 1
    return number, made


def view_that_is_an_array(a: Any) -> Any:
    view = a[1, ...]
    view += 7
    return view


NUMBERS = (
    changed_in_place,
    written_behind_a_read,
    summed_in_place,
    walked_over,
    number_made_an_array,
    view_that_is_an_array,
)


@pytest.mark.parametrize("function", NUMBERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_numbers_have_memory_of_their_own(backend: str, dtype: str, function: Any) -> None:
    fast = capture.compile(function, backend=backend)
    with config.patch(raise_on_error=True):
        for _ in range(2):
            eager, captured = (np.arange(4).astype(dtype) for _ in range(2))
            assert repr(outcome(function, (eager,))) == repr(outcome(fast, (captured,)))
            assert repr(eager) == repr(captured)


INDEXED = {
    "a row": lambda a, i: a[i] * 2,
    "a view": lambda a, i: a[i][1:] + a[i][:-1],
    "neighbours": lambda a, i: a[i + 1] - a[i],
    "as a tensor": lambda a, i: torch.from_numpy(a[i]).sum(),
}


@pytest.mark.parametrize("name", list(INDEXED))
def test_an_index_that_changes_is_a_number_of_the_graph(name: str) -> None:
    """One capture for the first index, one for all others, and those for negative ones."""
    function = INDEXED[name]
    capture.reset()
    compiled = capture.compile(function)
    a = np.random.default_rng(0).random((12, 3), dtype=np.float32)
    before = sum(capture.counters["frames"].values())
    for index in (*range(11), -2, -3):
        np.testing.assert_allclose(np.asarray(compiled(a, index)), np.asarray(function(a, index)), rtol=1e-6)
    assert sum(capture.counters["frames"].values()) - before <= 5
    for index in (12, -14):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 12"):
            compiled(a, index)


def test_what_is_read_at_a_changing_index() -> None:
    """A row is a view of the array, a number has memory of its own."""

    def row(a: np.ndarray, i: int) -> np.ndarray:
        found = a[i]
        found += 1
        return found

    def number(a: np.ndarray, i: int) -> tuple[np.generic, np.generic]:
        found = a[i]
        a[i] = 50
        return found, a[i]

    for function, shape in ((row, (5, 3)), (number, (5,))):
        compiled = capture.compile(function)
        for index in range(5):
            mine, eager = np.zeros(shape), np.zeros(shape)
            np.testing.assert_array_equal(compiled(mine, index), function(eager, index))
            np.testing.assert_array_equal(mine, eager)


ZEROS = np.array([-0.0, 0.0, math.nan, -1.0, 2.0])
CLIPS = {
    "numbers": lambda a: np.clip(a, 0, 1),
    "negative zero": lambda a: np.clip(a, -1, -0.0),
    "method": lambda a: a.clip(-0.0, 1),
    "one bound": lambda a: np.clip(a, 0, None),
    "arrays": lambda a: np.clip(a, np.zeros(5), 1.0),
    "two arrays": lambda a: np.clip(a, -np.zeros(5), np.zeros(5)),
    "element": lambda a: np.clip(a[0], 0, 1),
    "out": lambda a: np.clip(a, 0, 1, out=(b := a.copy())) + b,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CLIPS)
def test_clip_keeps_the_sign_of_zeros(name: str, dtype: Any) -> None:
    function, array = CLIPS[name], ZEROS.astype(dtype)
    found, expected = capture.compile(function, fullgraph=True)(array), function(array)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
