"""A graph module whose source is written when it is first read behaves as one of torch.fx."""

from __future__ import annotations

import copy
import gc
import linecache
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx

from codegen.kernel.graph_module import GraphModule


def module() -> GraphModule:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(torch.add, (x, 1)),))
    return GraphModule(torch.nn.Module(), graph, class_name="Captured_f")


READS: dict[str, Callable[[GraphModule], Any]] = {
    "forward": lambda gm: gm.forward(torch.ones(2)),
    "call": lambda gm: gm(torch.ones(2)),
    "code": lambda gm: gm.code,
    "text": str,
    "recompile": lambda gm: gm.recompile().src,  # type: ignore[union-attr]
    "copy": lambda gm: copy.copy(gm)(torch.ones(2)),
    "deepcopy": lambda gm: copy.deepcopy(gm)(torch.ones(2)),
    "pickle": lambda gm: pickle.loads(pickle.dumps(gm))(torch.ones(2)),
    "readable": lambda gm: gm.print_readable(print_output=False),
}


@pytest.mark.parametrize("name", READS)
def test_same_as_in_torch(name: str) -> None:
    gm = module()
    assert not gm.is_written
    expected = READS[name](torch.fx.GraphModule(torch.nn.Module(), gm.graph, class_name="Captured_f"))
    assert str(READS[name](module())) == str(expected)


def test_a_kept_method_is_the_written_one() -> None:
    gm = module()
    forward = gm.forward
    assert gm.is_written
    assert forward.__code__ is type(gm).forward.__code__


def test_new_source_after_an_edit() -> None:
    gm = module()
    assert gm(torch.ones(1))[0] == 2
    (call,) = gm.graph.find_nodes(op="call_function", target=torch.add)
    call.args = (call.args[0], 2)
    assert gm(torch.ones(1))[0] == 2
    gm.recompile()
    assert gm(torch.ones(1))[0] == 3


def test_the_source_goes_with_the_code() -> None:
    gm = module()
    name = gm.forward.__code__.co_filename
    assert linecache.getlines(name)
    del gm
    gc.collect()
    assert not linecache.getlines(name)


def test_hooks_for_all_modules_do_not_see_it() -> None:
    """They are for the program's modules, and may change results. A hook of the module itself is called."""
    gm, seen = module(), []
    everywhere = torch.nn.modules.module.register_module_forward_hook(lambda m, args, result: result * 2)
    try:
        assert len(gm(torch.ones(2))) == 1
        assert len(gm(torch.ones(2))) == 1  # its source is written now
    finally:
        everywhere.remove()
    with gm.register_forward_hook(lambda m, args, result: seen.append(len(result))):
        gm(torch.ones(2))
    assert seen == [1]


@pytest.mark.parametrize("number", [-1j, complex(-0.0, -0.0), complex(1, -torch.inf), complex(torch.nan, 0)])
def test_complex_numbers_in_the_source(number: complex) -> None:
    """The `repr` of most of these is an expression for another number, or for none."""
    graph = torch.fx.Graph()
    graph.output((graph.call_function(torch.tensor, ([number, 1.0],), {"dtype": torch.complex128}),))
    gm = GraphModule(torch.nn.Module(), graph, class_name="Captured_f")
    parts = torch.view_as_real(gm()[0][0]).tolist()
    assert [str(part) for part in parts] == [str(number.real), str(number.imag)]
    (call,) = gm.graph.find_nodes(op="call_function", target=torch.tensor)
    assert type(call.args[0][0]) is complex
