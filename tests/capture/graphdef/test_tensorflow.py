"""Graphs that TensorFlow wrote, with the results that it gave (scripts/tensorflow_graphs.py)."""

from __future__ import annotations

import collections
import random
from pathlib import Path

import numpy as np
import pytest
import torch

import capture
from capture.graphdef import schema
from codegen.compile_fx import compile_fx
from codegen.launch.compiled import EagerGraph
from tests.capture.exporting.c_programs import need_tools

FOLDER = Path(__file__).parents[2] / "data" / "graphdef"
MODELS = sorted(path.stem for path in FOLDER.glob("*.pb"))
#: dtype -> how far results may be from TensorFlow's, in parts of the largest one
NEAR = {torch.float16: 2e-3, torch.float32: 3e-6, torch.float64: 1e-12}


class Case:
    """A graph, its inputs by the name of the placeholder, and TensorFlow's results by name."""

    def __init__(self) -> None:
        self.graph = b""
        self.inputs: dict[str, torch.Tensor] = {}
        self.outputs: dict[str, torch.Tensor] = {}

    def add(self, key: str, value: np.ndarray) -> None:
        kind, _, name = key.partition(":")
        if kind == "graph":
            self.graph = value.tobytes()
        else:
            {"input": self.inputs, "output": self.outputs}[kind][name] = torch.from_numpy(value)

    def arguments(self, module: torch.fx.GraphModule) -> list[torch.Tensor]:
        places = [node for node in module.graph.nodes if node.op == "placeholder"]
        return [self.inputs[place.meta["graphdef"]["name"] + ":0"] for place in places]

    def check(self, results: tuple[torch.Tensor, ...]) -> None:
        for found, wanted in zip(results, self.outputs.values(), strict=True):
            near = NEAR.get(wanted.dtype, 0)
            sizes = wanted.double().abs()
            largest = max([1.0, *sizes[sizes.isfinite()].tolist()])
            torch.testing.assert_close(found, wanted, rtol=near, atol=near * largest, equal_nan=True)


def _operators() -> dict[str, Case]:
    cases: dict[str, Case] = collections.defaultdict(Case)
    with np.load(FOLDER / "operators.npz") as data:
        for key in data.files:
            name, _, part = key.partition("/")
            cases[name].add(part, data[key])
    return cases


def _model(name: str) -> Case:
    case = Case()
    case.graph = (FOLDER / f"{name}.pb").read_bytes()
    with np.load(FOLDER / f"{name}.npz") as data:
        for key in data.files:
            case.add(key, data[key])
    return case


OPERATORS = _operators()


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name):
    case = OPERATORS[name]
    module = capture.import_graphdef(case.graph, list(case.outputs))
    arguments = case.arguments(module)
    case.check(module(*arguments))
    compiled = compile_fx(module, arguments)
    assert not isinstance(compiled, EagerGraph)
    case.check(compiled(*arguments))
    explained = capture.explain(module)(*arguments)
    assert explained.graph_break_count == 0
    assert explained.graph_count == (0 if ".[]." in name else 1)  # a sum over no axes is its argument


def _change(graph, choose: random.Random) -> None:
    """A wrong input, attribute, operator or constant."""
    node, other = choose.choice(graph.node), choose.choice(graph.node)
    kind = choose.choice(["input", "more inputs", "attribute", "no attribute", "operator", "shape"])
    if kind == "input" and node.input:
        node.input[choose.randrange(len(node.input))] = other.name
    elif kind == "more inputs":
        node.input.append(other.name)
    elif kind == "attribute" and node.attr and other.attr:
        node.attr[choose.choice(list(node.attr))].CopyFrom(other.attr[choose.choice(list(other.attr))])
    elif kind == "no attribute" and node.attr:
        del node.attr[choose.choice(list(node.attr))]
    elif kind == "operator":
        node.op = other.op
    elif node.op == "Const":
        node.attr["value"].tensor.tensor_shape.dim.add(size=choose.randrange(3))


def test_wrong_graphs_are_refused_or_read():
    choose = random.Random(0)
    cases = [*OPERATORS.values(), *map(_model, MODELS)]
    refused = 0
    for _ in range(600):
        case = choose.choice(cases)
        graph = schema.message("GraphDef").FromString(case.graph)
        for _ in range(choose.randint(1, 3)):
            _change(graph, choose)
        try:
            capture.import_graphdef(graph.SerializeToString(), list(case.outputs))
        except capture.GraphDefError:
            refused += 1
    assert 100 < refused < 600


def test_there_are_ten_models():
    assert len(MODELS) == 10 and "mnist_cnn" in MODELS


@pytest.mark.parametrize("name", MODELS)
def test_model(name):
    case = _model(name)
    module = capture.import_graphdef(FOLDER / f"{name}.pb", list(case.outputs))
    arguments = case.arguments(module)
    case.check(module(*arguments))
    explained = capture.explain(module)(*arguments)
    assert (explained.graph_count, explained.graph_break_count) == (1, 0)
    fast = capture.compile(module)
    case.check(fast(*arguments))
    more = [torch.cat([value, value]) for value in arguments]  # another batch
    for found, wanted in zip(fast(*more), module(*more)):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["attention", "separable"])
def test_an_exported_model(name, tmp_path):
    need_tools("x86-64")
    case = _model(name)
    module = capture.import_graphdef(FOLDER / f"{name}.pb", list(case.outputs))
    arguments = case.arguments(module)
    sizes = {node.name: {0: "batch"} for node in module.graph.nodes if node.op == "placeholder"}
    exported = capture.export(module, arguments, name=name, dynamic_sizes=sizes)
    exported.save(str(tmp_path / name))
    loaded = capture.load(str(tmp_path / name))
    case.check(loaded(*arguments))
    more = [torch.cat([value, value]) for value in arguments]
    torch.testing.assert_close(loaded(*more), module(*more), rtol=1e-5, atol=1e-5)
