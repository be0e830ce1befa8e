"""Floats that change at every call where an operation takes them only as constants: eager against captured,
and how often a function is captured.

A few values have a capture each. From then on the graph breaks in front of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import capture
from capture.report.config import config
from capture.report.counters import counters
from capture.sizes import glances
from capture.sizes.policy import VALUES_OF_SETTINGS, Seen, SizeHistory, SizePolicy
from guards.sources import LocalSource
from tests.capture.test_cases import outcome

CALLS = 12
pytestmark = pytest.mark.usefixtures("fresh")
X = torch.linspace(-2, 2, 24).reshape(4, 6)
ARRAY = X.double().numpy()


def check(function: Callable[..., Any], calls: list[tuple[Any, ...]], **settings: Any) -> None:
    """Each call gives eager's result, with its random numbers."""
    captured = capture.compile(function, **settings)
    for number, args in enumerate(calls):
        results = []
        for form in (function, captured):
            torch.manual_seed(number)
            results.append(outcome(form, args))
        expected, got = results
        assert got[1:] == expected[1:], (number, got, expected)
        torch.testing.assert_close(got[0], expected[0], equal_nan=True)


def check_captures(program: Callable[..., Any]) -> None:
    """Of the program itself: functions of torch behind the break may get hot, and break at other places."""
    assert counters["graph_breaks"]["changing_number"]
    assert counters["recompiles"][program.__qualname__] == VALUES_OF_SETTINGS
    assert counters["recompiles"]["<lambda>"] == 1


def values(count: int = CALLS) -> list[float]:
    return [0.1 + 0.03 * i for i in range(count)]


#: operations on a tensor and a float
OPERATIONS: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "dropout": lambda x, p: F.dropout(x, p),
    "pad": lambda x, p: F.pad(x, (1, 1), value=p),
    "huber_loss": lambda x, p: F.huber_loss(x, x + 1, delta=p),
    "smooth_l1_loss": lambda x, p: F.smooth_l1_loss(x, x + 1, beta=p),
    "cross_entropy": lambda x, p: F.cross_entropy(x, torch.arange(4), label_smoothing=p),
    "layer_norm": lambda x, p: F.layer_norm(x, (6,), eps=p),
    "batch_norm": lambda x, p: F.batch_norm(x, None, None, training=True, eps=p),
    "attention": lambda x, p: F.scaled_dot_product_attention(x[None], x[None], x[None], scale=p),
    "normal_": lambda x, p: x.clone().normal_(0.0, p),
    "bernoulli_": lambda x, p: x.clone().bernoulli_(p),
    "exponential_": lambda x, p: x.clone().exponential_(p),
    "nan_to_num": lambda x, p: torch.nan_to_num(x.log(), nan=p),
    "cdist": lambda x, p: torch.cdist(x, x, p=1 + p),
    "logit": lambda x, p: torch.logit(x, eps=p / 3),
    "isclose": lambda x, p: torch.isclose(x, x.round(), rtol=p),
    "triplet_margin_loss": lambda x, p: F.triplet_margin_loss(x, x + 1, x - 1, margin=p),
    "quantile": lambda x, p: torch.quantile(x, p),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_graph_breaks_in_front_of_the_operation(name: str) -> None:
    operation = OPERATIONS[name]

    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        y = operation(torch.sin(x) * 2, p)
        return y * 3 + 1

    check(program, [(X, p) for p in values()])
    check_captures(program)
    # around the operation there are two, and others in the lambda
    assert VALUES_OF_SETTINGS + 2 <= counters["graphs"]["compiled"] <= VALUES_OF_SETTINGS + 6


