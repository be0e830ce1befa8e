"""Entries whose graph is a CompiledGraph: the hook calls its C entry, and no tuple of outputs is made."""

from __future__ import annotations

import gc
import sys

import _capture
import pytest
import torch
import torch.fx

from codegen.compile_fx import compile_fx
from guards.guard_set import GuardSet
from guards.kinds.tensors import TensorGuard
from guards.program import encode
from guards.sources import LocalSource


class SumAndDifference(torch.nn.Module):
    def forward(self, x, y):
        return x + y, x - y


def eager(x, y, note):
    return {"sum": x + y, "parts": [x - y, note]}


RECIPE = (("out", 0), ("out", 1), ("slot", 2), ("list", 2), ("dict", ("sum", "parts")))


@pytest.fixture
def compiled():
    examples = [torch.ones(4), torch.ones(4)]
    with torch.no_grad():
        graph = compile_fx(torch.fx.symbolic_trace(SumAndDifference()), examples)
    assert isinstance(graph, _capture.CompiledGraph)
    return graph


@pytest.fixture
def entry(hook, compiled):
    sources = [LocalSource(name) for name in ("x", "y", "note")]
    guards = encode(
        GuardSet([TensorGuard.of(source, torch.ones(4)) for source in sources[:2]]), sources, eager.__code__
    )
    yield hook.graph(eager, compiled, RECIPE, guards, inputs=2)
    _capture.clear_entries(eager.__code__)


def test_values_and_references(hook, entry):
    x, y, note = torch.randn(4), torch.randn(4), object()

    def run(times):
        for _ in range(times):
            result = eager(x, y, note)
        return result

    _capture.skip_code(run.__code__)
    with torch.no_grad():
        expected = eager(x, y, note)
        result = hook.call(run, 10)
        assert torch.equal(result["sum"], expected["sum"]) and torch.equal(
            result["parts"][0], expected["parts"][0]
        )
        assert result["parts"][1] is note
        assert list(result) == ["sum", "parts"] and hook.seen == [] and entry.hits == 10
        references = sys.getrefcount(result["sum"])
        assert references == 2  # the dict and the argument
        gc.collect()
        counts, blocks = [sys.getrefcount(item) for item in (x, y, note)], sys.getallocatedblocks()
        hook.call(run, 1000)
        gc.collect()
        # one block for each call would be 1000; other threads of the process hold a few dozen
        assert abs(sys.getallocatedblocks() - blocks) < 300
        assert [sys.getrefcount(item) for item in (x, y, note)] == counts


def test_recipe_that_asks_for_more_outputs_than_the_graph_has(hook, compiled):
    with pytest.raises(ValueError, match="result uses output 2, the graph has 2"):
        _capture.Entry(None, hook.key, graph=compiled, result=(("out", 2),))


def test_graph_called_with_too_few_slots_is_a_failure_of_the_graph(hook, compiled):
    def fn():
        return "eager"

    entry = hook.graph(fn, compiled)
    errors = []
    entry.on_failure = lambda _, error, inputs: errors.append(str(error))
    assert hook.call(fn) == "eager"
    assert errors == ["the compiled graph takes 2 arguments, got 0"]
