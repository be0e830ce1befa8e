"""Worlds that change between two calls, as cases.

`make()` gives (function, change): call, change, call again, in eager and captured.
"""

from __future__ import annotations

import functools
import math
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

X = torch.arange(12.0).reshape(3, 4)


@dataclass
class World:
    """`make()` gives (function, change): call, change, call again, eagerly and captured."""

    name: str
    make: Callable[[], tuple[Callable[..., Any], Callable[[], Any]]]
    natively: bool = False  # in native code too


WORLDS: list[World] = []


def world(make: Any) -> Any:
    WORLDS.append(World(make.__name__, make))
    return make


def in_module(source: str) -> dict[str, Any]:
    """A separate module, so that its globals can be changed."""
    module = types.ModuleType("changing_world")
    sys.modules[module.__name__] = module  # dataclasses look there
    module.__dict__.update(torch=torch, math=math, X=X)
    exec(compile(source, __file__, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def with_globals(source: str, change: str) -> Any:
    namespace = in_module(source)
    return namespace["f"], lambda: exec(change, namespace)


class Thing:
    level = 1

    def __init__(self):
        self.k = 1
        self.items = [1]

    def g(self, x):
        return x + self.k

    @property
    def p(self):
        return 3


def thing_world(body: Callable[[Any], Any], change: Callable[[Any, type], Any]) -> Any:
    cls = type("Thing", (), {k: v for k, v in vars(Thing).items() if k not in ("__dict__", "__weakref__")})
    thing = cls()
    return (lambda: body(thing)), (lambda: change(thing, cls))


def module_world(change: Callable[[torch.nn.Module], Any], body: Any = None) -> Any:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(1.0), torch.nn.BatchNorm1d(4))
    net[2].momentum = 0.5
    net.eval()
    return (lambda: (body or (lambda n: n(X)))(net)), (lambda: change(net))


def arguments_world(*calls: tuple[Any, ...]) -> Any:
    """The same function with other arguments: `change` moves on to the next ones."""
    remaining = list(calls)

    def use(*args):
        a, b = args
        if isinstance(b, torch.Tensor) and isinstance(a, torch.Tensor):
            return a * b, a is b, a.dtype, a.stride(), a.requires_grad
        return X * 1, a, b, type(a), type(b)

    return (lambda: use(*remaining[0])), (lambda: remaining.pop(0))


State = types.SimpleNamespace


def state(**fields: Callable[[], Any]) -> Callable[[], Any]:
    """The fields are functions, called for each world anew."""
    return lambda: State(**{name: make() for name, make in fields.items()})


def add_rows(prefix: str, rows: list[tuple[str, Any, Any, Any]]) -> None:
    """A world for each row: name, what makes the state, the called function of it, its change."""
    for name, make, body, change in rows:
        WORLDS.append(World(f"{prefix}_{name}", functools.partial(_world_of_state, make, body, change), True))


def _world_of_state(make: Any, body: Any, change: Any) -> Any:
    state = make()
    function = functools.partial(body, state)
    restore = getattr(state, "restore", None)
    if callable(restore) and not isinstance(state, torch.nn.Module):
        function.restore = restore  # type: ignore[attr-defined]
    return function, (lambda: change(state))


def add_calls(name: str, body: Any, first: Any, then: list[Any]) -> None:
    """A world in which the two calls before the change get arguments that `first` makes. Those behind it get
    what the functions in `then` make, one after the other. What the body does to its arguments is compared.
    """
    WORLDS.append(World(name, functools.partial(_world_of_calls, body, first, then), True))


def _world_of_calls(body: Any, first: Any, then: list[Any]) -> Any:
    makers = [first]

    def called() -> Any:
        args = makers[0]()
        if len(makers) > 1:
            makers.pop(0)
        try:
            return body(*args), args
        except RuntimeError as refused:
            return str(refused), args

    return called, (lambda: makers.__setitem__(slice(None), then))