#: functions of NumPy
ARRAYS: dict[str, Callable[[Any, float], Any]] = {
    "clip": lambda a, p: np.clip(a, -p, p),
    "power": lambda a, p: np.power(abs(a), p),
    "maximum": lambda a, p: np.maximum(a, p),
    "exp": lambda a, p: a * np.exp(p),
    "full": lambda a, p: a + np.full((4, 6), p),
    "array": lambda a, p: a[:, :2] * np.array([p, p]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_functions_of_numpy(name: str) -> None:
    operation = ARRAYS[name]

    def program(a: Any, p: float) -> Any:
        return operation(a * 2, p) * 3 + 1

    check(program, [(ARRAY, p) for p in values()])
    check_captures(program)


def test_a_few_values_have_a_capture_each() -> None:
    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        return F.pad(x * 2, (1, 1), value=p) * 3

    check(program, [(X, p) for p in values(VALUES_OF_SETTINGS) * 3])
    assert not counters["graph_breaks"]
    assert sum(counters["recompiles"].values()) == VALUES_OF_SETTINGS - 1


def test_a_branch_is_a_condition() -> None:
    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        return x * p if p > 0.4 else x - p

    check(program, [(X, p) for p in values()])
    assert not counters["graph_breaks"] and sum(counters["recompiles"].values()) == 2


def test_an_operation_that_takes_the_float_is_in_the_graph() -> None:
    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        return (x * p).clamp(-p, p) + 1

    check(program, [(X, p) for p in values()])
    assert not counters["graph_breaks"] and sum(counters["recompiles"].values()) == 1


def test_a_part_behind_a_break_knows_the_float() -> None:
    """The resume function takes the float, too. It breaks without captures of its own."""

    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        y = F.pad(x * 2, (1, 1), value=p) * 3
        return F.layer_norm(y, (8,), eps=p) + 1

    check(program, [(X, p) for p in values()])
    assert counters["graph_breaks"] == {"changing_number": 2}
    assert counters["recompiles"] == {program.__qualname__: VALUES_OF_SETTINGS}


def test_numbers_of_modules() -> None:
    """Two layers that share `forward`, and one whose rate stays."""

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)
            self.drop, self.fixed = torch.nn.Dropout(0.1), torch.nn.Dropout(0.2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(self.fixed(self.drop(torch.relu(self.first(x)))).tanh())

    network = Network()

    captured = capture.compile(network)
    for p in values(30):
        results = []
        for form in (network, captured):
            network.zero_grad()
            network.drop.p = p
            torch.manual_seed(0)
            loss = form(X).sum()
            loss.backward()
            results.append((loss.detach(), network.first.weight.grad.clone()))
        torch.testing.assert_close(*results)
    assert all(count <= VALUES_OF_SETTINGS for count in counters["recompiles"].values())
    assert set(counters["graph_breaks"]) == {"changing_number"}


def test_an_error_of_the_operation_is_that_of_eager() -> None:
    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        return F.dropout(x * 2, p) * 3

    check(program, [(X, p) for p in (*values(6), 1.5, -0.25, 0.0, 1.0, float("nan"), float("inf"), 0.3)])
    assert sum(counters["recompiles"].values()) <= VALUES_OF_SETTINGS + 3


def test_a_rate_of_a_dropout_that_drops_nothing_is_checked() -> None:
    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        return torch.dropout(x * 2, p, False) + p

    check(program, [(X, p) for p in (0.5, 1.12, 0.0, 0.7, 2.0, float("nan"), -0.75, 1.0)])


def test_celu_refuses_zero() -> None:
    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        return F.celu(x * 2, p) + torch.celu(x, p) + p

    check(program, [(X, p) for p in (0.5, 1.25, 0.0, -0.7, 2.0, 0.0)])


def test_a_handler_around_the_operation() -> None:
    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        y = x * 2
        try:
            y = F.dropout(y, p)
        except ValueError as error:
            return y + len(str(error))
        return y * 3

    check(program, [(X, p) for p in (*values(6), 1.5, -0.25, 0.4)])


def test_a_float_that_the_function_changes_itself() -> None:
    class Annealed:
        margin = 1.0

        def loss(self, x: torch.Tensor) -> torch.Tensor:
            self.margin *= 0.9
            return F.triplet_margin_loss(x * 2, x, x + 1, margin=self.margin) * 3

    eager, other = Annealed(), Annealed()
    captured = capture.compile(other.loss)
    for _ in range(CALLS):
        torch.testing.assert_close(captured(X), eager.loss(X))
        assert other.margin == eager.margin
    assert sum(counters["recompiles"].values()) <= VALUES_OF_SETTINGS + 1
    assert counters["graph_breaks"]["changing_number"]


def test_what_glances_have_seen_counts() -> None:
    """Python ran the function with many values: the first capture breaks."""

    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        return F.pad(x * 2, (1, 1), value=p) * 3

    history, code = SizeHistory(), program.__code__
    for p in values():
        glances.note(history, SimpleNamespace(code=code, locals=(X, p), function=program), None)
    frame = SimpleNamespace(code=code, locals=(X, 0.5), function=program)
    glances.tell(history, frame)
    policy = SizePolicy(None, history.of(frame), may_break=True)
    assert policy.is_dynamic_float(0.5, LocalSource("p"), lambda source: False)
    assert policy.breaks_at_float(LocalSource("p"), code, 4)
    assert not SizePolicy(None, history.of(frame)).breaks_at_float(LocalSource("p"), code, 4)


def test_a_whole_graph_has_a_guard() -> None:
    """Under fullgraph a break is an error: each value has a capture, up to the limit."""

    def program(x: torch.Tensor, p: float) -> torch.Tensor:
        return F.pad(x * 2, (1, 1), value=p) * 3

    count = config.recompile_limit
    check(program, [(X, p) for p in values(count)], fullgraph=True)
    assert not counters["graph_breaks"] and sum(counters["recompiles"].values()) == count - 1
    with pytest.raises(capture.RecompileLimitExceeded):
        capture.compile(program, fullgraph=True)(X, -1.0)


def test_the_next_process_knows_the_values() -> None:
    seen, other = Seen(), Seen()
    seen.floats["p"] = {0.1, 0.3, 0.2}
    other.learn(seen.as_data())
    assert other.floats == seen.floats
