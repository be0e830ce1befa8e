"""Lazy modules: the first call initializes them before the frame.

Values, random state and graphs are as if they had been initialized before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter, is_lazy

import capture
from capture.report.config import config
from tests.capture.test_cases import Counting


class Scale(LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = UninitializedParameter()

    def initialize_parameters(self, xs, shift=None):
        with torch.no_grad():
            self.weight.materialize((xs[0].shape[-1],))
            self.weight.fill_(self.start(xs[0]))

    def start(self, x):
        return 0.5

    def forward(self, xs, shift=None):
        return sum(x * self.weight for x in xs) + shift


class ByValue(Scale):
    """Needs the values of its first input: the half-done work without them is undone, and Python runs it."""

    def start(self, x):
        return float(x.sum())


class Whole(LazyModuleMixin, nn.Module):
    """Makes its parameter in the first call; it has none that waits for a size."""

    def initialize_parameters(self, x):
        self.weight = nn.Parameter(torch.ones(x.shape[-1]))

    def forward(self, x):
        return x * self.weight


class OfLazyParts(LazyModuleMixin, nn.Module):
    """Its parts are initialized by a call, which needs values: what was done without them is undone."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LazyLinear(5), nn.LazyLinear(2)

    def initialize_parameters(self, x):
        with torch.no_grad():
            self.second(self.first(x))

    def forward(self, x):
        return self.second(self.first(x).relu())


def doubled_first():
    net = nn.LazyLinear(5)
    net.register_forward_pre_hook(lambda net, given: (torch.cat([given[0]] * 2, -1),), prepend=True)
    return net


def call(net, x):
    return net(x)


def look_and_call(look):
    def function(net, x):
        before = look(net)
        return torch.cat([net(x).flatten(), torch.tensor([float(before)])])

    return function


#: name -> (module, function of module and input, graphs; None: not one graph)
CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[Any, Any], Any], int | None]] = {
    "linear": (lambda: nn.LazyLinear(5), call, 1),
    "sequence": (lambda: nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.LazyLinear(2)), call, 1),
    "batch norm": (lambda: nn.Sequential(nn.Unflatten(1, (4, 1)), nn.LazyConv1d(5, 1), nn.LazyBatchNorm1d()),
                   call, 1),
    "of the user": (Scale, lambda net, x: net([x, x + 1], shift=torch.ones(4)), 1),
    "draws behind it": (lambda: nn.LazyLinear(5), lambda net, x: net(x) + torch.rand(5), 1),
    "draws before it": (lambda: nn.LazyLinear(5), lambda net, x: net(x + torch.rand(4)), None),
    "without a lazy parameter": (Whole, call, 1),
    "of lazy parts": (OfLazyParts, call, None),
    "a hook in front": (doubled_first, call, None),
    "its class": (lambda: nn.LazyLinear(5), look_and_call(lambda net: type(net) is nn.Linear), None),
    "its bases": (lambda: nn.LazyLinear(5), look_and_call(lambda net: isinstance(net, nn.LazyLinear)), None),
    "its class by attribute": (lambda: nn.LazyLinear(5),
                               look_and_call(lambda net: net.__class__ is nn.Linear), None),
    "its state": (lambda: nn.LazyLinear(5),
                  look_and_call(lambda net: getattr(net, "has_uninitialized_params", bool)()), None),
    "its sizes": (lambda: nn.LazyLinear(5), look_and_call(lambda net: net.in_features), None),
    "its hooks": (lambda: nn.LazyLinear(5), look_and_call(lambda net: len(net._forward_pre_hooks)), None),
    "its parameters": (lambda: nn.Sequential(nn.LazyLinear(5)),
                       look_and_call(lambda net: sum(is_lazy(p) for p in net.parameters())), None),
    "its mode": (lambda: nn.LazyLinear(5), look_and_call(lambda net: net.eval().training), 1),
    "by value": (ByValue, lambda net, x: net([x * 2], shift=1), None),
}  # fmt: skip


def two_calls(make: Any, function: Any) -> list[Any]:
    torch.manual_seed(0)
    net, x = make(), torch.randn(3, 4)
    results = [function(net, x), function(net, x)]
    return [*results, *net.state_dict().values(), [type(m) for m in net.modules()], torch.rand(1)]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_lazy_module(name: str, dynamic: bool) -> None:
    make, function, graphs = CASES[name]
    expected = two_calls(make, function)
    backend = Counting()
    capture.reset()
    captured = capture.compile(function, backend=backend, dynamic=dynamic)
    with config.patch(raise_on_error=True):
        found = two_calls(make, captured)
    assert len(found) == len(expected)
    for one, two in zip(found, expected):
        assert torch.equal(one, two) if isinstance(two, torch.Tensor) else one == two
    assert graphs is None or backend.graphs == graphs


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "make", [lambda: nn.LazyLinear(5), lambda: nn.LazyBatchNorm1d(), lambda: nn.Sequential(nn.LazyLinear(5))]
)
def test_the_module_itself_is_compiled(make, dynamic) -> None:
    expected = two_calls(make, call)
    backend = Counting()
    capture.reset()
    found = two_calls(make, lambda net, x: capture.compile(net, backend=backend, dynamic=dynamic)(x))
    for one, two in zip(found, expected, strict=True):
        assert torch.equal(one, two) if isinstance(two, torch.Tensor) else one == two
    assert backend.graphs == 1
