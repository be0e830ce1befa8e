"""Gradients of gradients of compiled graphs, against eager: values, further derivatives, errors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx
from torch.autograd import grad

from codegen.autograd.training import TrainingGraph
from codegen.compile_fx import compile_fx

Program = Callable[..., Any]


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return tangent * 3 * x


class OnlyOnce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return tangent * 2 * x


def module_of(function: Program, args: tuple[torch.Tensor, ...]) -> fx.GraphModule:
    """A graph with one node: the code inside the node is traced too."""
    graph = fx.Graph()
    nodes = tuple(graph.placeholder(f"arg_{i}") for i in range(len(args)))
    out = graph.call_function(function, nodes)
    graph.output((out,))
    return fx.GraphModule(torch.nn.Module(), graph)


def compiled(function: Program, *args: torch.Tensor) -> Program:
    graph = compile_fx(module_of(function, args), args)
    assert isinstance(graph, TrainingGraph)
    return lambda *given: graph(*given)[0]


def with_no_grad(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        scale = x.exp()
    return scale * x**2


def leaf(*shape: int) -> torch.Tensor:
    return torch.randn(shape, requires_grad=True)


#: name, program, shapes of the inputs that need gradients, order
PROGRAMS: list[tuple[str, Program, list[tuple[int, ...]], int]] = [
    ("sine", torch.sin, [(3,)], 4),
    ("linear in its inputs", lambda x, y: x * 2 + y, [(3,), (3,)], 2),
    ("network", lambda x, w, b, v: torch.tanh(x @ w + b) @ v, [(3, 4), (4, 5), (5,), (5, 2)], 3),
    ("a saved result", lambda x, y: (x.exp() * y).sum(0).exp(), [(3, 2), (3, 2)], 3),
    ("the same gradient twice", lambda x, y: (x + y).square(), [(3,), (3,)], 2),
    ("softmax", lambda x: torch.softmax(x, 1), [(3, 4)], 3),
    ("layer_norm", lambda x, w, b: F.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)], 2),
    ("batch_norm", lambda x, w: F.batch_norm(x, None, None, w, None, True), [(5, 3), (3,)], 2),
    ("convolution", lambda x, w: F.conv2d(x, w).tanh(), [(1, 2, 6, 6), (3, 2, 3, 3)], 2),
    ("pooling", lambda x: F.max_pool2d(x.sin(), 2), [(1, 2, 4, 4)], 2),
    ("dropout", lambda x, w: F.dropout((x * w).sin(), 0.5), [(5, 3), (3,)], 2),
    ("indices", lambda x: x[[0, 2]].sin().cumsum(0), [(3, 4)], 2),
    ("norm", lambda x: x.norm(dim=1), [(3, 4)], 2),
    ("gelu", F.gelu, [(3, 4)], 3),
    ("detached", lambda x: x.sin() * x.cos().detach(), [(3,)], 3),
    ("no_grad inside", with_no_grad, [(3,)], 3),
    ("custom function", lambda x: Tripled.apply(x).sin(), [(3,)], 2),
    ("derivatives that are zero", lambda x: x.abs() * x + (x.abs() + 0.5).log() + x.sign() * x, [(3,)], 3),
    ("views", lambda x: (x * 2).t().sin().reshape(2, 6), [(3, 4)], 2),
]  # fmt: skip


def derivatives(function: Program, leaves: list[torch.Tensor], order: int) -> list[torch.Tensor | None]:
    torch.manual_seed(1)
    out = function(*leaves)
    found: list[torch.Tensor | None] = [out]
    total = out.square().sum()
    for _ in range(order):
        grads = grad(total, leaves, create_graph=True, allow_unused=True)
        found += grads
        total = sum((g * (i + 1)).cos().sum() for i, g in enumerate(grads) if g is not None)
    return found


@pytest.mark.parametrize(("name", "program", "shapes", "order"), PROGRAMS, ids=[row[0] for row in PROGRAMS])
def test_as_eager(name: str, program: Program, shapes: list[tuple[int, ...]], order: int) -> None:
    torch.manual_seed(0)
    leaves = [leaf(*shape) for shape in shapes]
    fast = compiled(program, *leaves)
    for _ in range(2):
        expected, found = (derivatives(function, leaves, order) for function in (program, fast))
        for left, right in zip(expected, found, strict=True):
            assert (left is None) == (right is None)
            if left is not None and right is not None:
                assert left.requires_grad == right.requires_grad
                torch.testing.assert_close(left, right, rtol=1e-3, atol=1e-4)


DECOMPOSITIONS: dict[str, Program] = {
    "logdet": lambda x: torch.logdet(x @ x.mT + torch.eye(3)),
    "slogdet": lambda x: torch.linalg.slogdet(x)[1],
    "nuclear norm": lambda x: torch.linalg.matrix_norm(x, "nuc"),
    "svdvals": lambda x: torch.linalg.svdvals(x),
    "eigvalsh": lambda x: torch.linalg.eigvalsh(x + x.mT),
    "solve": lambda x: torch.linalg.solve(x, torch.ones(3)),
}


@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_decompositions_of_an_input(name: str) -> None:
    """The second derivative needs a value that the first one does not need: eager has kept the matrix."""
    x = leaf(3, 3)
    results = []
    for function in (DECOMPOSITIONS[name], compiled(DECOMPOSITIONS[name], x)):
        (first,) = grad(function(x).sum(), x, create_graph=True)
        results.append([first, *grad(first.square().sum(), x)])
    torch.testing.assert_close(results[1], results[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("program", [torch.sin, lambda x: x * 2], ids=["sine", "linear"])
def test_which_gradients_can_be_differentiated(program: Program) -> None:
    x = leaf(3)
    fast = compiled(program, x)
    for tangent in (torch.ones(3), leaf(3)):
        expected, found = (grad(f(x), x, tangent, create_graph=True)[0] for f in (program, fast))
        assert expected.requires_grad == found.requires_grad
        if expected.requires_grad:
            sources = [source for source in (x, tangent) if source.requires_grad]
            ours, theirs = (grad(g.sum(), sources, allow_unused=True) for g in (found, expected))
            assert [a is None for a in ours] == [a is None for a in theirs]


def test_arguments_with_history_and_views() -> None:
    """Tests the node made in Python (an argument that is a view) and the native one."""
    torch.manual_seed(0)
    x, y = leaf(4), leaf(4)
    program = lambda x, y: x * y.exp()  # noqa: E731
    fast = compiled(program, x * 1, y)
    for first in (x * 3, (x * 3).view(2, 2).view(4), x):
        expected, found = (derivatives(lambda y, f=f: f(first, y), [y], 2) for f in (program, fast))
        torch.testing.assert_close(expected, found)
    outer, again = (
        grad(grad(f((x * 3).view(4), y).sum(), y, create_graph=True)[0].sum(), x)[0] for f in (program, fast)
    )
    torch.testing.assert_close(outer, again)


def test_gradient_penalty_by_backward() -> None:
    results = []
    w, x = leaf(4, 3), leaf(2, 4)
    fast = compiled(lambda x, w: torch.tanh(x @ w), x, w)
    for function in (fast, lambda x, w: torch.tanh(x @ w)):
        w.grad = None
        (g,) = grad(function(x, w).sum(), x, create_graph=True)
        ((g.norm(2, 1) - 1) ** 2).mean().backward()
        results.append(w.grad)
    torch.testing.assert_close(*results)


def test_batches_of_tangents() -> None:
    x = leaf(3)
    fast = compiled(lambda x: x.sin() * x, x)
    batch = torch.eye(3)
    (expected,) = grad(x.sin() * x, x, batch, is_grads_batched=True)
    for _ in range(2):  # before and after the backward is compiled
        torch.testing.assert_close(grad(fast(x), x, batch, is_grads_batched=True)[0], expected)
        grad(fast(x).sum(), x)


@pytest.mark.parametrize("size", [3, 1])
def test_batches_of_tangents_have_derivatives(size: int) -> None:
    """Also of the third order, and for a tangent that requires grad."""
    x, w = leaf(3), leaf(3)

    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x * w).sin() * x

    def found(function: Program) -> list[torch.Tensor]:
        batch = torch.eye(3)[:size].requires_grad_()
        (rows,) = grad(function(x, w), x, batch, is_grads_batched=True, create_graph=True)
        (second,) = grad(rows.sum(1), w, torch.eye(size), is_grads_batched=True, create_graph=True)
        loss = rows.square().sum() + second.sin().sum()
        return [rows, second, *grad(loss, (x, w, batch))]

    fast = compiled(program, x, w)
    for _ in range(2):
        torch.testing.assert_close(found(fast), found(program))


def test_batched_step_of_a_residual_field() -> None:
    """The divergence of a field by its exact Jacobian, as continuous flows take it."""
    weights = [leaf(8, 3), leaf(8), leaf(3, 8), leaf(3)]

    def field(x: torch.Tensor, a: Any, b: Any, c: Any, d: Any) -> torch.Tensor:
        return torch.nn.functional.linear(torch.nn.functional.elu(torch.nn.functional.linear(x, a, b)), c, d)

    def found(function: Program) -> Any:
        x = torch.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
        eye = torch.eye(3).expand(4, 3, 3).movedim(-1, 0)
        y = function(x, *weights)
        (rows,) = grad(y, x, eye, create_graph=True, is_grads_batched=True)
        trace = torch.einsum("i...i", rows)
        return trace, *grad((y.square().sum(-1) - trace).mean(), weights)

    fast = compiled(field, leaf(4, 3), *weights)
    for _ in range(2):
        torch.testing.assert_close(found(fast), found(field))


FACTORS: dict[str, Program] = {
    "times": lambda z: z * (2 - 1j),
    "number times": lambda z: 1j * z,
    "divided": lambda z: z / (2 - 1j),
    "number divided": lambda z: (2 - 1j) / z,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.complex128])
@pytest.mark.parametrize("name", FACTORS)
def test_complex_numbers_as_factors(name: str, dtype: torch.dtype) -> None:
    """Autograd conjugates the number itself."""
    for shape in ((3,), ()):
        z = torch.randn(shape, dtype=dtype, requires_grad=True)
        fast = compiled(lambda z: FACTORS[name](z).exp().abs(), z)
        expected = FACTORS[name](z).exp().abs()
        torch.testing.assert_close(fast(z), expected)
        torch.testing.assert_close(grad(fast(z).sum(), z), grad(expected.sum(), z))


def test_functions_of_torch_autograd() -> None:
    x, v = torch.randn(3), torch.randn(3)
    program = lambda x: (x**3).sum()  # noqa: E731
    fast = compiled(program, x.clone().requires_grad_())
    for name in ("hvp", "vhp", "vjp", "jvp"):
        function = getattr(torch.autograd.functional, name)
        given = (torch.tensor(2.0),) if name == "vjp" else (v,)
        torch.testing.assert_close(function(fast, x, *given), function(program, x, *given))
    for vectorize in (False, True):
        ours, theirs = (torch.autograd.functional.hessian(f, x, vectorize=vectorize) for f in (fast, program))
        torch.testing.assert_close(ours, theirs)


def test_errors_are_those_of_eager() -> None:
    x = leaf(3)
    fast = compiled(lambda x: OnlyOnce.apply(x).sin(), x)
    (g,) = grad(fast(x).sum(), x, create_graph=True)
    with pytest.raises(
        RuntimeError, match="differentiate twice a function that was marked with @once_differentiable"
    ):
        g.sum().backward()
    fast = compiled(torch.sin, x)
    (g,) = grad(fast(x).sum(), x, create_graph=True)
    g.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        g.sum().backward()
    y = x * 1
    (g,) = grad(fast(y).sum(), y, create_graph=True)
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        g.sum().backward()


def test_nothing_is_kept() -> None:
    x = leaf(3)
    graph = compile_fx(module_of(torch.exp, (x,)), (x,))
    (out,) = graph(x)
    (g,) = grad(out.sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x, create_graph=True)
    watch = [weakref.ref(tensor) for tensor in (out, g, h)]
    del out, g, h
    assert all(ref() is None for ref in watch)
    last = weakref.ref(graph)
    del graph
    gc.collect()
    gc.collect()
    assert last() is None
