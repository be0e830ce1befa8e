"""Outputs that share memory with inputs: their autograd state, in every grad mode."""

from __future__ import annotations

import pytest
import torch

import capture

FUNCTIONS = {
    "detached": lambda a: a.detach(),
    "view": lambda a: a.t(),
    "view_of_detached": lambda a: a.detach().flatten(),
    "detached_view": lambda a: a.t().detach(),
    "view_beside_result": lambda a: (a + 1, a.t()),
    "detached_beside_result": lambda a: (a.detach(), a * 2),
    "all_three": lambda a: (a.detach()[0], a + 1, a.t()),
    "detached_operand": lambda a: a.detach() * 2,
    "alias": torch.ops.aten.alias,
    "two_views": lambda a: a.t()[0],
    "leaf_again": lambda a: a.detach().requires_grad_(),
    "data": lambda a: a.data,
    "chunks": lambda a: a.chunk(2),
    "piece_and_detached_piece": lambda a: (a.unbind()[0], a.detach().unbind()[1]),
}


def seen_by_autograd(result, argument):
    results = result if isinstance(result, tuple) else (result,)
    return [
        (
            out.requires_grad,
            out.grad_fn is not None,
            out._base is argument if out._is_view() else None,
            out.is_leaf,
            out.data_ptr() == argument.data_ptr(),
        )
        for out in results
    ]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("backend", ["llvm", "aot_eager", "eager"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_as_eager(name, backend, leaf, mode):
    function = FUNCTIONS[name]
    argument = torch.randn(2, 3, requires_grad=True)
    if not leaf:
        argument = argument * 1
    with mode():
        expected = seen_by_autograd(function(argument), argument)
        found = seen_by_autograd(capture.compile(function, backend=backend)(argument), argument)
    assert found == expected
