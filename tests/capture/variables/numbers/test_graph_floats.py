"""Numbers of tensors that an operation on tensors needs: they stay in the graph."""

from __future__ import annotations

import copy
import random

import pytest
import torch
from torch import nn

import capture
from tests.capture.test_cases import same

X = torch.arange(1.0, 13.0).reshape(3, 4)


def scaled(x, n):
    return x * n.item(), n.item() - x, x.add(x, alpha=float(n)), x.half() / n.item()


def among_elements(x, n):
    losses = torch.zeros(3)
    losses[1] = n.item()
    losses.masked_fill_(losses > 2, n.item() / 2)
    return losses, x.clamp(max=n.item()), torch.full((2,), n.item()), torch.where(x > 3, n.item(), x)


def among_integers(x, n):
    counts = torch.zeros(3, dtype=torch.int64)
    counts[1] = n.item()
    return counts.fill_(n.item() * 2), x + 1


def mean_of_means(x, n):
    n.add_(1)
    return x * (1.0 / float(n))


def in_try(x, n):
    n.add_(1)
    try:
        return x * (1.0 / float(n))
    except ZeroDivisionError:
        return x + 7


def printed_before(x, n):
    n.add_(1)
    print("one line")
    return x * (1.0 / float(n))


def written_after_the_read(x, n):
    before = n.item()
    n.add_(1)
    return x * before


def of_large_ints(x, n):
    return x.double() * (n.item() / 7), x.double() * (1.5 * n.item())


def with_a_gradient(x, n):
    x = x.clone().requires_grad_()
    (x * x.mean().item() / float(n)).sum().backward()
    return x.grad


def decided(x, n):
    rate = 1.0 / float(n)
    y = x * rate
    return y + 1 if rate > 0.3 else y - 1


def drawn(x, n):
    return x * (1.0 / (random.random() * 0.0))


PROGRAMS = (
    scaled,
    among_elements,
    among_integers,
    mean_of_means,
    in_try,
    printed_before,
    written_after_the_read,
    of_large_ints,
)
PROGRAMS += (with_a_gradient, decided, drawn)
VALUES = (torch.tensor(3), torch.tensor(4), torch.tensor(-1), torch.tensor(0), torch.tensor(2**60 + 1))


def outcome(function, x, n):
    random.seed(3)
    try:
        result = function(x, n)
    except ZeroDivisionError as error:
        result = str(error)
    return result, n, random.random()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_results_and_errors_are_those_of_eager(program, capsys) -> None:
    capture.reset()
    captured = capture.compile(program)
    for value in VALUES:
        expected = outcome(program, X, value.clone())
        text = capsys.readouterr().out
        assert same(outcome(captured, X, value.clone()), expected)
        assert capsys.readouterr().out == text


@pytest.mark.parametrize("program", [scaled, among_elements, mean_of_means])
def test_no_break(program) -> None:
    capture.reset()
    captured = capture.compile(program)
    for value in (3.0, 4.0):
        captured(X, torch.tensor(value))
    assert capture.counters["graphs"]["compiled"] == 1
    assert not capture.counters["graph_breaks"] and not capture.counters["recompiles"]


@pytest.mark.filterwarnings("ignore:This overload")
def test_a_factor_in_front_of_the_other_tensor_is_in_the_graph(recwarn) -> None:
    """An old form of torch, which optimizers still have."""

    def step(x, n):
        return x.clone().add_(n.item(), x * x), x.sub(float(n), x * 3)

    captured = capture.compile(step)
    for value in (3.0, 4.5):
        n = torch.tensor(value, dtype=torch.float64)
        assert same(captured(X, n), step(X, n))
    assert not any(issubclass(warning.category, capture.CaptureWarning) for warning in recwarn)


@pytest.mark.parametrize("momentum", [None, 0.3])
def test_momentum_of_a_batch_norm_that_changes(momentum) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4, momentum=momentum), nn.ReLU())
    other, x = copy.deepcopy(net), torch.randn(5, 3, 2, 6, 6)
    capture.reset()
    captured = capture.compile(net)
    for batch in x:
        assert torch.allclose(captured(batch), other(batch), atol=1e-5)
        for mine, theirs in zip(net.buffers(), other.buffers(), strict=True):
            assert torch.allclose(mine, theirs, atol=1e-5)
        if momentum is not None:
            net[1].momentum = other[1].momentum = net[1].momentum * 0.7
    assert capture.counters["graphs"]["compiled"] == (1 if momentum is None else 2)
    assert not capture.counters["graph_breaks"]


def not_definite_after_the_write(x, n):
    n.add_(1.0)
    return torch.linalg.cholesky(x * n) + 1


@pytest.mark.parametrize("backend", ["llvm", "eager"])
def test_an_error_that_depends_on_what_was_written_before_is_the_programs(backend) -> None:
    """What raises after `n` was -1 does not raise again, now that it is 0."""
    capture.reset()
    captured, identity = capture.compile(not_definite_after_the_write, backend=backend), torch.eye(3)
    captured(identity, torch.tensor(1.0))
    n = torch.tensor(-1.0)
    with pytest.raises(torch.linalg.LinAlgError):
        captured(identity, n)
    assert n == 0
