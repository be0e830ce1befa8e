"""Bodies of branches, loops and transforms read the world: a change between two calls is seen.

Eager runs most of these calls through torch.compile, so a fresh capture gives the expected results.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.map import map as map_slices
from torch.utils import _pytree as pytree

import capture

world = SimpleNamespace()


def body(a):
    return a * world.factor + world.shift


def fresh_world() -> None:
    torch.manual_seed(0)
    world.factor, world.bound = 1.5, torch.tensor(1.0)
    world.weight, world.shift = torch.full((4,), 2.0), torch.ones(4)
    world.net, world.function = nn.Linear(4, 4), body


def branch(x):
    return torch.cond(
        x.sum() > world.bound,
        lambda a: world.function(a) * world.factor,
        lambda a: world.net(a) + world.weight,
        (x,),
    )


def mapped(x):
    return map_slices(lambda row: world.function(row) * world.factor + world.net(row) + world.weight, x)


def scanned(x):
    return scan(lambda c, row: (c * world.factor + world.function(row), c + world.weight), x[0] * 0, x)


def looped(x):
    return while_loop(
        lambda i, a: i < world.bound + 1, lambda i, a: (i + 1, world.function(a)), (torch.tensor(0), x)
    )


def combined(x):
    return associative_scan(lambda a, b: a * world.factor + world.function(b), x, 0, combine_mode="generic")


def transformed(x):
    gradient = torch.func.grad(lambda a: (world.function(a) * world.factor).sin().sum())(x)
    return gradient, torch.vmap(lambda row: world.net(row) + world.weight)(x)


CHANGES: dict[str, Callable[[], Any]] = {
    "factor": lambda: setattr(world, "factor", -0.5),
    "type of factor": lambda: setattr(world, "factor", torch.tensor(3.0)),
    "bound": lambda: setattr(world, "bound", torch.tensor(-100.0)),
    "weight": lambda: setattr(world, "weight", torch.full((4,), -1.0)),
    "weight in place": lambda: world.weight.mul_(3),
    "size of weight": lambda: setattr(world, "weight", torch.ones(1)),
    "function": lambda: setattr(world, "function", lambda a: a - 7),
    "net": lambda: setattr(world, "net", nn.Linear(4, 4)),
    "forward": lambda: setattr(world.net, "forward", lambda a: a * 0),
    "hook": lambda: world.net.register_forward_hook(lambda net, given, out: out * 2),
    "shift": lambda: world.shift.add_(2),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("program", [branch, mapped, scanned, looped, combined, transformed])
def test_a_change_is_seen(program, change):
    fresh_world()
    capture.reset()
    captured, x = capture.compile(program, backend="eager"), torch.randn(3, 4)
    with torch.no_grad():
        first = captured(x)
        CHANGES[change]()
        found = captured(x)
        capture.reset()
        expected = capture.compile(program, backend="eager")(x)
    assert pytree.tree_structure(first) == pytree.tree_structure(expected)
    torch.testing.assert_close(found, expected)
