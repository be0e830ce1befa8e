"""The answers of trace_joint about outputs, tangents and gradients."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import fx

import capture
from codegen.autograd.joint_graph import Joint, trace_joint
from codegen.autograd.replay import Views
from codegen.compile_fx import compile_fx
from codegen.fake.fake import fake_mode
from codegen.kernel.errors import UntraceableError


def joint_of(function: Any, *inputs: Any) -> Joint:
    return trace_joint(fx.symbolic_trace(function), inputs, fake_mode())


def leaf(*shape: int) -> torch.Tensor:
    return torch.randn(shape, requires_grad=True)


def test_without_gradients_there_is_no_backward() -> None:
    joint = joint_of(lambda x: (x * 2,), torch.randn(3))
    assert not joint.is_training
    with torch.no_grad():
        assert not joint_of(lambda x: (x * 2,), leaf(3)).is_training


def test_tangents_and_grads() -> None:
    joint = joint_of(lambda x, y, z: ((x * y).sum(), z > 0, x.exp()), leaf(3), torch.randn(3), leaf(2))
    assert [segment.results for segment in joint.segments] == [[0], [2]]
    assert joint.differentiable() == [0, 2]
    assert [[joint.inputs[edge] for edge in segment.edges] for segment in joint.segments] == [[0], [0]]
    assert joint.outputs == [("result", 0), ("result", 1), ("result", 2)]


def test_kinds_of_outputs() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        return x, x.t(), x.detach(), y, y[0], 3, None

    joint = joint_of(function, leaf(3, 3))
    itself, view, detached, base, row, number, nothing = joint.outputs
    assert (
        itself == ("input", 0)
        and base == ("result", 0)
        and number == ("constant", 3)
        and nothing == ("constant", None)
    )
    assert [view, detached, row] == [("view", 0), ("view", 1), ("view", 2)]
    assert [(each.source, each.base, each.detach) for each in joint.views] == [
        ("input", 0, False),
        ("input", 0, True),
        ("result", 0, False),
    ]
    assert len(joint.results) == 1


def test_a_replayed_view_is_eagers_view() -> None:
    joint = joint_of(lambda x: (x * 2, x[1:].t()), leaf(3, 4))
    x = leaf(3, 4)
    view = Views(joint.views, [x], []).view(0)
    expected = x[1:].t()
    assert view.stride() == expected.stride() and view._base is x and view.data_ptr() == expected.data_ptr()
    assert type(view.grad_fn) is type(expected.grad_fn)


def test_gradients_of_non_leaf_inputs() -> None:
    joint = joint_of(lambda x: (x.exp(),), leaf(3) * 2)
    assert len(joint.segments[0].grads) == 1


def test_write_to_an_input_that_requires_grad_is_refused() -> None:
    with pytest.raises(UntraceableError, match="requires grad"):
        joint_of(lambda x, y: (x.mul_(y), x + 1), leaf(3) * 1, torch.randn(3))


def test_differentiable_write_is_copied_outside_of_the_graph() -> None:
    """The input does not require grad before the write, but does after it."""
    joint = joint_of(lambda x, y: (y.mul_(x), y + 1), leaf(3), torch.randn(3))
    assert joint.outputs == [("input", 1), ("result", 0)] and joint.writes == [(1, 1)]
    assert set(joint.inputs.values()) == {0}
    assert not any(node.target is torch.ops.aten.copy_.default for node in joint.trace.graph.nodes)


class TimesTen(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 10


def times_ten(x: torch.Tensor) -> torch.Tensor:
    return TimesTen.apply(x)  # type: ignore[no-any-return]


def module_of(function: Any, count: int) -> fx.GraphModule:
    """`function` is one call: symbolic tracing does not follow custom functions."""
    graph = fx.Graph()
    places = [graph.placeholder(f"x{i}") for i in range(count)]
    graph.output((graph.call_function(function, tuple(places)),))
    return fx.GraphModule(torch.nn.Module(), graph)


def test_a_view_with_a_gradient_of_its_own_runs_eagerly() -> None:
    x = leaf(3)
    compiled = compile_fx(module_of(times_ten, 1), [x])
    compiled(x)[0].sum().backward()
    assert x.grad is not None and torch.equal(x.grad, torch.full((3,), 10.0))


def test_a_write_to_shared_inputs_runs_eagerly() -> None:
    x = torch.zeros(3)
    compiled = compile_fx(module_of(lambda a, b: a.add_(1) + b, 2), [x, x[:]])
    assert torch.equal(compiled(x, x[:])[0], torch.full((3,), 2.0))


def test_a_write_through_data_keeps_the_version() -> None:
    graph = fx.Graph()
    data = graph.call_function(getattr, (graph.placeholder("x"), "data"))
    graph.output((graph.call_method("mul_", (data, 2)),))
    x = torch.ones(3)
    compiled = compile_fx(fx.GraphModule(torch.nn.Module(), graph), [x])
    assert torch.equal(compiled(x)[0], x) and torch.equal(x, torch.full((3,), 2.0)) and x._version == 0


def test_a_hook_on_a_view_runs_eagerly() -> None:
    def hooked(x: torch.Tensor) -> torch.Tensor:
        view = x.view(-1)
        view.register_hook(lambda grad: grad * 2)
        return view

    x = leaf(3)
    compile_fx(module_of(hooked, 1), [x])(x)[0].sum().backward()
    assert x.grad is not None and torch.equal(x.grad, torch.full((3,), 2.0))


def test_the_anomaly_mode_of_the_program_is_not_that_of_the_trace() -> None:
    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x @ w).sin()

    x, w = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        capture.compile(program)(x, w).sum().backward()
    expected = torch.autograd.grad(program(x, w).sum(), x)[0]
    torch.testing.assert_close(x.grad, expected)
