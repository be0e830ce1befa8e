"""No weak reference to a parameter stays behind a capture: torch refuses to swap tensors that have one."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import capture


@pytest.fixture(autouse=True)
def without_collections() -> Iterator[None]:
    """What waits for a collection is there for a long time."""
    gc.disable()
    yield
    gc.enable()


def stack() -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())


def captured(net: torch.nn.Module, settings: dict[str, Any], grad: bool) -> Any:
    fast = capture.compile(net, **settings)
    with torch.set_grad_enabled(grad):
        result = fast(torch.randn(2, 3)).sum()
    if grad:
        result.backward()
    return fast


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize(
    "settings", [{}, {"dynamic": True}, {"backend": "eager"}, {"backend": "aot_eager"}], ids=str
)
def test_a_swapped_parameter_is_used(settings: dict[str, Any], grad: bool) -> None:
    net, x = stack(), torch.randn(2, 3)
    fast = captured(net, settings, grad)
    assert [weakref.getweakrefs(p) for p in net.parameters()] == [[], []]
    torch.utils.swap_tensors(net[0].weight, torch.nn.Parameter(torch.ones(3, 3)))
    torch.testing.assert_close(fast(x), net(x))


def test_a_conversion_that_swaps() -> None:
    net, x = stack(), torch.randn(2, 3)
    fast = captured(net, {}, False)
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        net.double()
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
    assert fast(x.double()).dtype is torch.float64
    torch.testing.assert_close(fast(x.double()), net(x.double()))
