"""Complex numbers: their parts are written through real views, and their operators stay whole."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from tests.opinfo.runner import called_as_they_are, reasons_of, recording

COMPLEX = torch.complex64


def parts(z):
    z.real.mul_(2)
    z.imag[1:].add_(1)
    return z.abs()


def both_parts_of_a_result(z):
    y = z * 1j
    torch.view_as_real(y).clamp_(min=0)
    return y, y.real + 1


def transposed(z):
    torch.view_as_real(z.t())[..., 0].add_(3)
    return z + 1


def reals_as_complex(z):
    pairs = torch.view_as_real(z * 1)
    torch.view_as_complex(pairs).mul_(1j)
    return pairs


def read_again(z):
    y = z.real
    y.mul_(2)
    return y + 1, z.imag - y


def read_before(z):
    """The sum is computed where it is returned, which is behind the write to the argument."""
    total = z.real + 1
    z.mul_(1j)
    return total


WRITERS = (parts, both_parts_of_a_result, transposed, reals_as_complex, read_again, read_before)


@pytest.mark.parametrize("function", WRITERS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_writes_through_views_of_the_parts(function: Any, dynamic: bool) -> None:
    inputs = torch.randn(3, 4, dtype=COMPLEX)
    expected_input, found_input = inputs.clone(), inputs.clone()
    expected = function(expected_input)
    with recording() as made:
        found = capture.compile(function, dynamic=dynamic, fullgraph=True)(found_input)
    assert not any("UntraceableError" in reason for reason in reasons_of(made))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found_input, expected_input)


OPTIMIZERS = (torch.optim.Adam, torch.optim.NAdam, torch.optim.RMSprop, torch.optim.Adagrad)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_of_optimizers_are_native_code(optimizer: Any) -> None:
    """They compute on `torch.view_as_real` of complex parameters."""

    def train(run: Any) -> torch.Tensor:
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(3, 4, dtype=COMPLEX))
        made = optimizer([weight], lr=0.1)
        step = run(made.step)
        for _ in range(4):
            weight.grad = weight.detach() * 2
            step()
        return weight.detach()

    expected = train(lambda step: step)
    with recording() as made:
        found = train(capture.compile)
    assert made.graphs and not any("UntraceableError" in reason for reason in reasons_of(made))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["sgn", "trace", "diag_embed"])
def test_an_operator_is_one_call(name: str) -> None:
    """Kernels don't compute complex numbers: each piece of a rewriting would be a call."""
    z, function = torch.randn(3, 3, dtype=COMPLEX), getattr(torch, name)
    with recording() as made:
        found = capture.compile(lambda z: function(z), fullgraph=True)(z)
    torch.testing.assert_close(found, function(z))
    assert len(called_as_they_are(made)) == 1
