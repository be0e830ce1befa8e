"""Forward and backward compiled once for many sizes.

Gradients, the cost of new sizes, operators that run one by one, refusals.
"""

from __future__ import annotations

import copy
import itertools
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import capture
from capture.backends.sized_graph import SizedGraph
from capture.report.config import config
from codegen.autograd import orders
from codegen.autograd.orders import call_by_call
from codegen.compile_fx import compile_for_sizes, compile_fx
from codegen.convolutions import channels_last, own
from codegen.dynamic import open_orders, partial_training, symbolic_training
from codegen.dynamic.symbolic_graph import SymbolicGraph
from codegen.dynamic.symbolic_training import SymbolicTraining
from codegen.launch import jit
from tests.codegen.dynamic.test_symbolic_graph import captured

SIZES = (37, 2, 3, 7, 16, 31, 64, 100)


@pytest.fixture(autouse=True)
def fresh() -> Any:
    """One thread: with several, the order of some sums depends on the sizes, and some sizes are compiled
    alone (`codegen.rewrite.resampling`).
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    capture.reset()
    yield
    capture.reset()
    torch.set_num_threads(threads)


def for_all_sizes(function: Any) -> Any:
    """The captured function; an error if a graph of it has to be compiled for one of several sizes."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("compiled for one size")

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        if not any(type(value) is int for value in inputs):  # sizes of 0 and 1 do not count
            return compile_fx(module, inputs)
        graph = compile_for_sizes(module, inputs)
        assert graph is not None, "no form for all sizes"
        return SizedGraph(lambda: module, inputs, refuse, graph)

    return capture.compile(function, backend=backend, dynamic=True)


def weight(*shape: int) -> nn.Parameter:
    torch.manual_seed(len(shape))
    return nn.Parameter(torch.randn(*shape))


def rows(n: int) -> torch.Tensor:
    return torch.randn(n, 24)


def sequences(n: int) -> torch.Tensor:
    return torch.randn(2, n, 24)


def images(n: int) -> torch.Tensor:
    return torch.randn(2, 3, n + 6, n + 9)


def ids(n: int) -> torch.Tensor:
    return torch.arange(n) * 7 % 30


W, B, G, E = weight(24, 16), weight(16), weight(24), weight(30, 24)
Q, C = weight(24, 72), weight(6, 3, 3, 3)


def attention(x: torch.Tensor) -> torch.Tensor:
    q, k, v = (part.view(2, -1, 4, 6).transpose(1, 2) for part in (x @ Q).chunk(3, -1))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)


def masked(x: torch.Tensor) -> torch.Tensor:
    n = x.shape[1]
    scores = (x * G) @ x.transpose(1, 2) / 24**0.5
    return scores.masked_fill(torch.ones(n, n).triu(1) > 0, -1e9).softmax(-1) @ x


