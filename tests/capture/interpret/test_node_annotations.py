"""`torch.fx.traceback.annotate`: its notes reach the nodes of the graph, and it breaks no graph."""

from __future__ import annotations

import torch
from torch.fx.traceback import annotate, annotate_fn, current_meta

import capture


def notes_of(function, *args):
    graphs = []

    def backend(gm, example_inputs):
        graphs.append({n.name: n.meta.get("custom") for n in gm.graph.nodes if n.op.startswith("call_")})
        return gm.forward

    assert torch.equal(capture.compile(function, backend=backend)(*args), function(*args))
    assert "custom" not in current_meta
    return graphs


def test_operations_inside_carry_the_entries():
    def staged(x):
        with annotate({"stage": 0}):
            y = x.sin()
            with annotate({"part": "inner"}):
                y = y.cos()
        return y.tan()

    assert notes_of(staged, torch.ones(2)) == [
        {"sin": {"stage": 0}, "cos": {"stage": 0, "part": "inner"}, "tan": None}
    ]


def test_a_function_that_is_annotated():
    @annotate_fn({"stage": 1})
    def inner(x):
        return x.sin()

    assert notes_of(lambda x: inner(x).cos(), torch.ones(2)) == [{"sin": {"stage": 1}, "cos": None}]


def test_a_break_inside():
    def broken(x):
        with annotate({"stage": 2}):
            y = x.sin()
            capture.graph_break()
            y = y.cos()
        return y.tan()

    noted = [(name, note) for notes in notes_of(broken, torch.ones(2)) for name, note in notes.items()]
    assert noted == [("sin", {"stage": 2}), ("cos", {"stage": 2}), ("tan", None)]
