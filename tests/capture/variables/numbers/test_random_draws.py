"""Draws from Python's random stream in captured code: eager's numbers, and eager's stream after each call.

Arithmetic on them makes no break.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from random import randint
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import capture
from capture.report.config import config

X = torch.arange(6.0).reshape(2, 3) + 1


def outcomes(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    random.seed(11)
    found = []
    for args in calls:
        try:
            result = function(*args)
        except Exception as error:
            result = type(error).__name__
        found.append((result, hash(random.getstate())))
    return found


def same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.allclose(left, right, rtol=1e-6, atol=1e-6)
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def check(function: Callable[..., Any], calls: list[tuple[Any, ...]], backend: Any = "llvm") -> None:
    expected = outcomes(function, calls)
    with config.patch(raise_on_error=True):
        assert same(outcomes(capture.compile(function, backend=backend), calls), expected)


# --- whole graphs -----------------------------------------------------------------------------------------


def scaled(x):
    return x * random.random() + random.uniform(-2, 3.5)


def numbers(x):
    a, n = random.random(), random.randint(1, 6)
    b = a * 2 - 0.5
    return x + b, a, n, -b, n / 4, n * 0.5, x * n


def in_a_loop(x):
    for _ in range(4):
        x = x + random.random() * x.sin()
    return x


def in_a_callee(x):
    def noise(y):
        return y * randint(2, 9)

    return noise(x) - noise(x)


def unused(x):
    random.random()
    random.randrange(3, 90, 4)
    return x + 1


def kept(x, held):
    held.append(random.random())
    return x * held[-1], random.randrange(7)


def inside_comprehension(x):
    return torch.stack([x * random.random() for _ in range(3)])


def in_place(x):
    a = random.uniform(1, 2)
    a += 0.5
    a *= a
    y = x.clone()
    y *= a
    y.add_(x, alpha=random.random())
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        return y - x.sin() / random.randint(1, 9), a


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.p = 0.5

    def forward(self, x):
        return self.linear(x) * random.uniform(0.0, self.p)


torch.manual_seed(3)
WHOLE = [scaled, numbers, in_a_loop, in_a_callee, unused, in_place, inside_comprehension, Layer()]


@pytest.mark.parametrize("backend", ["llvm", "eager"])
@pytest.mark.parametrize("function", WHOLE, ids=lambda f: getattr(f, "__name__", "module"))
def test_no_break(function: Any, backend: str) -> None:
    check(function, [(X,)] * 4, backend)
    explanation = capture.explain(function)(X)
    assert explanation.graph_count == 1 and explanation.graph_break_count == 0


def test_no_break_under_fullgraph_and_no_recompile() -> None:
    graphs = []

    def backend(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        graphs.append(gm)
        return gm.forward

    fast = capture.compile(scaled, backend=backend, fullgraph=True)
    assert same(outcomes(fast, [(X,)] * 5), outcomes(scaled, [(X,)] * 5))
    assert len(graphs) == 1


def test_capture_draws_nothing() -> None:
    random.seed(5)
    before = random.getstate()
    capture.compile(lambda x: x.sin() + 1, backend="eager")(X)
    fast = capture.compile(lambda x: x * random.random(), backend="eager")
    assert random.getstate() == before
    fast(X)
    random.setstate(before)
    random.random()
    after = random.getstate()
    random.setstate(before)
    capture.reset()
    fast(X)
    assert random.getstate() == after


def test_other_sizes_are_recompiled_without_a_draw() -> None:
    check(scaled, [(X,), (X[0],), (X,), (X.double(),), (X[:, :2],), (X.int(),), (X[0],)])


def test_a_draw_that_is_kept() -> None:
    expected, found = [], []
    check(lambda x: kept(x, expected), [(X,)] * 3)
    random.seed(11)
    fast = capture.compile(kept, backend="eager")
    for _ in range(3):
        fast(X, found)
    assert expected[:3] == found


def test_gradients() -> None:
    def run(function: Callable[..., Any]) -> list[Any]:
        random.seed(2)
        x = X.clone().requires_grad_()
        for _ in range(2):
            function(x).sum().backward()
        return [x.grad, random.random()]

    assert same(run(capture.compile(in_a_loop)), run(in_a_loop))


# --- breaks, with eager's numbers -------------------------------------------------------------------------


def break_behind(x):
    a = random.random()
    y = x * a
    capture.graph_break()
    return y + random.random() + a, a


def branch(x):
    a = random.random()
    if a < 0.5:
        return x + a
    return x * a - random.random()


def seeded_between(x):
    y = x * random.random()
    random.seed(4)
    return y + random.random(), random.getstate()[1][:3]


def state_is_set_back(x):
    state = random.getstate()
    a = x * random.random()
    random.setstate(state)
    return a + random.random()


def as_a_size(x):
    return x[:, : random.randint(1, 2)].sum() + sum(range(random.randint(1, 4)))


def integer_arithmetic(x):
    n = random.randint(1, 5)
    return x + n * 2, n + 1, n // 2, n**2, -n, 1 / n, n - n, n / n


def divisions(x):
    a = random.random() + 0.25
    return x / a, 1 / a, a**2, 2.0**a, a % 1, a // 0.1, a / 3


def builtins(x):
    a = random.random()
    return (
        x * math.sqrt(a),
        int(a * 10),
        float(a),
        abs(a),
        round(a, 2),
        f"{a:.3f}",
        str(a),
        max(a, 0.5),
        bool(a),
        not a,
    )


def containers(x):
    a, n = random.random(), random.randint(0, 2)
    return (
        x + 1,
        {a: n},
        {"a": a},
        [a, n][0],
        [10, 11, 12][n],
        (a, n),
        a in (0.1, a),
        a == a,
        type(a),
        isinstance(n, int),
    )


def tensor_arguments(x):
    a, n = random.random(), random.randint(1, 2)
    return (
        torch.full((2,), a),
        torch.tensor([a, n]),
        x.clamp(min=a),
        x**a,
        x.int() * n,
        x > a,
        x.roll(n),
        x.half() * n,
    )


def bad_arguments(x):
    return x * random.randint(3, 1)


def unpacked(x):
    return x * random.random(*()), random.uniform(a=1, b=2), random.choice([1, 2, 3]), random.gauss(0, 1)


def divided_by_zero(x):
    return x + random.random() / 0


def raised_and_caught(x):
    try:
        a = random.random()
        raise ValueError(a)
    except ValueError as error:
        return x * error.args[0] + random.random()


def in_a_checkpoint(x):
    return checkpoint(lambda y: y.sin() * random.random(), x, use_reentrant=False)


def under_vmap(x):
    return torch.vmap(lambda row: row * random.random())(x)


BREAKS = [
    break_behind, branch, seeded_between, state_is_set_back, as_a_size, integer_arithmetic, divisions,
    builtins, containers,
    tensor_arguments, bad_arguments, unpacked, divided_by_zero, raised_and_caught, in_a_checkpoint,
    under_vmap,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["llvm", "eager"])
@pytest.mark.parametrize("function", BREAKS, ids=lambda f: f.__name__)
def test_as_eager(function: Any, backend: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(function, [(X,)] * 4, backend)


# --- where the order could be seen ------------------------------------------------------------------------


def test_a_graph_that_raises_takes_its_draws_back() -> None:
    def program(x, index):
        y = x[index] * random.random()
        return y + random.random()

    good, bad = torch.tensor([0, 1]), torch.tensor([0, 9])
    check(program, [(X, good), (X, bad), (X, good), (X, bad), (X, bad), (X, good)], "eager")
    check(program, [(X, good), (X, bad), (X, good)])


def test_an_assertion_that_fails_takes_its_draws_back() -> None:
    def program(x):
        y = x * random.random()
        assert (x > 0).all()
        return y + random.random()

    check(program, [(X,), (-X,), (X,), (-X,)])


def test_behind_an_operator_of_the_program() -> None:
    @torch.library.custom_op("drawn_numbers::noise", mutates_args=())
    def noise(x: torch.Tensor) -> torch.Tensor:
        return x * random.random()

    @noise.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    check(lambda x: noise(x) + random.random(), [(X,)] * 3)
    check(lambda x: torch.ops.drawn_numbers.noise(x) + random.random(), [(X,)] * 3)
    check(lambda x: noise(x * random.random()), [(X,)] * 3)


def test_behind_a_marked_function() -> None:
    @capture.allow_in_graph
    def noise(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    check(lambda x: noise(x) * random.random(), [(X,)] * 3)
    assert capture.explain(lambda x: noise(x) * random.random())(X).graph_break_count == 1


def test_a_replaced_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x):
        return x * random.random()

    fast = capture.compile(program, backend="eager")
    fast(X)
    monkeypatch.setattr(random, "random", lambda: 3.0)
    assert torch.equal(fast(X), X * 3)


def test_an_argument_that_changes() -> None:
    check(lambda x, top: x * random.uniform(0, top), [(X, 1.0), (X, 2.0), (X, 3.0), (X, 3.5)])


def test_with_the_settrace_hook() -> None:
    def run(function):
        random.seed(11)
        return [(function(X), hash(random.getstate())) for _ in range(4)]

    for function in (scaled, in_a_loop, break_behind):
        assert same(run(capture.compile(function, hook="settrace")), run(function))
