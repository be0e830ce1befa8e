"""Backwards for some of the gradients of a segment come from the store, as those for all of them do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from cache.store import KernelStore
from codegen.compile_fx import compile_fx
from codegen.stored import container
from codegen.stored.captured import captured
from codegen.stored.compile_graph import compile_graph
from codegen.stored.graphs import from_data, to_data
from codegen.stored.names import Malformed
from tests.codegen.test_compile_fx import graph_of


@pytest.fixture(autouse=True)
def uses_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)


def recurrent(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """One operator with three results: losses read the first, others the states."""
    state = torch.zeros(1, 1, 2)
    found = torch.lstm(x[:, None], (state, state), [w, w[:, :2]], False, 1, 0.0, False, False, False)
    return found[0][:, 0], found[2][0]


def statistics(x: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.var_mean(x * c, 0)


def make() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(8, 3, requires_grad=True), torch.randn(8, 3, requires_grad=True)]


CHOICES = [(0,), (1,), (0, 1)]


def grads(graph: Any, chosen: Sequence[int], *, turned: bool = False) -> list[torch.Tensor | None]:
    args = make()
    outputs = graph(*args)
    results = [outputs[place] for place in chosen]
    sent = [torch.linspace(-1, 1, r.numel()).reshape(r.shape) for r in results]
    if turned:
        sent = [each.expand(2, *each.shape).t()[..., 0] for each in sent]
    return list(torch.autograd.grad(results, args, sent, allow_unused=True))


def equal(found: Sequence[torch.Tensor | None], expected: Sequence[torch.Tensor | None]) -> bool:
    return all(a is b if a is None or b is None else a.equal(b) for a, b in zip(found, expected, strict=True))


def stored(function: Any, choices: Sequence[Sequence[int]]) -> tuple[Any, bytes]:
    """The compiled graph, and its data with the backwards for these choices of results."""
    module, example = graph_of(function, make()), make()
    known = captured(module, example)
    compiled = compile_fx(module, example)
    for chosen in choices:
        grads(compiled, chosen)
    data = None if known is None else to_data(compiled, known, None)
    assert data is not None
    return compiled, data


def was_compiled_again(graph: Any) -> bool:
    return any("segments" in vars(segment.whole) for segment in graph.segments)


@pytest.mark.parametrize("function", [statistics, recurrent])
def test_each_choice_of_results_comes_from_the_data(function: Any) -> None:
    compiled, data = stored(function, CHOICES)
    assert any(segment.partials.compiled for segment in compiled.segments)
    found = from_data(data)
    for chosen in CHOICES * 2:
        assert equal(grads(found, chosen), grads(compiled, chosen)), chosen
    assert not was_compiled_again(found)


@pytest.mark.parametrize("first", CHOICES)
def test_another_choice_is_compiled(first: Sequence[int]) -> None:
    compiled, data = stored(statistics, [first])
    for chosen in CHOICES:
        found = from_data(data)
        assert equal(grads(found, chosen), grads(compiled, chosen))
        assert was_compiled_again(found) == (chosen != first)


def test_tangents_of_other_strides_and_derivatives_of_gradients() -> None:
    compiled, data = stored(statistics, CHOICES)
    for chosen in CHOICES:
        found = from_data(data)
        assert equal(grads(found, chosen, turned=True), grads(compiled, chosen, turned=True))
    second = []
    for graph in (compiled, from_data(data)):
        x, c = make()
        (grad,) = torch.autograd.grad(graph(x, c)[0].sum(), x, create_graph=True)
        second.append(torch.autograd.grad(grad.square().sum(), (x, c)))
    assert equal(*second)


def test_what_a_process_compiles_is_added(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of three processes, which here share a folder alone, compiles what is new."""

    def process() -> Any:
        args = make()
        return compile_graph(graph_of(statistics, args), args, store=KernelStore(tmp_path))

    anew = process()
    expected = {chosen: grads(anew, chosen) for chosen in [(0,)]}
    second = process()
    assert equal(grads(second, (0,)), expected[0,])
    assert not was_compiled_again(second)
    expected[1,] = grads(second, (1,))
    expected[0, 1] = grads(second, (0, 1))
    assert was_compiled_again(second)
    third = process()
    for chosen in CHOICES:
        assert equal(grads(third, chosen), expected[chosen])
    assert not was_compiled_again(third)
    monkeypatch.setattr(KernelStore, "put", None)  # what the store has already is not written again
    assert equal(grads(third, (1,), turned=True), grads(anew, (1,), turned=True))


@pytest.mark.parametrize(
    "position, damage", [(0, "none"), (1, None), (2, [7]), (2, ["x"]), (3, [[1]]), (3, 5)]
)
def test_damaged_rows_are_a_miss(position: int, damage: Any) -> None:
    _, data = stored(statistics, [(0,)])
    content, blobs = container.unpack(data)
    rows = list(itertools.chain.from_iterable(s["partials"] for s in content["graph"][1]["segments"]))
    assert rows
    rows[0][position] = damage
    with pytest.raises(Malformed):
        from_data(container.pack(content, blobs))
