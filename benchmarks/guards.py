"""Nanoseconds of each kind of guard in the native machine.

In:  nothing (`python -m benchmarks.guards`).
Out: a table: the guarded property, and the nanoseconds of its instructions for a run (without those of the
     empty program), the best of several repetitions.

A row is a guard set on one set of values; a row with many guards gives the cost of one of them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from guards.guard import Guard
from guards.guard_set import GuardSet
from guards.kinds.attributes import FunctionGuard, module_guards
from guards.kinds.constants import ConstantGuard
from guards.kinds.containers import LengthGuard
from guards.kinds.identity import ExactTypeGuard, IdentityGuard
from guards.kinds.state import GlobalStateGuard
from guards.kinds.tensors import SharedStorageGuard, TensorGuard
from guards.program import encode
from guards.sources import (
    AttrSource,
    DictItemSource,
    GlobalSource,
    ItemSource,
    LocalSource,
    Source,
)

RUNS = 200_000
REPETITIONS = 7
MODEL, X, ITEMS = LocalSource("model"), LocalSource("x"), LocalSource("items")
COPIES = 10

GLOBALS: dict[str, Any] = {f"name{i}": i for i in range(100)}


def frame_function(model: Any, x: Any, items: Any) -> None:
    """The programs are encoded for the code object of this function."""


class Config:
    def __init__(self) -> None:
        for index in range(COPIES):
            setattr(self, f"field{index}", index)


class LayerModel(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for index in range(COPIES):
            self.register_parameter(f"weight{index}", torch.nn.Parameter(torch.ones(4, 4)))
        self.inner = torch.nn.ReLU()


def nanoseconds(guards: list[Guard], slots: list[Source], arguments: tuple[Any, ...]) -> float:
    """The time of one run of the program of these guards, the best of several repetitions."""
    function = FunctionType(frame_function.__code__, GLOBALS)
    program = encode(GuardSet(guards), slots, function.__code__)
    frame = (arguments, GLOBALS, vars(builtins), function)
    return min(program.time(*frame, RUNS) for _ in range(REPETITIONS)) / RUNS * 1e9


Row = Callable[[tuple[Any, ...]], list[Guard]]
ROWS: dict[str, tuple[int, Row]] = {
    "type of an argument": (1, lambda a: [ExactTypeGuard.of(X, a[1])]),
    "identity of an item": (
        COPIES,
        lambda a: [IdentityGuard.of(ItemSource(ITEMS, i), a[2][i]) for i in range(COPIES)],
    ),
    "int of an item": (COPIES, lambda a: [ConstantGuard.of(ItemSource(ITEMS, i), i) for i in range(COPIES)]),
    "list type and length": (1, lambda a: [ExactTypeGuard.of(ITEMS, a[2]), LengthGuard.of(ITEMS, a[2])]),
    "tensor": (1, lambda a: [TensorGuard.of(X, a[1])]),
    "global, int": (
        COPIES,
        lambda a: [ConstantGuard.of(GlobalSource(f"name{i * 7}"), i * 7) for i in range(COPIES)],
    ),
    "attribute of an object": (
        COPIES,
        lambda a: [
            ConstantGuard.of(AttrSource(ItemSource(ITEMS, COPIES), f"field{i}"), i) for i in range(COPIES)
        ],
    ),
    "item of a dict": (
        COPIES,
        lambda a: [
            ConstantGuard.of(DictItemSource(ItemSource(ITEMS, COPIES + 1), i), i) for i in range(COPIES)
        ],
    ),
    "parameter, identity": (
        COPIES,
        lambda a: [
            IdentityGuard.of(AttrSource(MODEL, f"weight{i}"), getattr(a[0], f"weight{i}"))
            for i in range(COPIES)
        ],
    ),
    "parameter, tensor": (
        COPIES,
        lambda a: [
            TensorGuard.of(AttrSource(MODEL, f"weight{i}"), getattr(a[0], f"weight{i}"))
            for i in range(COPIES)
        ],
    ),
    "submodule": (1, lambda a: [ExactTypeGuard.of(AttrSource(MODEL, "inner"), a[0].inner)]),
    "method of a class": (
        1,
        lambda a: [FunctionGuard.of(AttrSource(MODEL, "children"), torch.nn.Module.children)],
    ),
    "module": (1, lambda a: module_guards(MODEL, a[0])),
    "global state": (1, lambda a: [GlobalStateGuard.of()]),
    "aliasing of tensors": (
        COPIES,
        lambda a: [SharedStorageGuard.none([AttrSource(MODEL, f"weight{i}") for i in range(COPIES)])],
    ),
}


def mixed(a: tuple[Any, ...]) -> list[Guard]:
    """Thirty guards, as a small model has them."""
    names = [AttrSource(MODEL, f"weight{i}") for i in range(8)]
    return [
        GlobalStateGuard.of(),
        *module_guards(MODEL, a[0]),
        *(TensorGuard.of(name, getattr(a[0], name.name)) for name in names),
        TensorGuard.of(X, a[1]),
        SharedStorageGuard.none([X, *names]),
        *(ConstantGuard.of(GlobalSource(f"name{i}"), i) for i in range(8)),
        *(ConstantGuard.of(ItemSource(ITEMS, i), i) for i in range(4)),
        LengthGuard.of(ITEMS, a[2]),
    ]


def main() -> None:
    """Prints the table."""
    arguments = (LayerModel(), torch.ones(4, 4), [*range(COPIES), Config(), {i: i for i in range(50)}])
    empty = nanoseconds([], [], arguments)
    print(f"{'empty program':30s} {empty:8.1f} ns")
    for name, (count, make) in ROWS.items():
        total = nanoseconds(make(arguments), [], arguments) - empty
        print(f"{name:30s} {total / count:8.1f} ns{f' each of {count}' if count > 1 else ''}")
    guards = mixed(arguments)
    slots = [X, *(AttrSource(MODEL, f"weight{i}") for i in range(8))]
    what = f"{len(GuardSet(guards))} mixed guards, {len(slots)} slots"
    print(f"{what:30s} {nanoseconds(guards, slots, arguments) - empty:8.1f} ns")


if __name__ == "__main__":
    main()
