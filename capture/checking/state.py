"""What a program reads and changes: the tensors and containers that a function reaches.

In:  a function or module, its arguments.
Out: `State`: puts everything back as it was, so that each run starts alike; tells the tensors by name; holds
     them in float64 for a block.

    State(step, (batch,), {})    ->    "args[0]", "step.model.weight", "step.model.bn.running_mean", ...
"""

from __future__ import annotations

import collections
import contextlib
import copy
import random
import types
from collections.abc import Iterator
from typing import Any

import numpy
import torch

from capture.checking.runs import Results, detached
from capture.checking.truth import in_double

DEEP = 40
#: kinds of containers whose contents are put back
CONTAINERS = (dict, list, set, collections.OrderedDict, collections.defaultdict)
#: packages whose functions and objects hold nothing of a program
FOREIGN = ("torch", "numpy", "builtins", "capture", "codegen", "guards", "cache")
LEAVES = (str, bytes, int, float, complex, bool, type(None), type, torch.dtype, torch.device)


class State:
    """All that is reachable from a function and its arguments when this object is made."""

    def __init__(self, function: Any, args: Any, kwargs: Any) -> None:
        self.roots = {"fn": function, "args": args, "kwargs": kwargs}
        self.tensors: dict[str, torch.Tensor] = {}
        self.containers: list[Any] = []
        for name, value in reached(self.roots):
            if isinstance(value, torch.Tensor):
                self.tensors[name] = value
            elif type(value) in CONTAINERS:
                self.containers.append(value)
        self.values = [detached(tensor) for tensor in self.tensors.values()]
        self.gradients = [tensor.grad if tensor.is_leaf else None for tensor in self.tensors.values()]
        self.gradient_values = [None if grad is None else detached(grad) for grad in self.gradients]
        self.contents = [copy.copy(value) for value in self.containers]
        self.random = torch.get_rng_state(), random.getstate(), numpy.random.get_state()

    def restore(self) -> None:
        """Put everything back."""
        with torch.no_grad():
            for tensor, value in zip(self.tensors.values(), self.values):
                if not torch.equal(tensor, value):
                    tensor.detach().copy_(value)
            for tensor, grad, was in zip(self.tensors.values(), self.gradients, self.gradient_values):
                if tensor.is_leaf:
                    tensor.grad = grad
                if grad is not None and was is not None and not torch.equal(grad, was):
                    grad.detach().copy_(was)
        for container, content in zip(self.containers, self.contents):
            refill(container, content)
        torch.set_rng_state(self.random[0])
        random.setstate(self.random[1])
        numpy.random.set_state(self.random[2])

    def drew_random_numbers(self) -> bool:
        return not torch.equal(self.random[0], torch.get_rng_state())

    def results(self, value: Any) -> Results:
        """By name: the tensors of a result, those of the state that there are now, and their gradients."""
        found: Results = {}
        roots = {"result": value, **self.roots}
        for name, tensor in reached(roots):
            if isinstance(tensor, torch.Tensor):
                found[name] = detached(tensor)
                if tensor.is_leaf and tensor.grad is not None:
                    found[f"{name}.grad"] = detached(tensor.grad)
        for name, number in numbers(value).items():
            found.setdefault(name, number)
        return found

    @contextlib.contextmanager
    def in_float64(self) -> Iterator[bool]:
        """In the block the tensors have float64 data. False where this can't be."""
        changed = [tensor for tensor in self.tensors.values() if in_double(tensor) is not tensor]
        memories = {tensor.untyped_storage().data_ptr() for tensor in changed}
        plain = all(tensor.is_leaf and not tensor.is_inference() for tensor in changed)
        if len(memories) < len(changed) or not plain:
            yield False
            return
        originals = [tensor.data for tensor in changed]
        default = torch.get_default_dtype()
        try:
            for tensor in changed:
                tensor.grad = None
                tensor.data = in_double(tensor.data)
            torch.set_default_dtype(torch.float64)
            yield True
        finally:
            torch.set_default_dtype(default)
            for tensor, original in zip(changed, originals):
                tensor.grad = None
                tensor.data = original


def refill(container: Any, content: Any) -> None:
    """Give a container its former contents, where they are no longer the same objects."""
    if [*map(id, flat(container))] == [*map(id, flat(content))]:
        return
    if isinstance(container, list):
        container[:] = content
        return
    container.clear()
    container.update(content)


def flat(container: Any) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else [*container]


def numbers(value: Any) -> Results:
    """Numbers that a program returns, as tensors: a float has the precision of the tensor it comes from."""
    items = {f"result[{i}]": item for i, item in enumerate(value)} if isinstance(value, tuple | list) else {}
    return {
        name: torch.tensor(item, dtype=torch.float32 if type(item) is float else None)
        for name, item in (items or {"result": value}).items()
        if type(item) in (int, float, bool)
    }


def reached(roots: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The tensors, dicts, lists and sets that can be reached, each once, with a name."""
    seen: set[int] = set()
    waiting = [(name, value, 0) for name, value in reversed(roots.items())]
    while waiting:
        name, value, depth = waiting.pop()
        if isinstance(value, LEAVES) or id(value) in seen or depth > DEEP:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor | dict | list | set) and type(value).__module__ != "weakref":
            yield name, value
        parts = list(inside(name, value))
        waiting += [(part, item, depth + 1) for part, item in reversed(parts)]


def inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What a value holds."""
    if isinstance(value, torch.Tensor):
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{name}[{key!r}]" if isinstance(key, str | int) else f"{name}[...]", item
    elif isinstance(value, list | tuple | set):
        for place, item in enumerate(value):
            yield f"{name}[{place}]", item
    elif isinstance(value, types.MethodType):
        yield name, value.__self__
        yield name, value.__func__
    elif isinstance(value, types.FunctionType):
        if not is_foreign(value):
            yield from of_function(name, value)
    elif isinstance(value, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules"):
            for part, item in vars(value)[table].items():
                yield f"{name}.{part}", item
        yield from of_object(name, value)
    elif is_of_the_program(value):
        yield from of_object(name, value)


def of_object(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    for part, item in vars(value).items():
        yield f"{name}.{part}", item
    yield f"{name}.__dict__", vars(value)


def is_of_the_program(value: Any) -> bool:
    """Whether a program may keep its tensors in this object."""
    if isinstance(value, types.ModuleType) or not hasattr(value, "__dict__"):
        return False
    optimizer = isinstance(value, torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler)
    return optimizer or not is_foreign(type(value))


def is_foreign(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").partition(".")[0] in FOREIGN


def of_function(name: str, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for part, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            yield f"{name}.{part}", cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    for part in code.co_names:
        if part in function.__globals__:
            yield f"{name}.{part}", function.__globals__[part]
    yield f"{name}.__defaults__", function.__defaults__
    yield f"{name}.__dict__", vars(function)
