"""Functions of NumPy that stay in the graph give NumPy's result: type, dtype, shape, values.

NaN, infinities and signed zeros too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import capture
from capture.graph import numpy_functions
from capture.report.config import config

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
