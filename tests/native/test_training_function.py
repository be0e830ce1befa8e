"""_capture.TrainingFunction: nodes of autograd's graph that are built in C, against eager."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import _capture
import pytest
import torch
from torch import fx

from codegen.compile_fx import compile_fx

Function = Callable[..., Any]


@pytest.fixture(scope="module", autouse=True)
def nothing_left() -> Iterator[None]:
    """A node holds its function where the collector does not see it: objects that hang on a dead node are
    freed in the next round. Other tests count blocks.
    """
    yield
    for _ in range(2):
        gc.collect()


def compiled(function: Function, *args: torch.Tensor) -> Any:
    graph = compile_fx(fx.symbolic_trace(function), args)
    graph(*args)
    assert type(graph.function).__name__ == "TrainingFunction"
    return graph


def segment_of(run: Function, **lists: tuple[Any, ...]) -> Any:
    usual = {
        "slots": (0,),
        "stand_ins": (None,),
        "saved_arguments": (),
        "saved_results": (),
        "kept_apart": (),
        "edges": (0,),
    }
    given = {**usual, **lists}
    rows = len(given["saved_arguments"]) + len(given["saved_results"])
    needed_by = b"\xff" * ((len(given["edges"]) + 7) // 8) * rows
    return _capture.Segment(run, **given, needed_by=needed_by)


def product(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor]:
    return (x * y.exp() + 1,)


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)


def native(tensor: torch.Tensor) -> bool:
    return type(tensor.grad_fn).__name__ == "CppFunction"


def check(function: Function, *args: torch.Tensor) -> Any:
    """Checks the gradients of all arguments against eager; returns the compiled graph."""
    graph = compiled(function, *args)
    outs, expected = graph(*args), function(*args)
    wanted = [a for a in args if a.requires_grad]
    for out, eager in zip(outs, expected):
        assert out.requires_grad == eager.requires_grad and out.is_leaf == eager.is_leaf
        torch.testing.assert_close(out, eager)
    seeds = [torch.randn_like(out) for out in outs if out.requires_grad]
    ours = torch.autograd.grad([out for out in outs if out.requires_grad], wanted, seeds, allow_unused=True)
    theirs = torch.autograd.grad([e for e in expected if e.requires_grad], wanted, seeds, allow_unused=True)
    for mine, other in zip(ours, theirs):
        assert (mine is None) == (other is None)
        if other is not None:
            torch.testing.assert_close(mine, other)
    return graph


def test_nodes_are_native_with_this_torch() -> None:
    _capture.calibrate()
    assert _capture.autograd_nodes_native()
    x, y = inputs()
    (out,) = compiled(product, x, y)(x, y)
    assert native(out)
    assert out.grad_fn is not None and out.grad_fn.name() == "CapturedGraphBackward"
    assert [edge[0].variable for edge in out.grad_fn.next_functions] == [x, y]  # type: ignore[union-attr]


PROGRAMS: list[tuple[str, Function]] = [
    ("a saved argument", product),
    ("a saved result", lambda x, y: (torch.softmax(x * y, 0),)),
    ("nothing saved", lambda x, y: (x + y,)),
    ("three results", lambda x, y: (x.exp(), y.sin() * x, x.tanh())),
    ("a result without gradient", lambda x, y: (x.exp() * y, x.argmax(), x > y)),
    ("an unused argument", lambda x, y: (x.exp(),)),
    ("a result that is saved for another", lambda x, y: (x.exp(), x.exp() * y)),
]


@pytest.mark.parametrize(("name", "function"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_gradients(name: str, function: Function) -> None:
    x, y = inputs()
    graph = check(function, x, y)
    assert native(graph(x, y)[0])


def test_arguments_with_history_and_a_later_program() -> None:
    x, y = inputs()
    graph = compiled(product, x, y)
    (out,) = graph(x * 2, y.sin())
    (again,) = graph(out, y)
    again.sum().backward()
    ours = x.grad, y.grad
    x.grad = y.grad = None
    product(product(x * 2, y.sin())[0], y)[0].sum().backward()
    torch.testing.assert_close(ours, (x.grad, y.grad))


def test_only_one_of_the_results_is_used() -> None:
    x, y = inputs()
    function = lambda x, y: (x.exp() * y, y.sin())  # noqa: E731
    graph = compiled(function, x, y)
    for i in range(2):
        ours = torch.autograd.grad(graph(x, y)[i].sum(), (x, y), allow_unused=True)
        theirs = torch.autograd.grad(function(x, y)[i].sum(), (x, y), allow_unused=True)
        torch.testing.assert_close(ours, theirs)


def test_a_second_backward_raises_unless_retained() -> None:
    x, y = inputs()
    for function in (product, PROGRAMS[1][1]):
        (out,) = compiled(function, x, y)(x, y)
        out.sum().backward(retain_graph=True)
        out.sum().backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            out.sum().backward()


def test_a_write_to_what_is_saved_raises() -> None:
    x, y = torch.randn(4), torch.randn(4, requires_grad=True)
    (out,) = compiled(product, x, y)(x, y)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    (out,) = compiled(PROGRAMS[1][1], x, y)(x, y)
    kept = out.sum()
    out.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()


def test_an_error_of_the_backward_keeps_its_type() -> None:
    x, y = inputs()

    class Own(Exception):
        pass

    graph = compile_fx(fx.symbolic_trace(product), (x, y))

    def fail(*args: Any) -> Any:
        raise Own("from within")

    segment = segment_of(fail, saved_arguments=(0,), edges=(0, 1))
    forward = graph.forward  # type: ignore[union-attr]
    function = _capture.TrainingFunction(forward, fail, (segment,), arguments=2, results=1)
    (out,) = function(x, y)
    assert native(out)
    for _ in range(2):
        with pytest.raises(Own, match="from within"):
            out.sum().backward()
    (fresh,) = graph(x, y)
    fresh.sum().backward()  # the engine is in its old state


def test_a_place_in_the_graph() -> None:
    _capture.calibrate()
    x = torch.randn(4, requires_grad=True)
    for tensor in (x, x * 2, (x * 2).view(2, 2)):
        empty = _capture.edge_to(tensor)
        assert (
            empty.shape == (0,)
            and torch.autograd.graph.get_gradient_edge(empty)[:2]
            == torch.autograd.graph.get_gradient_edge(tensor)[:2]
        )
    assert not _capture.edge_to(torch.randn(4)).requires_grad
    with pytest.raises(TypeError, match="expected a tensor"):
        _capture.edge_to(3)
    squared = x * x
    watch = weakref.ref(saved := x * 2)
    empty = _capture.edge_to(saved * squared)
    del saved
    assert watch() is not None  # the node keeps its saved values
    del empty
    assert watch() is None


def test_tensors_that_native_code_reads() -> None:
    _capture.calibrate()
    x = torch.randn(4)
    assert _capture.is_plain(x) and _capture.is_plain(torch.nn.Parameter(x)) and not _capture.is_plain(3)
    assert not any(
        map(_capture.is_plain, (x.to_sparse(), torch.complex(x, x).conj(), torch.empty(2, device="meta")))
    )
    seen = []
    torch.vmap(lambda row: seen.append(_capture.is_plain(row)) or row)(x)
    assert seen == [False]


def test_hooks_and_retained_gradients() -> None:
    x, y = inputs()
    (out,) = compiled(product, x, y)(x, y)
    seen = []
    out.register_hook(lambda grad: seen.append("tensor") or grad * 2)
    assert out.grad_fn is not None
    out.grad_fn.register_hook(lambda grads, outs: seen.append("node"))
    out.grad_fn.register_prehook(lambda outs: seen.append("before"))
    out.retain_grad()
    out.backward(torch.ones(4))
    assert seen == ["tensor", "before", "node"]
    torch.testing.assert_close(out.grad, torch.full((4,), 2.0))
    torch.testing.assert_close(x.grad, 2 * y.exp().detach())


def test_where_the_node_is_made_by_python() -> None:
    x, y = inputs()
    graph = compiled(product, x, y)
    with torch.autograd.set_detect_anomaly(True):
        (watched,) = graph(x, y)
        assert not native(watched)
    (of_view,) = graph(x.view(2, 2).view(4), y)
    assert not native(of_view)
    for out in (watched, of_view):
        ours = torch.autograd.grad(out.sum(), (x, y))
        torch.testing.assert_close(ours, torch.autograd.grad(product(x, y)[0].sum(), (x, y)))


def test_hooks_see_what_eager_saves() -> None:
    x, y = inputs()
    graph = compiled(product, x, y)
    packed: list[list[torch.Tensor]] = []
    for function in (graph, product):
        kept: list[torch.Tensor] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t, kept=kept: kept.append(t) or t, lambda t: t):
            (out,) = function(x, y)
        packed.append(kept)
        assert not native(out)
        with torch.no_grad(), torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            torch.testing.assert_close(graph(x, y), product(x, y))
    torch.testing.assert_close(*packed)
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(_capture.CheckFailed),
    ):
        graph.function(x, y)


def test_without_grad_mode_there_is_no_node() -> None:
    x, y = inputs()
    graph = compiled(product, x, y)
    with torch.no_grad():
        assert not graph(x, y)[0].requires_grad


def test_forward_gradients_raise() -> None:
    x, y = inputs()
    graph = compiled(product, x, y)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(4))
        with pytest.raises(RuntimeError):
            graph(dual, y)


def test_an_inference_tensor_is_not_saved() -> None:
    y = torch.randn(4, requires_grad=True)
    graph = compiled(product, torch.randn(4), y)
    with torch.inference_mode():
        x = torch.randn(4)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        graph(x, y)


def test_nothing_is_kept() -> None:
    x, y = torch.randn(4), torch.randn(4, requires_grad=True)
    for function in (product, PROGRAMS[1][1], PROGRAMS[3][1], PROGRAMS[6][1]):
        graph = compiled(function, x, y)
        outs = graph(x, y)
        sum(out.sum() for out in outs).backward()
        node = outs[0].grad_fn
        watch = [weakref.ref(out) for out in outs]
        del outs
        assert all(ref() is None for ref in watch)
        del node
        last = weakref.ref(graph)
        del graph
        gc.collect()
        assert last() is None


def test_a_node_outlives_its_graph() -> None:
    x, y = inputs()
    graph = compiled(product, x, y)
    (out,) = graph(x, y)
    del graph
    gc.collect()
    out.sum().backward()
    torch.testing.assert_close(x.grad, y.exp().detach())


def test_a_long_chain_is_freed_without_recursion() -> None:
    x, y = inputs()
    graph = compiled(product, x, y)
    out = x
    for _ in range(20_000):
        (out,) = graph(out, y)
    watch = weakref.ref(out)
    del out
    assert watch() is None


def test_backward_in_several_threads() -> None:
    x, y = inputs()
    graph = compiled(PROGRAMS[1][1], x, y)
    (out,) = graph(x, y)
    expected = torch.autograd.grad(out.sum(), (x, y), retain_graph=True)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(200):
                torch.testing.assert_close(
                    torch.autograd.grad(out.sum(), (x, y), retain_graph=True), expected
                )
                torch.testing.assert_close(torch.autograd.grad(graph(x, y)[0].sum(), (x, y)), expected)
        except BaseException as failure:  # reported below, in the main thread
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_what_does_not_fit_is_refused() -> None:
    x, y = inputs()
    graph = compiled(product, x, y)

    def function(*segments: Any, results: int = 1) -> Any:
        return _capture.TrainingFunction(graph.forward, print, segments, arguments=2, results=results)

    function(segment_of(print))
    taken = segment_of(print)
    function(taken)
    for wrong in (
        {"slots": (9,)},
        {"slots": ()},
        {"slots": (-1,)},
        {"stand_ins": ()},
        {"saved_arguments": (2,)},
        {"saved_results": (9,), "kept_apart": (0,)},
        {"saved_results": (0,)},
        {"edges": (-1,)},
        {"edges": (2,)},
    ):
        with pytest.raises((TypeError, ValueError)):
            function(segment_of(print, **wrong))
    aside = segment_of(print, slots=(-1,), stand_ins=(x,))
    for segments, results in (((taken,), 1), ((print,), 1), ((segment_of(print),), 9), ((aside,), 1)):
        with pytest.raises((TypeError, ValueError)):
            function(*segments, results=results)
    with pytest.raises(TypeError):
        segment_of(print).backward = print
