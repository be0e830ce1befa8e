"""One compilation for many sizes: its results, its refusals, and that new sizes compile nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.backends.sized_graph import SizedGraph
from capture.report.config import config
from codegen.compile_fx import compile_for_sizes
from codegen.dynamic.symbolic_graph import SymbolicGraph
from codegen.launch import jit

SIZES = (2, 3, 7, 16, 31, 64, 100, 1025, 5000)


@pytest.fixture(autouse=True)
def fresh() -> Any:
    capture.reset()
    yield
    capture.reset()


def captured(function: Any, *args: Any) -> tuple[torch.fx.GraphModule, list[Any]]:
    """The graph with symbolic sizes, and its inputs."""
    seen: list[Any] = []

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        seen.append((module, list(inputs)))
        return module.forward

    capture.compile(function, backend=backend, dynamic=True)(*args)
    [found] = seen
    return found


def test_a_factor_that_is_a_symbol() -> None:
    def scaled(bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor, factor: int) -> torch.Tensor:
        return torch.addmm(bias, left, right, alpha=factor)

    compiled = capture.compile(scaled, dynamic=True)
    with config.patch(raise_on_error=True):
        for factor in (2, 3, 5):
            args = torch.randn(4, 3), torch.randn(4, 6), torch.randn(6, 3), factor
            assert torch.allclose(compiled(*args), scaled(*args), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_a_multiple_that_is_a_symbol(name: str, dtype: torch.dtype) -> None:
    def scaled(x: torch.Tensor, y: torch.Tensor, factor: int) -> torch.Tensor:
        return getattr(torch, name)(x, y, alpha=factor)

    fast = for_all_sizes(scaled)
    for factor in (3, 2, 100):
        args = torch.randn(7).mul(9).to(dtype), torch.randn(7).mul(9).to(dtype), factor
        assert torch.equal(fast(*args), scaled(*args))


def for_all_sizes(function: Any) -> Any:
    """The captured function; an error if a graph of it has to be compiled for one size."""

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        graph = compile_for_sizes(module, inputs)
        assert graph is not None, "no form for all sizes"
        return SizedGraph(lambda: module, inputs, _refuse, graph)

    return capture.compile(function, backend=backend, dynamic=True)


def _refuse(*_: Any) -> Any:
    raise AssertionError("compiled for one size")


def symbolic(function: Any, *args: Any) -> SizedGraph:
    module, inputs = captured(function, *args)
    graph = compile_for_sizes(module, inputs)
    assert graph is not None
    return SizedGraph(lambda: module, inputs, _refuse, graph)


def rows(n: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(n)
    return (torch.randn(n, 24),)


def flat(n: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(n)
    return torch.randn(n), torch.randn(n)


def square(n: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(n)
    return (torch.randn(min(n, 200), min(n, 200) + 3),)


def pictures(n: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(n)
    return (torch.randn(2, 3, min(n, 30) + 8, min(n, 30) + 9),)


PROGRAMS: dict[str, tuple[Any, Any]] = {
    "chain": (lambda x, y: (x * y + 1).tanh() - x, flat),
    "total": (lambda x, y: (x * y).sum(), flat),
    "extremes": (lambda x, y: (x.amax(), (x - y).abs().amin(), x.argmax()), flat),
    "rows": (lambda x: x.sum(-1), rows),
    "columns": (lambda x: x.sum(0), rows),
    "mean_and_variance": (lambda x: (x.mean(0), x.var(1), x.std(0)), rows),
    "softmax": (lambda x: (x.softmax(-1), x.log_softmax(0)), rows),
    "norm": (lambda x: F.layer_norm(x, (x.shape[1],)), rows),
    "long_rows": (lambda x: x.t().contiguous().sum(-1), rows),
    "transposed": (lambda x: x.t() + 1, square),
    "transposed_sum": (lambda x: (x.t() * 2).sum(0), square),
    "views": (lambda x: (x.view(-1) + 1, x.reshape(x.shape[0], -1, 2).sum(-1)), rows),
    "slices": (lambda x: (x[1:] - x[:-1], x[:, 1:], x[: x.shape[0] // 2] * 2), rows),
    "joined": (lambda x: (torch.cat([x, x * 2]), torch.stack([x, x], 1)), rows),
    "broadcast": (lambda x: x[:, None, :] - x[None, :5].sum(1, keepdim=True), rows),
    "product": (lambda x: F.relu(x @ x.t()[:, :3]), square),
    "positions": (lambda x: x + torch.arange(x.shape[0])[:, None], rows),
    "positions_from_a_size": (lambda x: x + torch.arange(x.shape[0] - 1, -1, -1)[:, None] * 0.5, rows),
    "positions_as_floats": (
        lambda x: x + torch.arange(x.shape[0], 3 * x.shape[0], 2, dtype=torch.float32)[:, None],
        rows,
    ),
    "mask_behind_a_prefix": (
        lambda x: (x.triu(x.shape[0] // 2), (x > 0).tril(diagonal=x.shape[1] - 3)),
        rows,
    ),
    "mask": (lambda x: x.masked_fill(torch.ones_like(x).triu(1) > 0, 0), square),
    "gather": (
        lambda x: x[torch.arange(x.shape[0]) % 2] + x.index_select(1, torch.tensor([0, 2]))[:, :1],
        rows,
    ),
    "numbers": (lambda x: (x * x.shape[0] + x.shape[1], x.shape[0] * 2, x.shape[0] + 1), rows),
    "padded": (lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), rows),
    "numbers_to_operators": (lambda x: x.topk(x.shape[0] // 2, 0).values * 2, rows),
    "cumulative": (lambda x: x.cumsum(0), rows),
    "flipped": (lambda x: (x.flip(0), x.roll(1, 0)), rows),
    "repeated": (lambda x: (x.repeat(2, 1), x[None].expand(3, -1, -1) * 2), rows),
    "large_windows": (
        lambda x: (F.max_pool2d(x, 5, 1, 2), F.avg_pool2d(x, 5, 2, ceil_mode=True), F.max_pool3d(x, 3)),
        pictures,
    ),
    "windows_by_results": (lambda x: (F.adaptive_max_pool2d(x, 3), F.adaptive_avg_pool2d(x, 2)), pictures),
    "resampled": (
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=(7, 20), mode="bilinear"),
            F.interpolate(x, size=(x.shape[2] + 1, x.shape[3] * 2), mode="bicubic", align_corners=True),
        ),
        pictures,
    ),
    "reflected": (
        lambda x: (F.pad(x, (2, 1, 1, 2), "reflect"), F.pad(x, (1, 0, 0, 3), "replicate")),
        pictures,
    ),
    "halved_again_and_again": (
        lambda x: F.conv2d(
            F.conv2d(x, torch.ones(4, 3, 3, 3), stride=2, padding=1).tanh() + 1,
            torch.ones(2, 4, 2, 2),
            stride=2,
        ).sum((0, 2), keepdim=True),
        pictures,
    ),
    "an_input_and_its_view": (lambda x: (x, x[1:]), rows),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    function, make = PROGRAMS[name]
    fast = for_all_sizes(function)
    with config.patch(raise_on_error=True):
        for size in (37, *SIZES):
            expected, got = function(*make(size)), fast(*make(size))
            parts = zip(expected, got, strict=True) if isinstance(expected, tuple) else [(expected, got)]
            for one, other in parts:
                torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-4)
                assert not isinstance(one, torch.Tensor) or one.stride() == other.stride()


def test_new_sizes_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = symbolic(lambda x: (x * 2).sum(-1), torch.ones(5, 24))
    monkeypatch.setattr(jit, "compile_kernels", None)
    for n in (2, 9, 290):
        assert torch.equal(graph(n, 24, torch.ones(n, 24))[0], torch.full((n,), 48.0))
    assert graph.direct_call.kept == 3 and not graph.compiled


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_filled_plan_is_the_plan_for_these_sizes(name: str) -> None:
    function, make = PROGRAMS[name]
    calls: list[tuple[SymbolicGraph, list[int]]] = []

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        graph = compile_for_sizes(module, inputs)
        assert graph is not None
        sized = SizedGraph(lambda: module, inputs, _refuse, graph)
        return lambda *args: calls.append((graph, list(sized.key(args)))) or sized(*args)

    fast = capture.compile(function, backend=backend, dynamic=True)
    for size in (37, *SIZES):
        fast(*make(size))
    filled = 0
    for graph, ints in calls:
        first = next(others for known, others in calls if known is graph)
        own, other = graph.plan(ints), graph.plan(first).graph(*ints)
        if own is None:
            assert other is None  # its conditions are among those of the template
        elif other is not None:
            filled += 1
            expected = own.graph(*ints)
            assert other.workspace_size == expected.workspace_size and other.plan == expected.plan
            assert [str(value) for value in other.objects] == [str(value) for value in expected.objects]
    assert filled > len(SIZES) / 2


def test_numbers_that_change_at_each_call_are_planned_once() -> None:
    fast = capture.compile(lambda x, n: x * n + n)
    plans = []
    plan = SymbolicGraph.plan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SymbolicGraph, "plan", lambda self, ints: plans.append(ints) or plan(self, ints))
        for n in range(5, 200):
            assert torch.equal(fast(torch.ones(3), n), torch.full((3,), 2.0 * n))
    assert len(plans) == 1


def test_written_inputs() -> None:
    graph = symbolic(lambda x: x.add_(1).mul_(x.shape[0]).sum(), torch.ones(5, 24))
    for n in (3, 70):
        x = torch.ones(n, 24)
        version = x._version
        assert torch.equal(graph(n, 24, x)[0], torch.tensor(48.0 * n * n)) and x._version > version
        assert torch.equal(x, torch.full((n, 24), 2.0 * n))


def test_plans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from capture.backends import sized_graph

    monkeypatch.setattr(sized_graph, "LIMIT", 3)
    graph = symbolic(lambda x: x + 1, torch.ones(5))
    for n in (2, 3, 4, 6, 7, 2):
        assert torch.equal(graph(n, torch.ones(n))[0], torch.full((n,), 2.0))
    assert graph.direct_call.kept == 3


def _written(x: torch.Tensor, i: int) -> torch.Tensor:
    y = x.clone()
    y[:, i] = 0.5
    y[i] = y[i] * 2
    y[i, -i] = x[0, 0]
    return y


PLACES = {
    "column": lambda x, i: x[:, i] + 1,
    "item": lambda x, i: x[i, i + 1].sin(),
    "slices": lambda x, i: x[None, 1:, i, ..., None] + 1,
    "from the end": lambda x, i: x[:, -i] + x[-i - 1],
    "places": lambda x, i: x[i, torch.tensor([0, 1])] + x[torch.tensor([0, 1]), i],
    "written": _written,
}


@pytest.mark.parametrize("name", PLACES)
def test_items_at_positions_that_change_are_compiled_once(name: str) -> None:
    """Also where the first position is 0, as in a loop."""
    function = PLACES[name]
    fast = for_all_sizes(function)
    for i in (3, 1, 5, 2, 6, 4):
        x = torch.randn(8, 8)
        torch.testing.assert_close(fast(x, i), function(x, i))


# --- refusals ---------------------------------------------------------------------------------------------


def test_what_was_decided_by_a_size_is_a_condition() -> None:
    module, inputs = captured(lambda x, n: x + n // 2, torch.ones(3), 5)
    graph = compile_for_sizes(module, inputs)
    assert graph is not None
    template = graph.plan([4, 7])
    assert template is not None and template.graph(4, 9) is not None
    # kernels divide numbers that are not negative
    assert template.graph(4, -7) is None and graph.plan([4, -7]) is None


def test_a_negative_position() -> None:
    function = lambda x, i: x.select(0, i) + 1  # noqa: E731
    fast = capture.compile(function, dynamic=True)
    x = torch.arange(9.0)
    for i in (2, 5, -9, -2, 8):
        assert torch.equal(fast(x, i), function(x, i))


def test_views_that_autograd_sees_are_compiled_for_each_size() -> None:
    module, inputs = captured(lambda x: x.view(-1, 1), torch.ones(3, requires_grad=True))
    assert compile_for_sizes(module, inputs) is None


def test_sums_of_rows_have_one_level_of_blocks() -> None:
    """Blocks of rows are short enough for runs alone, or have none; their sums are in double precision."""
    module, inputs = captured(lambda x: x.sum(-1), torch.ones(5, 300))
    graph = compile_for_sizes(module, inputs)
    assert isinstance(graph, SymbolicGraph)
    [kernel] = graph.kernels
    # rows, blocks, runs of vectors where these are narrow, vectors, the rest
    assert kernel.llvm_ir.count("phi i64") in (4, 5)
    x = torch.rand(3, 200_000) + 1
    fast = capture.compile(lambda x: x.sum(-1), dynamic=True)
    torch.testing.assert_close(fast(x), x.double().sum(-1).float(), rtol=1e-6, atol=0)


def test_pictures_of_half_the_size_are_walked_over_in_one_loop() -> None:
    """Rows and columns are quotients of sizes, and lie behind each other."""
    weight = torch.ones(6, 3, 3, 3)
    mean = lambda x: F.conv2d(x, weight, stride=2).neg().mean((0, 2, 3))  # noqa: E731
    module, inputs = captured(mean, torch.ones(4, 3, 9, 11))
    graph = compile_for_sizes(module, inputs)
    assert isinstance(graph, SymbolicGraph)
    [kernel] = graph.kernels
    # channels, pictures, blocks, runs of vectors where these are narrow, vectors, the rest
    assert kernel.llvm_ir.count("phi i64") in (5, 6)


def test_logs_show_the_code_of_symbolic_graphs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", "capture.loops"):
        capture.compile(lambda x: x * 2 + 1, dynamic=True)(torch.ones(5, 3))
    assert caplog.text.count("kernel k0(") == 1 and "s0" in caplog.text
