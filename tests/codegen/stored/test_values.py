"""Values of graphs as JSON, and back."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
import torch

from capture.graph import numpy_functions
from codegen.kernel.outlined import Structure, outlined
from codegen.stored import names
from codegen.stored.values import Malformed, NotStored, Reader, Writer


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -0.0, float("inf"), 1 - 2j, "text", b"bytes", [1, (2, 3.5)], {"a": 1, 2: None}, ...,
        slice(1, None, 2), range(5), range(9, -2, -3), range(2**70), torch.Size([2, 3]), torch.float32,
        torch.strided, torch.channels_last, torch.device("cpu"), torch.ops.aten.add.Tensor, torch.relu,
    ],
)  # fmt: skip
def test_each_value_is_exact(value: Any) -> None:
    writer = Writer()
    data = json.loads(json.dumps(writer.write(value)))
    found = Reader(writer.blobs).read(data)
    assert type(found) is type(value) and repr(found) == repr(value)


def test_a_structure_is_exact() -> None:
    tree = ({"a": [torch.ones(1), 2.5], 3: None}, [], torch.zeros(2))
    writer = Writer()
    found = Reader(writer.blobs).read(json.loads(json.dumps(writer.write(Structure(tree)))))
    assert found.matches(Structure(tree))
    assert found.fill([1, 2]) == ({"a": [1, 2.5], 3: None}, [], 2)


def test_a_call_with_bodies_is_exact() -> None:
    target = outlined("twice", functools.partial(torch.add, alpha=2))
    writer = Writer()
    found = Reader(writer.blobs).read(json.loads(json.dumps(writer.write(target))))
    one = torch.ones(1)
    assert found.__name__ == "twice" and found(one, one) == target(one, one) == (one * 3,)


def test_a_call_of_a_function_of_the_program_is_not_stored() -> None:
    with pytest.raises(NotStored):
        Writer().write(outlined("own", functools.partial(lambda x: x)))


@pytest.mark.parametrize(
    "data",
    [
        {"range": [0, 5]}, {"range": [0, 5, 0]}, {"range": [0, 5, "1"]}, {"range": 5}, {"slice": [1]},
        {"partial": [1, {"tuple": []}, {"dict": []}]}, {"partial": []}, {"structure": [1, 2, 3]},
        {"structure": []}, {"outlined": ["a", 1]}, {"outlined": []}, {"outlined": [1, 2, 3]},
    ],
)  # fmt: skip
def test_what_is_no_value_is_malformed(data: Any) -> None:
    with pytest.raises(Malformed):
        Reader([]).read(data)


@pytest.mark.parametrize("operation", [("function", "linalg.det"), ("method", "sum"), ("operator", "add")])
def test_functions_of_numpy_in_graphs_have_names(operation: tuple[str, str]) -> None:
    function = numpy_functions.graph_function(*operation)
    assert names.object_named(*names.name_of(function)) is function


@pytest.mark.parametrize("path", ["function.loads", "method.tofile", "attribute.base", "other.sum"])
def test_other_functions_of_numpy_are_malformed(path: str) -> None:
    with pytest.raises(names.Malformed):
        names.object_named(numpy_functions.__name__, f"by_name.{path}")
