"""Each result of a graph is a node of autograd's graph, as in eager: hooks, and backwards through results."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import fx

import capture
from codegen.autograd.joint_graph import trace_joint
from codegen.autograd.partition import BackwardPart, partition
from codegen.fake.fake import fake_mode
from tests.codegen.autograd.in_python import python_nodes

Program = Callable[..., Any]
Log = list[tuple[str, Any]]


def parts_of(function: Program, *shapes: tuple[int, ...]) -> list[BackwardPart]:
    mode = fake_mode()
    leaves = [torch.ones(shape, requires_grad=True) for shape in shapes]
    joint = trace_joint(fx.symbolic_trace(function), leaves, mode)
    with mode:
        return partition(joint).backward


def test_a_result_behind_another_is_an_edge() -> None:
    first, second = parts_of(lambda x, w: ((x * w).exp().sum(), x * w), (3,), (3,))[:2]
    assert first.slots == [0] or second.slots == [0]
    h, loss = parts_of(chain, (3,), (3,))
    assert h.slots == [1] and loss.slots == [0]
    assert loss.edges == [2] and sorted(h.edges) == [0, 1]


def chain(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    h = x * w
    return h.pow(2).sum(), h


def heads(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    trunk = (x @ w).tanh()
    return trunk.sin().sum(), trunk.square().mean()


def apart(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.exp().sum(), (w * w).sum()


def after_each_other(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a = x.sin()
    b = (a @ w).tanh()
    c = (b + a).softmax(1)
    return a, b, c, (c * x).sum()


def parts(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Two results of one operation, and one more of both."""
    variance, mean = torch.var_mean(x * w, 0)
    return variance, mean, (variance * mean).sum()