def normalised(x: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(F.conv2d(x, C, stride=2), torch.zeros(6), torch.ones(6), training=True)


PROGRAMS: dict[str, tuple[Any, Any, tuple[nn.Parameter, ...]]] = {
    "linear": (lambda x: F.relu(x @ W + B), rows, (W, B)),
    "layer_norm": (lambda x: F.layer_norm(x * G, (24,), G), rows, (G,)),
    "softmax": (lambda x: (x * G).softmax(-1) + (x * G).log_softmax(0), rows, (G,)),
    "cross_entropy": (lambda x: F.cross_entropy(x @ W, torch.arange(x.shape[0]) % 16), rows, (W,)),
    "mse": (lambda x: F.mse_loss(x @ W, torch.zeros(x.shape[0], 16)), rows, (W,)),
    "variance": (lambda x: F.gelu(x @ W).var(0), rows, (W,)),
    "variance_with_half_a_correction": (lambda x: (x * G).var(0, correction=0.5), rows, (G,)),
    "numbers": (lambda x: (x * G).sum() / x.shape[0] * 2.5 + (x * G).mean(), rows, (G,)),
    "embedding": (lambda i: F.embedding(i, E).tanh(), ids, (E,)),
    "positions": (lambda x: (x * G)[torch.arange(x.shape[0]) // 2], rows, (G,)),
    "joined": (lambda x: torch.cat([x * G, x.exp() * G]).sigmoid(), rows, (G,)),
    "slices": (lambda x: ((x * G)[1:] - (x * G)[:-1]).pow(2), rows, (G,)),
    "views": (lambda x: (x * G).view(-1, 2, 12).transpose(0, 1).reshape(2, -1).softmax(-1), rows, (G,)),
    "extremes": (lambda x: (x * G).amax(0).sum() + (x * G).max(1).values.sum(), rows, (G,)),
    "cumulative": (lambda x: (x * G).cumsum(0), rows, (G,)),
    "padded": (lambda x: F.pad(x * G, (1, 1, 0, 2)).pow(2), rows, (G,)),
    "scattered": (lambda x: torch.zeros(5, 24).index_add(0, torch.arange(x.shape[0]) % 5, x * G), rows, (G,)),
    "dropout": (lambda x: F.dropout(x * G, 0.3), rows, (G,)),
    "detached": (lambda x: (x * G) * (x * G).detach(), rows, (G,)),
    "several_results": (lambda x: ((x @ W).tanh(), (x * G).sum(1), x * 2), rows, (W, G)),
    "a_written_input": (lambda x: (x.add_(1) * G).sum(), rows, (G,)),
    "a_write_that_autograd_sees": (lambda x: (x.add_(G).sin(), x.exp()), rows, (G,)),
    "half_precision": (lambda x: (x.bfloat16() @ W.bfloat16()).float(), rows, (W,)),
    "batched_product": (lambda x: torch.bmm(x * G, x.transpose(1, 2)), sequences, (G,)),
    "attention": (attention, sequences, (Q,)),
    "attention_by_hand": (masked, sequences, (G,)),
    "convolution": (lambda x: F.max_pool2d(F.conv2d(x, C).relu(), 2), images, (C,)),
    "batch_norm": (normalised, images, (C,)),
    "resampling": (lambda x: F.interpolate(F.conv2d(x, C), scale_factor=2, mode="bilinear"), images, (C,)),
}  # fmt: skip


def gradients(function: Any, x: torch.Tensor, parameters: Any, autocast: bool = False) -> list[torch.Tensor]:
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        results = function(x)
    results = results if isinstance(results, tuple) else (results,)
    weights = (torch.linspace(-1, 2, r.numel()).view(r.shape) for r in results)
    loss = sum((r.float() * w).sum() for r, w in zip(results, weights) if r.requires_grad)
    return [*results, *torch.autograd.grad(loss, parameters)]


def check(
    got: list[torch.Tensor], expected: list[torch.Tensor], tolerance: float = 1e-3, noise: float = 5e-5
) -> None:
    """`noise`: what rounding may leave of terms that cancel."""
    for one, other in zip(got, expected, strict=True):
        bound = tolerance * float(other.detach().abs().max()) + noise
        torch.testing.assert_close(one, other, rtol=tolerance, atol=bound)


#: autograd asks whether a gradient has one row; the other answer is a graph of its own
SMALLEST = {"slices": 3}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    function, make, parameters = PROGRAMS[name]
    fast = for_all_sizes(function)
    with config.patch(raise_on_error=True):
        for size in SIZES:
            if size < SMALLEST.get(name, 2):
                continue
            torch.manual_seed(size)
            x = make(size)
            check(gradients(fast, x.clone(), parameters), gradients(function, x.clone(), parameters))


@pytest.mark.parametrize("name", SMALLEST)
def test_a_graph_of_the_smallest_size(name: str) -> None:
    function, make, parameters = PROGRAMS[name]
    fast = capture.compile(function, dynamic=True)
    for size in SIZES:
        x = make(size)
        check(gradients(fast, x.clone(), parameters), gradients(function, x.clone(), parameters))
    assert sum(capture.counters["recompiles"].values()) == 0


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(30, 24)
        self.layer = nn.TransformerEncoderLayer(24, 4, 48, batch_first=True, dropout=0.0)
        self.head = nn.Linear(24, 30)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.embedding(ids)))


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(F.max_pool2d(self.norm(self.convolution(x)).relu(), 2).mean((2, 3)))


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("kind", [Encoder, Images])
def test_module(kind: type[nn.Module], autocast: bool) -> None:
    torch.manual_seed(0)
    module = kind()
    twin = copy.deepcopy(module)
    fast = for_all_sizes(module)
    with config.patch(raise_on_error=True):
        for n, m in ((3, 9), (2, 11), (5, 12), (7, 30), (3, 9)):
            x = torch.randint(0, 30, (n, m)) if kind is Encoder else torch.randn(n, 3, m, m + 5)
            got = gradients(fast, x, list(module.parameters()), autocast)
            expected = gradients(twin, x, list(twin.parameters()), autocast)
            # the gradient of a bias before a batch norm is nothing but rounding: up to 2e-3 in bfloat16
            check(got, expected, *((5e-2, 1e-2) if autocast else ()))
    for one, other in zip(module.buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("gradient", [False, True])
def test_autocast_casts_once(gradient: bool) -> None:
    function = lambda x: (x @ W).sum(0) if gradient else (x @ W.detach()).sum(0)  # noqa: E731
    fast = for_all_sizes(function)
    with torch.autocast("cpu", torch.bfloat16):
        for n in (5, 6, 9, 31):
            x = rows(n)
            torch.testing.assert_close(fast(x), function(x))
            assert torch.is_autocast_enabled("cpu")


# --- what new sizes cost ----------------------------------------------------------------------------------


def symbolic(function: Any, *args: Any) -> tuple[SizedGraph, SymbolicTraining]:
    module, inputs = captured(function, *args)
    graph = compile_for_sizes(module, inputs)
    assert isinstance(graph, SymbolicTraining)
    return SizedGraph(lambda: module, inputs, None, graph), graph  # type: ignore[arg-type]


def test_new_sizes_compile_and_plan_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = symbolic(lambda x: (x * G).tanh().sum(1), torch.ones(5, 24))
    plans: list[Any] = []
    plan = SymbolicGraph.plan
    monkeypatch.setattr(jit, "compile_kernels", None)
    monkeypatch.setattr(SymbolicGraph, "plan", lambda self, ints: plans.append(ints) or plan(self, ints))
    for n in (5, 9, 33, 300):
        [result] = graph(n, torch.ones(n, 24), G)
        [gradient] = torch.autograd.grad(result.sum(), G)
        torch.testing.assert_close(gradient, n * (1 - G.detach().tanh() ** 2), rtol=1e-4, atol=1e-4)
    assert not plans and graph.direct_call.kept == 4


def test_graphs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from capture.backends import sized_graph

    monkeypatch.setattr(sized_graph, "LIMIT", 3)
    graph, _ = symbolic(lambda x: x * G, torch.ones(5, 24))
    for n in (2, 3, 4, 6, 7, 2):
        [result] = graph(n, torch.ones(n, 24), G)
        assert torch.equal(torch.autograd.grad(result.sum(), G)[0], torch.full((24,), float(n)))
    assert graph.direct_call.kept == 3


# --- what is rarely asked for -----------------------------------------------------------------------------


def squares(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return (x * G).pow(3).sum(0), (x + G).sin()


def second_derivative(function: Any, x: torch.Tensor) -> list[torch.Tensor]:
    first, second = function(x)
    [gradient] = torch.autograd.grad(first.sum() + second.sum(), G, create_graph=True)
    return [gradient, *torch.autograd.grad(gradient.square().sum(), G)]


def missing_gradient(function: Any, x: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad(function(x)[1].sum(), G))


def batched_gradients(function: Any, x: torch.Tensor) -> list[torch.Tensor]:
    first, _ = function(x)
    return list(torch.autograd.grad(first, G, torch.eye(24), is_grads_batched=True))


def two_backwards(function: Any, x: torch.Tensor) -> list[torch.Tensor]:
    first, second = function(x)
    return [
        *torch.autograd.grad(first.sum() + second.sum(), G, retain_graph=True),
        *torch.autograd.grad(second.sum(), G),
    ]


def strided_gradient(function: Any, x: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad((function(x)[1].t() * torch.arange(24.0)[:, None]).sum(), G))


@pytest.mark.parametrize(
    "ask", [second_derivative, missing_gradient, batched_gradients, two_backwards, strided_gradient]
)
def test_gradients_in_other_ways(ask: Any) -> None:
    fast = for_all_sizes(squares)
    for n in (5, 7, 40, 5):
        x = rows(n)
        check(ask(fast, x), ask(squares, x))


def test_a_missing_gradient_takes_no_backward_in_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = for_all_sizes(squares)
    monkeypatch.setattr(symbolic_training, "in_numbers", None)
    for n in (5, 7, 40, 9, 5):
        x = rows(n)
        check([fast(x)[1], *missing_gradient(fast, x)], [squares(x)[1], *missing_gradient(squares, x)])


def with_state(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The state is of the same step of autograd as the output: one backward makes the gradients of both."""
    mean, variance = torch.var_mean((x * G).tanh(), 0)
    return mean.exp(), variance


def two_states(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = (x * G).sin().aminmax(dim=1)
    return second, first


@pytest.mark.parametrize("function", [with_state, two_states])
def test_a_state_without_a_gradient_is_compiled_once(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in training through time: the last state is detached before the next step."""
    fast = for_all_sizes(function)
    x = rows(6)
    check(missing_gradient(fast, x), missing_gradient(function, x))
    for module in (symbolic_training, partial_training):
        monkeypatch.setattr(module, "call_by_call", None)
    monkeypatch.setattr(symbolic_training, "in_numbers", None)
    monkeypatch.setattr(jit, "compile_kernels", None)
    for n in (5, 7, 40, 9, 5):
        x = rows(n)
        check(missing_gradient(fast, x), missing_gradient(function, x))


def test_a_state_without_a_gradient_at_a_size_with_another_form() -> None:
    """The condition of the compiled graph fails at some sizes; there the operators run one by one."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, variance = torch.var_mean(x * G, 0, correction=2)
        return mean * x.shape[0], variance

    fast = capture.compile(function, dynamic=True)
    for n in (7, 3, 4, 24, 2, 1, 9):
        x = rows(n)
        check(missing_gradient(fast, x), missing_gradient(function, x))


def test_second_derivatives_of_branches_on_sizes() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scaled = x * G if x.shape[0] > 10 else x + G**2
        return scaled.sum(0), (scaled[: x.shape[0] // 2] * G.sin()).softmax(0)

    fast = for_all_sizes(function)
    for n in (5, 40, 7, 12):
        torch.manual_seed(n)
        x = rows(n)
        expected = second_derivative(function, x)
        # A softmax adds up to 1: its derivatives are sums of n terms that cancel, so only rounding is left.
        # Each term is at most a first derivative times the square of an element.
        largest = float(expected[0].detach().abs().max()) * float(x.abs().max()) ** 2
        noise = torch.finfo(torch.float32).eps * n * largest
        check(second_derivative(fast, x), expected, noise=noise)


def forces(function: Any, x: torch.Tensor) -> list[torch.Tensor]:
    """Gradients of an energy, and the training on them, as for molecules of any number of atoms."""
    x = x.clone().requires_grad_()
    [force] = torch.autograd.grad(function(x), x, create_graph=True)
    return [force, *torch.autograd.grad(force.square().sum() + function(x), (x, G))]


def hessian(function: Any, x: torch.Tensor) -> list[torch.Tensor]:
    x = x.clone().requires_grad_()
    [first] = torch.autograd.grad(function(x), x, create_graph=True)
    [second] = torch.autograd.grad(first.square().sum(), x, create_graph=True)
    return [first, second, *torch.autograd.grad(second.sin().sum(), (x, G))]


def energy(x: torch.Tensor) -> torch.Tensor:
    distances = (x[:, None, :4] - x[None, :, :4]).square().sum(-1)
    return (distances * 0.1).exp().neg().exp().sum() + ((x * G).tanh() ** 3).sum() / x.shape[0]


@pytest.mark.parametrize("ask", [forces, hessian])
def test_gradients_of_gradients_are_compiled_once(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = for_all_sizes(energy)
    for n in (6, 300):  # kernels for short rows, and for all
        x = rows(n) / 10
        check(ask(fast, x), ask(energy, x), noise=1e-4)
    for module, name in (
        (jit, "compile_kernels"),
        (open_orders, "differentiate"),
        (open_orders, "in_numbers"),
    ):
        monkeypatch.setattr(module, name, None)
    for n in (5, 7, 40, 310, 9, 5):
        x = rows(n) / 10
        check(ask(fast, x), ask(energy, x), noise=1e-4)


def test_gradients_of_gradients_at_sizes_with_other_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the conditions fail, it is traced for each size. A few of these are compiled, others run operator
    by operator.
    """
    refused = []

    def of(self: Any, *args: Any) -> None:
        refused.append(args)

    monkeypatch.setattr(open_orders.OpenOrders, "of", of)
    fast = for_all_sizes(energy)
    x = rows(5) / 10
    check(forces(fast, x), forces(energy, x), noise=1e-4)
    monkeypatch.setattr(open_orders, "MOST_COMPILED", 0)
    ran: list[Any] = []
    monkeypatch.setattr(orders.Order, "assembled", None)
    monkeypatch.setattr(orders, "call_by_call", lambda *args: ran.append(args) or call_by_call(*args))
    for n in (6, 7, 5):
        x = rows(n) / 10
        x.requires_grad_()
        for function in (fast, energy):
            [first] = torch.autograd.grad(function(x), x, create_graph=True)
            [second] = torch.autograd.grad(first, x, torch.ones_like(first))
            if function is fast:
                found = second
        torch.testing.assert_close(found, second, rtol=1e-4, atol=1e-4)
    assert refused and ran


def test_a_check_of_a_second_derivative_that_fails_gives_eagers_error() -> None:
    def function(i: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (x[: i.shape[0]] * G).sin().gather(1, i).sum()

    fast = for_all_sizes(function)
    for n in (5, 9, 7):
        x, i = rows(n).requires_grad_(), torch.zeros(n, 2, dtype=torch.int64)
        found = []
        for each in (fast, function):
            [first] = torch.autograd.grad(each(i, x), x, create_graph=True)
            found.append([first, *torch.autograd.grad(first.square().sum(), (x, G))])
        check(*found)


def test_a_check_that_fails_gives_eagers_error() -> None:
    fast = for_all_sizes(lambda i: F.embedding(i, E).sum())
    for n in (5, 9):
        torch.testing.assert_close(fast(ids(n)), F.embedding(ids(n), E).sum())
        with pytest.raises(IndexError, match="index out of range"):
            fast(ids(n) + 30)


def test_a_check_of_the_backward_that_fails_gives_eagers_error() -> None:
    """The gradient depends on the phase of the eigenvectors."""

    def phases(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.eig(x)[1].real.sum()

    torch.manual_seed(0)  # for some values the phases do not matter, and eager raises nothing
    fast = capture.compile(phases, dynamic=True)
    for n in (3, 4, 6, 3):
        turned = (torch.eye(n).roll(1, 0) + 0.1 * rows(n)[:, :n]).requires_grad_()
        for function in (fast, phases):
            result = function(turned)
            with pytest.raises(RuntimeError, match="linalg_eig_backward: The eigenvectors") as raised:
                result.backward()
            assert raised.type is RuntimeError


def test_floats_of_sizes_are_those_of_python() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        n = x.shape[0]
        return x * (n / 3), x / (n / 7), x.double() * n**0.5, x + 1.0 / n, x.int() * (n / 2), x > n / 20

    fast = capture.compile(function, dynamic=True)
    for n in (5, 7, 40, 1001):
        x = rows(n)
        for one, other in zip(fast(x), function(x), strict=True):
            assert one.dtype == other.dtype and torch.equal(one, other)


# --- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", [lambda x: (x * 2, G.view(2, 12)), lambda x: (x * G).t()[:, x.shape[0] // 2 :].split(3)]
)
def test_views_that_autograd_sees_are_right(function: Any) -> None:
    fast = capture.compile(function, dynamic=True)
    for n in (6, 9, 12):
        x = rows(n)
        check(gradients(fast, x, G), gradients(function, x, G))


PROGRAM = """
import sys, torch, capture

@capture.compile(dynamic=True)
def loss(x, w):
    return torch.nn.functional.layer_norm(x @ w, (8,)).softmax(0).mean()

w = torch.ones(4, 8, requires_grad=True)
for n in (5, 6):
    torch.autograd.grad(loss(torch.ones(n, 4), w), w)
functorch = ("torch._functorch.aot_autograd", "torch._functorch.partitioners")
barred = ("torch._dynamo", "torch._inductor", *functorch)
print([name for name in sys.modules if name.startswith(barred)])
"""


def test_nothing_barred_is_imported() -> None:
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert output.stdout.splitlines()[0] == "[]"


def test_one_plan_serves_lengths_of_two_sequences() -> None:
    """Whichever of the two is the longer one."""
    one, other = weight(24, 16), weight(24, 16)

    def attend(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        scores = (x @ one).relu() @ (y @ other).tanh().t()
        return (scores.softmax(-1) @ y).square().mean()

    fast = capture.compile(attend, dynamic=True)
    graphs: list[SymbolicTraining] = []
    planned = SymbolicTraining.graph_for

    def graph_for(self: SymbolicTraining, *args: Any) -> Any:
        graphs.append(self)
        return planned(self, *args)

    with config.patch(raise_on_error=True), pytest.MonkeyPatch.context() as patch:
        patch.setattr(SymbolicTraining, "graph_for", graph_for)
        for n, m in itertools.permutations((5, 12, 20, 33), 2):
            compared(attend, fast, rows(n), rows(m), (one, other))
    assert len(set(map(id, graphs))) == 1
    assert [len(plans.templates) for plans in (graphs[0].forward, *graphs[0].backward)] == [1, 1]


def compared(function: Any, fast: Any, x: torch.Tensor, y: torch.Tensor, weights: Any) -> None:
    expected = torch.autograd.grad(function(x, y), weights)
    for found, gradient in zip(torch.autograd.grad(fast(x, y), weights), expected, strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-5)


# --- convolutions -----------------------------------------------------------------------------------------


def of_images(x: torch.Tensor, w: list[torch.Tensor]) -> torch.Tensor:
    first = F.conv2d(x, w[0], w[1], stride=2, padding=1).relu()
    return F.conv2d(first, w[2], groups=2, padding=2, dilation=2)


def of_sequences(x: torch.Tensor, w: list[torch.Tensor]) -> torch.Tensor:
    rows = x.flatten(2)
    return F.conv1d(rows, w[3], padding=1).tanh() * rows[:, :1]


def transposed(x: torch.Tensor, w: list[torch.Tensor]) -> torch.Tensor:
    return F.conv_transpose2d(x, w[4], w[5], stride=2, output_padding=1)


@pytest.mark.parametrize("function", [of_images, of_sequences, transposed])
def test_convolutions_of_our_own(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take the place of oneDNN's for all sizes at once."""
    replaced = []
    replace = own.OpenOwn.replace
    monkeypatch.setattr(own.OpenOwn, "replace", lambda self: replaced.append(self) or replace(self))
    monkeypatch.setattr(channels_last, "has_gains", lambda: True)
    torch.manual_seed(0)
    shapes = ((8, 4, 3, 3), (8,), (8, 4, 3, 3), (5, 4, 3), (4, 6, 3, 3), (6,))
    weights = [nn.Parameter(torch.randn(shape)) for shape in shapes]
    fast = for_all_sizes(function)
    for batch, height, width in ((2, 12, 9), (3, 7, 10), (5, 30, 7), (2, 9, 41), (7, 8, 8)):
        x = torch.randn(batch, 4, height, width, requires_grad=True)
        found = []
        for each in (fast, function):
            result = each(x, weights)
            used = [x, *weights]
            found.append(
                [
                    result,
                    *torch.autograd.grad(
                        result.square().sum(), used, materialize_grads=True, allow_unused=True
                    ),
                ]
            )
        check(found[0], found[1], tolerance=1e-4)
        with torch.no_grad():
            check([fast(x, weights)], [function(x, weights)], tolerance=1e-4)
    assert replaced


def test_convolutions_that_may_get_no_samples_are_left_to_onednn() -> None:
    """The gradient of the weight is zero then."""
    weight = nn.Parameter(torch.randn(8, 4, 3, 3))

    def function(x: torch.Tensor, skipped: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x[skipped.shape[0] :], weight, padding=1)

    fast = capture.compile(function, dynamic=True)
    for rows_of_x, skip in ((5, 2), (7, 3), (4, 4), (9, 8), (6, 6)):
        x, skipped = torch.randn(rows_of_x, 4, 6, 7), torch.empty(skip)
        found = [torch.autograd.grad(each(x, skipped).square().sum(), weight) for each in (fast, function)]
        check(list(found[0]), list(found[1]), tolerance=1e-4)


def test_convolutions_of_other_layouts_are_left_to_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own.OpenOwn, "replace", None)
    monkeypatch.setattr(channels_last, "has_gains", lambda: True)
    weight = nn.Parameter(torch.randn(8, 4, 3, 3))
    fast = for_all_sizes(lambda x: F.conv2d(x, weight.to(x.dtype), padding=1))
    for n in (5, 9):
        for x in (
            torch.randn(2, 4, n, 7).contiguous(memory_format=torch.channels_last),
            torch.randn(2, 4, n, 7).double(),
        ):
            check([fast(x)], [F.conv2d(x, weight.to(x.dtype), padding=1)])
