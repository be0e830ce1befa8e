"""The values that the forward saves for the backward."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import fx

from codegen.autograd.joint_graph import trace_joint
from codegen.autograd.partition import BackwardPart, Parts, partition
from codegen.fake.fake import fake_mode

aten = torch.ops.aten


def parts_of(function: Any, *inputs: Any) -> Parts:
    mode = fake_mode()
    joint = trace_joint(fx.symbolic_trace(function), inputs, mode)
    with mode:
        return partition(joint)


def backward(parts: Parts) -> BackwardPart:
    """Its only part."""
    [part] = parts.backward
    return part


def extra(parts: Parts) -> list[Any]:
    """The operators whose results are saved but are not results of the module."""
    outputs = next(node for node in parts.forward.nodes if node.op == "output").args[0]
    return [node.target for node in outputs[parts.result_count :]]


def calls(graph: fx.Graph) -> list[Any]:
    return [node.target for node in graph.nodes if node.op == "call_function"]


def leaf(*shape: int) -> torch.Tensor:
    return torch.randn(shape, requires_grad=True)


def test_a_product_saves_its_operands() -> None:
    parts = parts_of(lambda x, w: (x @ w,), leaf(3, 4), leaf(4, 5))
    assert (
        backward(parts).saved_inputs == [0, 1] and backward(parts).saved_results == [] and extra(parts) == []
    )


def test_one_gradient_saves_one_operand() -> None:
    parts = parts_of(lambda x, w: (x * w,), torch.randn(3), leaf(3))
    assert backward(parts).saved_inputs == [0] and backward(parts).saved_results == []


def test_a_result_that_the_backward_reads_is_saved_as_it_is() -> None:
    parts = parts_of(lambda x: (x.exp(),), leaf(3))
    assert backward(parts).saved_inputs == [] and backward(parts).saved_results == [0] and extra(parts) == []


def test_cheap_values_are_computed_again_from_what_is_saved() -> None:
    parts = parts_of(lambda x, w: ((x * w).sin() * (x * w).cos(),), leaf(3), leaf(3))
    assert backward(parts).saved_inputs == [0, 1] and extra(parts) == []
    assert aten.sin.default in calls(backward(parts).graph)


def test_inputs_that_eager_would_not_save_are_not_saved() -> None:
    parts = parts_of(lambda x, y: ((x + y).exp().sum(),), leaf(3), torch.randn(3))
    assert backward(parts).saved_inputs == [] and extra(parts) == [aten.exp.default]


def test_products_and_reductions_are_not_computed_again() -> None:
    parts = parts_of(lambda x, w: (F.softmax((x @ w).relu(), 1).sum(),), leaf(3, 4), leaf(4, 5))
    assert aten.mm.default in calls(parts.forward)
    for target in (aten.amax.default, aten.exp.default):
        assert calls(parts.forward).count(target) == 1
    assert aten.amax.default not in calls(backward(parts).graph)


def test_the_base_of_a_view_is_saved() -> None:
    parts = parts_of(lambda x, w, b: (F.linear(x, w, b).relu(),), leaf(3, 4), leaf(5, 4), leaf(5))
    assert backward(parts).saved_inputs == [0, 1] and extra(parts) == []
    parts = parts_of(lambda x: (x[0] * x[1],), leaf(2, 3))
    assert backward(parts).saved_inputs == [0] and extra(parts) == []


def test_a_part_of_something_that_is_not_stored_is_saved_alone() -> None:
    parts = parts_of(lambda x, y: ((x * 2)[:1] * y,), leaf(9), leaf(1))
    assert extra(parts) == [aten.slice.Tensor]


def test_random_draws_are_saved() -> None:
    parts = parts_of(lambda x: (F.dropout(x, 0.5, True),), leaf(3))
    drawn = [target for target in calls(parts.forward) if not hasattr(target, "_schema")]
    assert len(drawn) == 1
    assert not [target for target in calls(backward(parts).graph) if not hasattr(target, "_schema")]


def test_the_smaller_of_two_that_make_each_other_is_saved() -> None:
    half = torch.bfloat16
    x, w = torch.randn(8, 8).to(half).requires_grad_(), torch.randn(8, 8).to(half).requires_grad_()
    parts = parts_of(lambda x, w: (F.gelu((x @ w).float()),), x, w)
    assert extra(parts) == [aten.mm.default]
    assert aten._to_copy.default in calls(backward(parts).graph)


def test_a_mask_is_saved_in_place_of_what_it_is_made_of() -> None:
    parts = parts_of(
        lambda x, w, m: (torch.where((x @ w).sum(-1, keepdim=True) > 0, x, 0.0),),
        leaf(8, 8),
        torch.randn(8, 8),
        leaf(8),
    )
    assert sum(node.meta["val"].numel() for node in parts.forward.nodes if node.target is aten.gt.Scalar) == 8
    assert extra(parts) == [aten.gt.Scalar]


def test_nothing_is_saved_that_the_program_sees_and_eager_does_not_keep() -> None:
    def function(x: Any, w: Any) -> Any:
        half = (x @ w).bfloat16()
        return half, F.gelu(half.float())

    parts = parts_of(function, leaf(8, 8), leaf(8, 8))
    assert not any(0 in part.saved_results for part in parts.backward) and extra(parts) == [
        aten._to_copy.default
    ]


def test_the_graphs_fit_together() -> None:
    parts = parts_of(
        lambda x, w, b: (F.linear(x, w, b).relu().sum(), x > 0), torch.randn(2, 3), leaf(4, 3), leaf(4)
    )
    part = backward(parts)
    placeholders = [node for node in part.graph.nodes if node.op == "placeholder"]
    assert len(placeholders) == len(part.saved_inputs) + len(part.saved_results) + len(part.slots)
    assert part.edges == [2, 1]
    parts.forward.lint()
    part.graph.lint()


def test_each_part_saves_what_eager_saves_for_its_result() -> None:
    def function(x: Any, w: Any) -> Any:
        h = x * w
        return h, h.abs().max(), h * 0.2

    parts = parts_of(function, leaf(3), leaf(3))
    saved = {part.slots[0]: (part.saved_inputs, part.saved_results) for part in parts.backward}
    assert saved[0] == ([0, 1], []) and saved[2] == ([], [])
    assert saved[1][1][:1] == [0]  # h, for abs


def test_what_runs_as_a_call_is_not_computed_again() -> None:
    """Kernels read no complex numbers: a second `exp` of them is a second call. That of floats fuses."""

    def program(x: torch.Tensor) -> tuple[torch.Tensor]:
        return (((x + 1).exp() * x.angle()).abs(),)

    complex_leaf = torch.randn(3, dtype=torch.complex64, requires_grad=True)
    assert not {aten.exp.default, aten.angle.default} & {
        *calls(backward(parts_of(program, complex_leaf)).graph)
    }
    assert aten.exp.default in calls(backward(parts_of(program, leaf(3))).graph)
