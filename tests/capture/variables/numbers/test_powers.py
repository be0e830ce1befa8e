"""Floats to powers that change from call to call: one capture serves all exponents."""

from __future__ import annotations

import logging
import math
import operator
from typing import Any

import numpy as np
import pytest
import torch

import capture
from capture.report.counters import counters
from codegen.stored.modules import module_data, module_of

POWERS = {
    "decay": lambda x, n: x * (1 - 0.999**n),
    "math.pow": lambda x, n: x * math.pow(0.5, n),
    "negative base": lambda x, n: (x + (-0.5) ** n, (-0.5) ** n),
    "one": lambda x, n: x * 1.0**n,
    "growth": lambda x, n: (x * 1.5**n, 1.5**n),
    "of NumPy": lambda x, n: x * np.float64(0.9) ** n,
    "of an int": lambda x, n: x * math.pow(3, n),
    "compared": lambda x, n: x + 1 if 0.9**n < 0.5 else x - 1,
    "exponential schedule": lambda x, n: (x * (1e-5 * 1e6 ** (n / 30)), 1e-5 * 1e6 ** (n / 30)),
    "half-life": lambda x, n: (x * 0.5 ** (n / 7), math.pow(0.5, n / 7)),
    "int to a float": lambda x, n: (x * 2 ** (n / 8), 3 ** (0.25 - n / 8)),
    "float to a float of NumPy": lambda x, n: x * 0.5 ** (np.float64(0.125) * n),
}


def check(function: Any, fast: Any, n: float) -> None:
    x = torch.tensor([1.0, -2.0, 3.5])
    try:
        expected = function(x, n)
    except (OverflowError, ZeroDivisionError) as error:
        with pytest.raises(type(error)) as found:
            fast(x, n)
        assert str(found.value) == str(error)
        return
    torch.testing.assert_close(fast(x, n), expected, rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", POWERS)
def test_exponents(name: str, backend: str) -> None:
    function = POWERS[name]
    capture.reset()
    fast = capture.compile(function, backend=backend)
    for n in (2, 3, 7, 1, 0, 40, 4):
        check(function, fast, n)
    assert sum(counters["recompiles"].values()) == 1 + (name == "compared")


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("base", [-2.0, -2, -0.0, -0.5, 2.0, -math.inf, -(2**40)])
def test_powers_of_negative_numbers_in_the_text_of_a_graph(base: float, backend: str) -> None:
    """torch.fx itself writes `-2.0 ** x`."""

    def function(x: Any) -> Any:
        return base**x, base ** x.long(), (base**x).sum() * base

    x = torch.tensor([2.0, 4.0, 3.0, 0.0])
    capture.reset()
    for found, expected in zip(capture.compile(function, backend=backend)(x), function(x)):
        torch.testing.assert_close(found, expected, equal_nan=True)
        assert found.dtype == expected.dtype and torch.equal(found.signbit(), expected.signbit())


def test_a_graph_from_the_store_has_the_parentheses() -> None:
    graph = torch.fx.Graph()
    graph.output(graph.call_function(operator.pow, (-2.0, graph.placeholder("x"))))
    x = torch.tensor([2.0, 3.0])
    found = module_of(module_data(torch.fx.GraphModule(torch.nn.Module(), graph)))
    assert torch.equal(found(x), (-2.0) ** x)


@pytest.mark.parametrize("base", [0.5, 0.999, 1.0, -1.0, 1.5, -3.0, 1e300, 1e-300, 0.0, math.inf, 5e-324])
def test_what_is_too_large_raises_as_python_does(base: float) -> None:
    def function(x: Any, n: int) -> Any:
        return x * 1.0, base**n

    capture.reset()
    fast = capture.compile(function)
    with capture.config.patch(recompile_limit=50):
        for n in (1, 2, 3, -2, -3, 1000, 1074, 1075, 2000, -1000, -1025, 10**6, -(10**6)):
            check(function, fast, n)


@pytest.mark.parametrize("base", [0.5, 1.0, 3, -2.0, 1e300, 5e-324, 0.0, math.inf, 2**53 + 1, 10**400])
def test_exponents_that_are_not_whole(base: float) -> None:
    """What overflows raises, and what is complex is, as in Python."""

    def function(x: Any, n: float) -> Any:
        return x * 1.0, base**n

    capture.reset()
    fast = capture.compile(function)
    with capture.config.patch(recompile_limit=50):
        for n in (1.5, 2.5, 0.25, -0.75, 1.03, 700.5, 1075.5, -1080.5, 1e300, -1e300, math.inf, -math.inf):
            check(function, fast, n)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_both_change(backend: str) -> None:
    """A learning rate that grows from one setting to another."""

    def function(x: Any, low: float, high: float, n: int) -> Any:
        rate = low * (high / low) ** (n / 30)
        return x * rate, rate

    x = torch.tensor([1.0, -2.0, 3.5])
    capture.reset()
    fast = capture.compile(function, backend=backend)
    for n in range(1, 12):
        rates = 1e-4 * n, 1.0 + n / 8, n
        torch.testing.assert_close(fast(x, *rates), function(x, *rates), rtol=0, atol=0)
    assert sum(counters["recompiles"].values()) == 1
    for rates in ((1e-30, 1e30, 2), (1e-4, 1e-30, 600), (-1e-4, 1.0, 3), (1e-4, 1.0, -500)):
        assert fast(x, *rates)[1] == function(x, *rates)[1]
    with pytest.raises(OverflowError) as expected:
        function(x, 1e-4, 1e4, 3000)
    with pytest.raises(OverflowError) as found:
        fast(x, 1e-4, 1e4, 3000)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("base", [-1, -2, -3, 0, 2])
def test_ints_to_ints_that_change(base: int) -> None:
    """torch logs a warning where it cannot bound a power."""

    def powers(x: torch.Tensor, n: int, m: int) -> Any:
        return x * base**n, base**n, x + m**n, m**n, x + 1 if base**n > m else x - 1

    compiled, x = capture.compile(powers), torch.ones(2, dtype=torch.float64)
    logger, heard = logging.getLogger("torch.utils._sympy.interp"), logging.Handler()
    records: list[Any] = []
    heard.emit = records.append  # type: ignore[method-assign]
    logger.addHandler(heard)
    try:
        for n, m in ((1, 2), (2, 3), (5, 4), (4, 7), (0, 2), (3, -2), (2, 0)):
            assert repr(compiled(x, n, m)) == repr(powers(x, n, m))
    finally:
        logger.removeHandler(heard)
    assert not records


def test_a_counter_of_an_average() -> None:
    class Average:
        def __init__(self) -> None:
            self.value, self.updates = torch.zeros(3), 0

        def update(self, x: Any) -> None:
            self.updates += 1
            decay = 0.99 * (1 - math.exp(-self.updates / 10)) + 0.5**self.updates / 100
            self.value = self.value * decay + x * (1 - decay)

    capture.reset()
    eager, fast = Average(), Average()
    update = capture.compile(Average.update)
    for _ in range(20):
        x = torch.randn(3)
        eager.update(x)
        update(fast, x)
        torch.testing.assert_close(fast.value, eager.value)
    assert fast.updates == 20 and sum(counters["recompiles"].values()) <= 1
