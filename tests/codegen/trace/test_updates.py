"""Fused optimizers in a graph: one function for each parameter, which computes what torch's loops compute."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import fx
from torch.optim import adam as torch_adam
from torch.optim import sgd as torch_sgd

from codegen.compile_fx import compile_fx
from codegen.launch.compiled import EagerGraph
from codegen.trace import updates

SHAPES = [(7, 5), (33,), (), (0, 3), (64, 64)]
ADAM = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8, "maximize": False}
SGD = {
    "lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "dampening": 0.2, "nesterov": False, "maximize": False,
}  # fmt: skip


def lists(count: int, dtype: torch.dtype = torch.float32) -> list[list[torch.Tensor]]:
    torch.manual_seed(0)
    made = [[torch.randn(shape, dtype=dtype) for shape in SHAPES] for _ in range(count)]
    return [*made[:3], *([t.square() for t in tensors] for tensors in made[3:])]


def steps() -> list[torch.Tensor]:
    return [torch.tensor(float(3 + i)) for i in range(len(SHAPES))]


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("changed", [{}, {"maximize": True, "weight_decay": 0}, {"beta1": 0.3, "beta2": 0.4}])
def test_adam_is_the_loop_of_torch(amsgrad: bool, decoupled: bool, changed: dict[str, Any]) -> None:
    options = ADAM | changed
    given = lists(5 if amsgrad else 4)
    written = copy.deepcopy(given)
    torch_adam._single_tensor_adam(
        *written, *([] if amsgrad else [[]]), steps(), None, None, amsgrad=amsgrad, has_complex=False,
        capturable=False, differentiable=False, decoupled_weight_decay=decoupled, **options,
    )  # fmt: skip
    for i, step in enumerate(steps()):
        tensors = [items[i] for items in given]
        largest = tensors.pop() if amsgrad else None
        made = updates.adam(*tensors, largest, step + 1, decoupled=decoupled, **options)
        expected = [items[i] for j, items in enumerate(written) if j != updates.GRADS]
        assert all(map(torch.equal, made, expected)) and len(made) == len(expected)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("momentum", [0, 0.9])
def test_sgd_is_the_loop_of_torch(nesterov: bool, momentum: float) -> None:
    options = SGD | {"momentum": momentum, "nesterov": nesterov and momentum != 0}
    given = lists(3 if momentum else 2)
    written = copy.deepcopy(given)
    buffers = written[2] if momentum else [None] * len(SHAPES)
    torch_sgd._single_tensor_sgd(
        written[0], written[1], buffers, None, None, has_sparse_grad=False, **options
    )
    for i in range(len(SHAPES)):
        tensors = [items[i] for items in given] + ([] if momentum else [None])
        made = updates.sgd(*tensors, is_first_step=False, **options)
        expected = [items[i] for j, items in enumerate(written) if j != updates.GRADS]
        assert all(map(torch.equal, made, expected)) and len(made) == len(expected)


def graph_of(op: Any, counts: list[int], options: dict[str, Any], with_rate: bool = False) -> fx.GraphModule:
    """`op` on lists of so many placeholders; the rate is one more, if it is a tensor."""
    graph = fx.Graph()
    given = [[graph.placeholder(f"l{i}_{j}") for j in range(count)] for i, count in enumerate(counts)]
    rate = {"lr": graph.placeholder("lr")} if with_rate else {}
    graph.call_function(op, tuple(given), options | rate)
    graph.output(())
    return fx.GraphModule(torch.nn.Module(), graph)


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("with_rate", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_fused_adam_is_native(kernels: bool, dtype: torch.dtype, with_rate: bool, amsgrad: bool) -> None:
    n = len(SHAPES)
    options = ADAM | {"amsgrad": amsgrad}
    rate = [torch.tensor(options.pop("lr"), dtype=torch.float64)] if with_rate else []
    given = [*lists(5 if amsgrad else 4, dtype), *([] if amsgrad else [[]]), steps()]
    expected, got = copy.deepcopy(given), copy.deepcopy(given)
    keywords = options | ({"lr": rate[0]} if rate else {})
    torch._fused_adamw_(*expected, **keywords)
    gm = graph_of(torch._fused_adamw_, [n] * 4 + [n * amsgrad, n], options, with_rate)
    flat = [tensor for items in got for tensor in items] + rate
    compiled = compile_fx(gm, flat, kernels=kernels)
    assert not isinstance(compiled, EagerGraph)
    compiled(*flat)
    for ours, theirs in zip((t for items in got for t in items), (t for items in expected for t in items)):
        torch.testing.assert_close(ours, theirs)
    assert torch.equal(torch.cat([t.flatten() for t in got[1]]), torch.cat([t.flatten() for t in given[1]]))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("momentum", [0, 0.9])
def test_fused_sgd_is_native(first: bool, momentum: float) -> None:
    n = len(SHAPES)
    options = SGD | {"momentum": momentum, "is_first_step": first and momentum != 0}
    given = [*lists(3 if momentum else 2), *([] if momentum else [[]])]
    expected, got = copy.deepcopy(given), copy.deepcopy(given)
    torch._fused_sgd_(*expected, **options)
    compiled = compile_fx(
        graph_of(torch._fused_sgd_, [n, n, n * bool(momentum)], options), flat := sum(got, [])
    )
    assert not isinstance(compiled, EagerGraph)
    compiled(*flat)
    for ours, theirs in zip(flat, sum(expected, [])):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("why", ["half", "scale", "shapes", "strides", "gaps"])
def test_what_stays_torchs_own(why: str) -> None:
    n = len(SHAPES)
    given = [*lists(4, torch.bfloat16 if why == "half" else torch.float32), [], steps()]
    options = ADAM | {"amsgrad": False}
    gm = graph_of(torch._fused_adamw_, [n] * 4 + [0, n], options)
    flat = sum(given, [])
    if why == "scale":
        scale = gm.graph.placeholder("scale")
        (call,) = gm.graph.find_nodes(op="call_function", target=torch._fused_adamw_)
        call.prepend(scale)
        call.kwargs = {**call.kwargs, "grad_scale": scale}
        gm.recompile()
        flat = [*flat, torch.tensor(2.0)]
    if why == "shapes":
        flat[n] = torch.randn(3)
    if why == "strides":  # the gradient of the first parameter
        flat[n] = flat[n].t().contiguous().t()
    if why == "gaps":
        flat[::n] = [torch.randn(7, 10)[:, ::2] for _ in flat[::n]]
    assert isinstance(compile_fx(gm, flat), EagerGraph)
