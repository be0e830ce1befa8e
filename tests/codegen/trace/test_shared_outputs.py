"""Outputs that share memory with each other: operators that become views, pieces, writes.

They run with gradients and without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture

Program = Callable[[torch.Tensor], Any]
OPERATORS: dict[str, Program] = {
    "group_norm": lambda x: F.group_norm(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "rot90": lambda x: torch.rot90(x, 1, (2, 3)).contiguous(),
    "unsafe_split": lambda x: torch.unsafe_split(x, 2, 1)[1],
    "chunk": lambda x: x.chunk(2, 1)[1][0],
    "reshape": lambda x: x.reshape(-1, 3),
    "exp": lambda x: x.exp(),
}


def and_a_view(operator: Program, x: torch.Tensor) -> Any:
    y = operator(x)
    return y, y.transpose(0, -1)


def written(operator: Program, x: torch.Tensor) -> Any:
    y = operator(x * 1)
    y.mul_(2)
    return y, y[0]


def a_view_written(operator: Program, x: torch.Tensor) -> Any:
    z = x * 1
    y = operator(z)
    return y.add_(1), z


def the_base_written(operator: Program, x: torch.Tensor) -> Any:
    z = x * 1
    y = operator(z)
    z.mul_(3)
    return y, z


FORMS = (and_a_view, written, a_view_written, the_base_written)


def outcome(run: Program, grad: bool) -> Any:
    x = torch.linspace(-1, 2, 72).reshape(2, 4, 3, 3).requires_grad_(grad)
    try:
        results = run(x)
        sharing = results[0].untyped_storage()._cdata == results[1].untyped_storage()._cdata
        values = [result.detach().clone() for result in results]
        if grad:
            losses = [(result * (i + 2)).cos().sum() for i, result in enumerate(results)]
            values += torch.autograd.grad(sum(losses), x)
    except RuntimeError as error:
        return type(error)
    return values, sharing, [result.requires_grad for result in results]


@pytest.mark.parametrize("grad", [False, True], ids=["", "grad"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("name", OPERATORS)
def test_as_eager(name: str, form: Callable[..., Any], grad: bool) -> None:
    operator = OPERATORS[name]

    def program(x: torch.Tensor) -> Any:
        return form(operator, x)

    capture.reset()  # all programs have one code object
    expected, found = outcome(program, grad), outcome(capture.compile(program), grad)
    if isinstance(expected, type):
        assert found == expected
    else:
        torch.testing.assert_close(found[0], expected[0], rtol=1e-4, atol=1e-4)
        assert found[1:] == expected[1:]
