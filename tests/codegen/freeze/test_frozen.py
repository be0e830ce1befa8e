"""Graphs with frozen inputs: results, layouts, the called operators, and things that must not change."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx, nn

from codegen.compile_fx import compile_fx

pytest.importorskip("_capture")


def frozen_graph(function: Any, *args: torch.Tensor, frozen: range) -> Any:
    """The graph. Its results and strides are those of eager, twice, on other values of the inputs that are
    not frozen.
    """
    names = ", ".join(f"a{i}" for i in range(len(args)))
    # tracing wants arguments with names
    named = eval(f"lambda {names}: function({names})", {"function": function})
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(named), args, frozen=frozenset(frozen))
        for _ in range(2):
            for actual, expected in zip(graph(*args), function(*args), strict=True):
                assert actual.stride() == expected.stride() and actual.dtype == expected.dtype
                torch.testing.assert_close(actual, expected, rtol=2e-4, atol=2e-4)
            for place, value in enumerate(args):
                if place not in frozen:
                    value.normal_()
    return graph


def calls(graph: Any) -> list[str]:
    return [name.split(".")[1] for name in graph.extern_calls]


def test_what_depends_on_constants_alone_is_computed_once() -> None:
    graph = frozen_graph(
        lambda x, w: (x * w.exp().sum(0),), torch.randn(5, 7), torch.randn(9, 7), frozen=range(1, 2)
    )
    (kernel,) = graph.kernels
    assert "exp" not in graph.loops and "sum" not in graph.loops, kernel


def norm(y: torch.Tensor, mean: Any, var: Any, weight: Any, bias: Any) -> torch.Tensor:
    return F.batch_norm(y, mean, var, weight, bias)


def statistics(channels: int) -> tuple[torch.Tensor, ...]:
    return torch.randn(channels), torch.rand(channels) + 0.5, torch.randn(channels), torch.randn(channels)


CONVOLUTIONS: dict[str, Any] = {
    "plain": (lambda x, w, *s: (norm(F.conv2d(x, w), *s),), (2, 4, 9, 9), (6, 4, 3, 3)),
    "strides and padding": (lambda x, w, *s: (norm(F.conv2d(x, w, None, 2, 1, 2), *s) * 2 - 1,),
                            (2, 4, 11, 9), (6, 4, 3, 3)),
    "with bias": (lambda x, w, *s: (norm(F.conv2d(x, w, s[0]), *s),), (2, 4, 9, 9), (6, 4, 3, 3)),
    "groups": (lambda x, w, *s: (norm(F.conv2d(x, w, None, groups=2), *s),), (2, 4, 9, 9), (6, 2, 3, 3)),
    "one dim": (lambda x, w, *s: (norm(F.conv1d(x, w), *s),), (2, 4, 9), (6, 4, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_batch_norm_goes_into_the_convolution(name: str) -> None:
    torch.manual_seed(0)
    function, data, weight = CONVOLUTIONS[name]
    args = (torch.randn(data), torch.randn(weight), *statistics(weight[0]))
    graph = frozen_graph(function, *args, frozen=range(1, 6))
    assert calls(graph) == ["convolution"] and not graph.kernels


OTHERS: dict[str, Any] = {
    "transposed": (lambda x, w, b: (F.conv_transpose2d(x, w) * b.view(-1, 1, 1),), (2, 4, 5, 5), (4, 6, 3, 3),
                   (6,)),
    "read twice": (lambda x, w, b: ((y := F.conv2d(x, w)) * b.view(-1, 1, 1), y), (2, 4, 5, 5), (6, 4, 3, 3),
                   (6,)),
    "by row": (lambda x, w, b: (F.conv2d(x, w) * b,), (2, 4, 5, 5), (6, 4, 3, 3), (3,)),
    "wider result": (lambda x, w, b: (F.conv2d(x, w) + b.view(7, 1, 1, 1, 1),), (2, 4, 5, 5), (6, 4, 3, 3),
                     (7,)),
    "constant less result": (lambda x, w, b: (b.view(-1, 1, 1) - F.conv2d(x, w),), (2, 4, 5, 5), (6, 4, 3, 3),
                             (6,)),
    "double": (lambda x, w, b: (F.conv2d(x, w) * b.double().view(-1, 1, 1),), (2, 4, 5, 5), (6, 4, 3, 3),
               (6,)),
    "alpha": (lambda x, w, b: (torch.add(F.conv2d(x, w), b.view(-1, 1, 1), alpha=2),), (2, 4, 5, 5),
              (6, 4, 3, 3), (6,)),
    "itself": (lambda x, w, b: ((y := F.conv2d(x, w)) + y,), (2, 4, 5, 5), (6, 4, 3, 3), (6,)),
    "columns of a product": (lambda x, w, b: (torch.addmm(b, x, w) * b - 1,), (3, 5), (5, 4), (4,)),
    "rows of a product": (lambda x, w, b: (torch.addmm(b[:4], x, w) * b.view(4, 1),), (4, 5), (5, 4), (4,)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_things_done_to_channels(name: str) -> None:
    torch.manual_seed(0)
    function, *shapes = OTHERS[name]
    frozen_graph(function, *map(torch.randn, shapes), frozen=range(1, 3))


def test_factors_that_overflow_stay_outside() -> None:
    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        return ((F.conv2d(x, w) / b.view(-1, 1, 1)).isnan(),)

    graph = frozen_graph(
        function,
        torch.randn(1, 2, 5, 5),
        torch.zeros(3, 2, 3, 3),
        torch.tensor([0.0, 1.0, 0.0]),
        frozen=range(1, 3),
    )
    assert graph.kernels


# --- packed weights ---------------------------------------------------------------------------------------


def test_products_are_packed_with_their_activation() -> None:
    torch.manual_seed(0)

    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, v: torch.Tensor) -> Any:
        y = F.gelu(F.linear(x, w, b))
        return F.gelu(F.linear(y, v), approximate="tanh"), F.linear(y, v).relu()

    graph = frozen_graph(
        function,
        torch.randn(64, 320),
        torch.randn(256, 320) / 18,
        torch.randn(256),
        torch.randn(384, 256) / 16,
        frozen=range(1, 4),
    )
    assert calls(graph) == ["_linear_pointwise"] * 3 and not graph.kernels


def test_small_products_are_not_packed() -> None:
    graph = frozen_graph(
        lambda x, w: (F.linear(x, w),), torch.randn(4, 64), torch.randn(64, 64), frozen=range(1, 2)
    )
    assert not graph.extern_calls


def block(x: torch.Tensor, w: torch.Tensor, v: torch.Tensor, *s: torch.Tensor) -> torch.Tensor:
    y = F.relu(norm(F.conv2d(x, w, padding=1), *s))
    return F.relu(norm(F.conv2d(y, v, padding=1), *s) + x)


def test_convolutions_are_packed_with_sum_and_activation() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 8, 12, 12).to(memory_format=torch.channels_last)
    args = (x, *(torch.randn(8, 8, 3, 3) / 9 for _ in range(2)), *statistics(8))
    graph = frozen_graph(lambda *args: (block(*args),), *args, frozen=range(1, 7))
    assert not graph.kernels
    assert graph.extern_calls == [f"mkldnn._convolution_pointwise.{form}" for form in ("default", "binary")]


CHAINS: dict[str, Any] = {
    "view": lambda y: (y.view(2, -1), y),
    "flattened": lambda y: (y.flatten(2).transpose(1, 2).contiguous(),),
    "pooled": lambda y: (F.max_pool2d(y, 2), F.avg_pool2d(y, 3, 1), y.mean((2, 3))),
    "split": lambda y: (torch.split(y, 3, 1)[0], torch.split(y, 3, 1)[2]),
    "strided": lambda y: (y.as_strided((2, 3), (5, 2)),),
    "softmax": lambda y: (y.softmax(1), y.permute(0, 2, 3, 1) + 1),
    "no result": lambda y: (y.sum(), y.amax((0, 2))),
    "joined": lambda y: (torch.cat([y, y.relu()], 1),),
    "upsampled": lambda y: (F.interpolate(y, scale_factor=2),),
}  # fmt: skip


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("name", CHAINS)
def test_what_follows_a_packed_convolution_has_eagers_layout(
    name: str, memory_format: torch.memory_format
) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 8, 12, 12).to(memory_format=memory_format)
    if name == "view" and memory_format is torch.channels_last:
        pytest.skip("an error in eager")
    args = (
        x,
        *((torch.randn(8, 8, 3, 3) / 9).to(memory_format=memory_format) for _ in range(2)),
        *statistics(8),
    )
    frozen_graph(lambda *args: CHAINS[name](block(*args)), *args, frozen=range(1, 7))


# --- what stays -------------------------------------------------------------------------------------------


def test_results_that_are_constants_are_made_anew_by_each_call() -> None:
    w = torch.randn(4, 4)
    graph = compile_fx(
        fx.symbolic_trace(lambda x, w: (x + 1, w * 2)), (torch.randn(3), w), frozen=frozenset({1})
    )
    _, first = graph(torch.randn(3), w)
    first.zero_()
    assert torch.equal(graph(torch.randn(3), w)[1], w * 2)


def test_random_numbers_are_drawn_by_each_call() -> None:
    w = torch.zeros(100)
    graph = compile_fx(
        fx.symbolic_trace(lambda x, w: (x + torch.rand_like(w),)),
        (torch.zeros(100), w),
        frozen=frozenset({1}),
    )
    assert not torch.equal(graph(w, w)[0], graph(w, w)[0])


def test_training_graphs_freeze_nothing() -> None:
    layer = nn.Linear(4, 4)
    graph = compile_fx(
        fx.symbolic_trace(lambda x, w, b: (F.linear(x, w, b),)),
        (torch.randn(3, 4), layer.weight, layer.bias),
        frozen=frozenset({1, 2}),
    )
    (out,) = graph(torch.ones(3, 4), layer.weight, layer.bias)
    out.sum().backward()
    assert torch.equal(layer.weight.grad, torch.full((4, 4), 3.0))