def infinite(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The derivative of the square root is infinite at 0: no zero may be multiplied by it."""
    zero = x - x
    return zero.sqrt(), zero * w, (zero + 1).log() * w


def view_of_input(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    row = x.t()[1]
    return row, (w * row).sum()


def view_of_result(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a = x.exp()
    flat = a.view(-1)
    b = flat.sin() * w.reshape(-1)
    return a, flat, b, (b * flat).sum() + a.sum()


def view_of_view(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    columns = x.t()
    column = columns[0]
    return columns, column, (columns.square() @ column * w[0]).sum()


def halves(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Two results of one call, as the encoder of a VAE has them."""
    mean, scale = (x @ w).chunk(2, 1)
    return mean, scale, (mean[:, :1] * scale.exp()).sum()


def first_of_several(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Only one of the views of a call is a result, and the others lead on, too."""
    a, b, c = x.unbind()
    return a, (a * b * c.cos() * w).sum()


def two_stages(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a = (x * w).tanh()
    turned = a.t()
    b = turned @ x
    low, high = b.split([1, 2])
    return a, turned, low, high, (low * high).sum()


def test_steps_behind_several_results_are_a_part_of_their_own() -> None:
    trunk, *rest = parts_of(heads, (3, 3), (3, 3))
    assert trunk.slots == [None] and len(rest) == 2
    assert [part.edges for part in rest] == [[2], [2]] and sorted(trunk.edges) == [0, 1]
    assert [part.slots for part in parts_of(apart, (3,), (3,))] == [[0], [1]]


VIEWS = [view_of_input, view_of_result, view_of_view, halves, first_of_several, two_stages]
PROGRAMS = [chain, heads, apart, after_each_other, parts, infinite, *VIEWS]


def leaves() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]


def watched(fn: Program, x: torch.Tensor, w: torch.Tensor, log: Log) -> list[torch.Tensor]:
    results = list(fn(x, w))
    for i, result in enumerate(results):
        result.register_hook(lambda grad, i=i: log.append((f"hook {i}", copy_of(grad))))
        result.retain_grad()
    return results


def copy_of(grad: torch.Tensor | None) -> torch.Tensor | None:
    """Eager calls a hook with None where the operation has another result, from which the backward comes."""
    return None if grad is None else grad.clone()


def from_each(fn: Program, log: Log) -> None:
    """Results start a backward one by one; hooks of the others stay silent."""
    x, w = leaves()
    for start in range(len(fn(x, w))):
        results = watched(fn, x, w, log)
        results[start].sum().backward()
        log += [("retained", result.grad) for result in results]
    log += [("x", x.grad), ("w", w.grad)]


def from_all(fn: Program, log: Log) -> None:
    x, w = leaves()
    results = watched(fn, x, w, log)
    sum(result.sum() * (i + 1) for i, result in enumerate(results)).backward()
    log += [("retained", result.grad) for result in results] + [("x", x.grad), ("w", w.grad)]


def of_results(fn: Program, log: Log) -> None:
    """Gradients of one result by another."""
    x, w = leaves()
    results = fn(x, w)
    for of in results:
        for by in (*results, x, w):
            grads = torch.autograd.grad(of.sum(), by, retain_graph=True, allow_unused=True)
            log.append(("grad", grads[0]))


def with_changed_gradients(fn: Program, log: Log) -> None:
    """The hooks of a result change what goes on behind it."""
    x, w = leaves()
    results = fn(x, w)
    for i, result in enumerate(results):
        result.register_hook(lambda grad, i=i: grad * (i + 2))
    results[-1].sum().backward(inputs=[w], retain_graph=True)
    sum(result.sum() for result in results).backward()
    log += [("x", x.grad), ("w", w.grad)]


def second_derivatives(fn: Program, log: Log) -> None:
    x, w = leaves()
    results = fn(x, w)
    for result in results:
        result.register_hook(lambda grad: grad * 2)
    total = sum(result.sum() for result in results)
    grads = torch.autograd.grad(total, (x, w, results[0]), create_graph=True)
    log += [("grad", grad.detach()) for grad in grads]
    sum((grad * grad).sum() for grad in grads).backward()
    log += [("x", x.grad), ("w", w.grad)]


USES = [from_each, from_all, of_results, with_changed_gradients, second_derivatives]


@pytest.mark.parametrize("native", [True, False], ids=["native", "in Python"])
@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_eager(program: Program, use: Callable[[Program, Log], None], native: bool) -> None:
    if use is second_derivatives and program is infinite:
        pytest.skip("its second derivative is not finite")
    compiled = capture.compile(program, fullgraph=True)
    with python_nodes(not native):
        for _ in range(2):
            expected: Log = []
            found: Log = []
            use(program, expected)
            use(compiled, found)
            assert [name for name, _ in found] == [name for name, _ in expected]
            for (name, mine), (_, other) in zip(found, expected):
                assert (mine is None) == (other is None), name
                if other is not None:
                    torch.testing.assert_close(mine, other, equal_nan=True, msg=name)


OF_THREE_ROWS = [first_of_several, two_stages]


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p not in OF_THREE_ROWS], ids=lambda p: p.__name__)
def test_with_sizes_that_change(program: Program) -> None:
    def rows(fn: Program, count: int) -> list[torch.Tensor | None]:
        torch.manual_seed(count)
        x, w = (torch.randn(count, count, requires_grad=True) for _ in range(2))
        results = fn(x, w)
        by_result = torch.autograd.grad(results[-1].sum(), results[0], retain_graph=True, allow_unused=True)
        for result in results:
            result.sum().backward(retain_graph=True)
        return [x.grad, w.grad, *by_result]

    compiled = capture.compile(program, dynamic=True)
    for count in (3, 4, 5, 3):
        torch.testing.assert_close(rows(compiled, count), rows(program, count), equal_nan=True)


def grad_cam(features: Program, head: Program, images: torch.Tensor) -> torch.Tensor:
    """The gradients of a class at the last feature map, as the method takes them."""
    activations = features(images)
    activations.retain_grad()
    head(activations)[:, 0].sum().backward()
    return activations.grad.mean((2, 3), keepdim=True)  # type: ignore[union-attr]


def test_grad_cam_on_what_one_call_returns() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, 3))
    head = torch.nn.Linear(4, 2)

    def both(images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        maps = net(images)
        return head(maps.relu().mean((2, 3))), maps

    def weights(fn: Program) -> tuple[torch.Tensor, torch.Tensor]:
        seen: list[torch.Tensor] = []
        scores, maps = fn(torch.ones(2, 3, 8, 8))
        maps.register_hook(seen.append)
        maps.retain_grad()
        scores[:, 0].sum().backward()
        return maps.grad, seen[0]

    torch.testing.assert_close(weights(capture.compile(both)), weights(both))
    compiled = capture.compile(grad_cam)
    torch.testing.assert_close(compiled(net, head_of(head), images()), grad_cam(net, head_of(head), images()))


def head_of(linear: torch.nn.Module) -> Program:
    return lambda maps: linear(maps.relu().mean((2, 3)))


def images() -> torch.Tensor:
    return torch.full((2, 3, 8, 8), 0.5)


def test_a_hook_of_the_program_on_a_result() -> None:
    """It belongs to the result's own node: it runs once, and only where a gradient comes."""

    def program(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        h = x.exp()
        h.register_hook(lambda grad: grad * 3)
        z = h * w
        z.register_hook(lambda grad: grad + 1)
        return h, z.sum(), (z * h).sum(), w.sin()

    compiled = capture.compile(program, fullgraph=True)
    for used in range(4):
        grads = []
        for fn in (program, compiled):
            x, w = leaves()
            fn(x, w)[used].sum().backward()
            grads.append([x.grad, w.grad])
        torch.testing.assert_close(grads[1], grads[0])


def test_what_no_gradient_reads_is_not_checked() -> None:
    """The maximum is read by the program alone; its backward would need the values before the write."""

    def program(x: torch.Tensor) -> torch.Tensor:
        t = x * 1.0
        largest = t.abs().max().item()
        r = t * 0.2
        t.mul_(0.5)
        return r if largest > 0 else t

    compiled = capture.compile(program)
    for _ in range(2):
        grads = []
        for fn in (program, compiled):
            x, _ = leaves()
            fn(x).pow(2).mean().backward()
            grads.append(x.grad)
        torch.testing.assert_close(grads[1], grads[0])


def test_results_of_one_graph_are_freed() -> None:
    """No node holds a result that leads to it."""
    for program in PROGRAMS:
        x, w = leaves()
        for in_python in (False, True):
            compiled = capture.compile(program)
            with python_nodes(in_python):
                compiled(x, w)
                results = compiled(x, w)
                watches = [weakref.ref(result.untyped_storage()) for result in results]
                results[-1].sum().backward(retain_graph=True)
                steps = [weakref.ref(result) for result in results]
            del results
            if in_python:
                gc.collect()
            capture.reset()
            assert not any(step() is not None for step in steps), program
            del watches


def test_a_part_of_the_forward_s_memory_may_be_written_to() -> None:
    def program(x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return (x @ c)[1:]

    compiled = capture.compile(program)
    grads = []
    for fn in (program, compiled):
        x, c = leaves()
        result = fn(x, c)
        with torch.no_grad():
            result.mul_(2)
        (result * result).sum().backward()
        grads.append([result.detach(), x.grad, c.grad])
    torch.testing.assert_close(grads[1], grads[0])


class Tied(torch.nn.Module):
    """One weight before and behind a recurrent layer, whose states are results."""

    def __init__(self, kind: type[torch.nn.RNNBase]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(10, 8))
        self.layer = kind(8, 8, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        y, state = self.layer(self.weight[x])
        return (y.relu() @ self.weight.t()).log_softmax(-1), state


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_a_weight_on_both_sides_of_a_result(kind: type[torch.nn.RNNBase]) -> None:
    """Steps of recurrent layers compute gradients also where none has come: they must not run twice."""
    torch.manual_seed(0)
    module = Tied(kind)
    x = torch.randint(0, 10, (5, 3))

    def gradients(function: Any) -> list[torch.Tensor]:
        module.zero_grad()
        function(x)[0].sum(0).square().mean().backward()
        return [parameter.grad.clone() for parameter in module.parameters()]

    compiled = capture.compile(module)
    for _ in range(2):
        torch.testing.assert_close(gradients(compiled), gradients(module))


def test_a_weight_on_both_sides_of_attention() -> None:
    """The step of attention asks for its gradient: it is called without one behind the border of a part."""

    def tied(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        query = (x @ weight).view(2, 5, 4, 4).transpose(1, 2)
        found = torch.nn.functional.scaled_dot_product_attention(query, query * 2, query * 3)
        return found.transpose(1, 2).reshape(2, 5, 16) @ weight, found.exp()

    x, weight = torch.randn(2, 5, 16), (torch.randn(16, 16) * 0.1).requires_grad_()

    def gradients(function: Any, wanted: slice) -> list[torch.Tensor]:
        return list(torch.autograd.grad(sum(y.sum() for y in function(x, weight)[wanted]), [weight]))

    compiled = capture.compile(tied)
    for wanted in (slice(0, 2), slice(0, 1), slice(1, 2)):
        with capture.config.patch(raise_on_error=True):
            found = gradients(compiled, wanted)
        torch.testing.assert_close(found, gradients(tied, wanted))
