"""Registries of modules that the frame replaces by others, as `nn.Module.__init__` does."""

from __future__ import annotations

import collections
from typing import Any

import pytest
import torch

import capture


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)


class Wrapping(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner
        module: torch.nn.Module = self
        while hasattr(module, "inner"):
            module = module.inner
        self.innermost = type(module)
        self.scale = torch.ones(2) * 3


def one_more(module: Any, args: Any) -> Any:
    return (args[0] + 1,)


def hundredfold(module: Any, args: Any, result: Any) -> Any:
    return result * 100


def replaces_modules(module: Any, x: torch.Tensor, other: torch.nn.Module) -> Any:
    module._modules = {"other": other}
    return x + 1 if hasattr(module, "lin") else x - 1, hasattr(module, "other")


def replaces_them_in_the_dict(module: Any, x: torch.Tensor, other: torch.nn.Module) -> Any:
    module.__dict__["_modules"] = {"other": other}
    module.third = other
    return module.third(x), hasattr(module, "lin"), len(module._modules)


def shares_parameters(module: Any, x: torch.Tensor, other: torch.nn.Module) -> Any:
    module._parameters = other._parameters
    return x @ module.weight


def initializes_again(module: Any, x: torch.Tensor, other: torch.nn.Module) -> Any:
    torch.nn.Module.__init__(module)
    missing = hasattr(module, "lin")
    module.lin = other
    return module.lin(x), missing


def replaces_hooks(module: Any, x: torch.Tensor, other: torch.nn.Module) -> Any:
    other._forward_hooks = collections.OrderedDict({1: hundredfold, 2: hundredfold})
    return other(x)


def removes_hooks(module: Any, x: torch.Tensor, other: torch.nn.Module) -> Any:
    other._forward_hooks = collections.OrderedDict()
    return other(x)


FUNCTIONS = [
    replaces_modules,
    replaces_them_in_the_dict,
    shares_parameters,
    initializes_again,
    replaces_hooks,
    removes_hooks,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_replaced_registries(function: Any) -> None:
    x = torch.randn(2, 3)
    results = []
    for run in (function, capture.compile(function)):
        torch.manual_seed(0)
        module, other = Net(), torch.nn.Linear(3, 3)
        other.register_forward_hook(hundredfold)
        other.register_forward_pre_hook(one_more)
        results.append(run(module, x, other))
    torch.testing.assert_close(*results)


def test_init_finds_what_it_has_registered() -> None:
    """Python calls the class, and the frame of `__init__` is captured by itself."""
    inner = torch.nn.Linear(2, 2)
    initialize = capture.compile(Wrapping.__init__)
    for _ in range(2):
        module = Wrapping.__new__(Wrapping)
        initialize(module, inner)
        assert module.innermost is torch.nn.Linear
