"""Sizes that a guard fixes to 1 without giving a value of their symbols: such a dim is expanded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import capture

PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "remainder": lambda x: x[: x.shape[0] % 2] + x,
    "quotient": lambda x: x[: x.shape[0] // 3] * x,
    "the other half": lambda x: x[x.shape[0] // 2 :] * 2 * x[: x.shape[0] // 2 + 1],
    "chunk": lambda x: x.chunk(2, -1)[-1] + x[:2],
    "stacked": lambda x: torch.maximum(torch.stack([x[: x.shape[0] % 2], x[: x.shape[0] % 2] * 2]), x),
    "new": lambda x: torch.full((x.shape[0] // 4,), 2.0) + x,
    "a product": lambda x: x[:, None][:, : x.shape[0] // 3] * x,
    "windows": lambda x: x.unfold(0, x.shape[0] // 2 + 1, x.shape[0]).sum(1) + x,
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_gradients(name: str, dynamic: bool | None, requires_grad: bool) -> None:
    function = PROGRAMS[name]
    capture.reset()
    captured = capture.compile(function, dynamic=dynamic)
    for size in (3, 5, 3, 4, 2, 5, 7, 3):
        found = []
        for form in (captured, function):
            x = torch.arange(1.0, size + 1).requires_grad_(requires_grad)
            try:
                result = form(x)
            except RuntimeError:
                found.append(None)
                continue
            if requires_grad:
                result.square().sum().backward()
            found.append((result.detach(), x.grad))
        torch.testing.assert_close(*found)
