"""The machine's cached look-ups stay true: random changes of objects, classes and dicts, with one program."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import _capture
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guards.guard_set import GuardSet
from guards.program import encode
from guards.sources import AttrSource, DictItemSource, GlobalSource, ItemSource, Source
from guards.twin import PythonProgram
from tests.guards.world import World, X, Y

NAMES = ("a", "b", "weight")
Step = tuple[str, str, int]


def plain_class() -> type:
    return type("Subject", (type("Base", (), {}),), {})


def module_class() -> type:
    return type("SubjectModule", (torch.nn.Module,), {})


def delete(mapping: Any, name: str) -> None:
    mapping.pop(name, None)


def delete_from_class(cls: type, name: str) -> None:
    if name in vars(cls):
        delattr(cls, name)


def set_as_attribute(x: Any, name: str, value: Any) -> None:
    """Sets it as the interpreter does (inline values), unless a property is in the way."""
    if not isinstance(getattr(type(x), name, None), property):
        object.__setattr__(x, name, value)


def set_table(table: str) -> Callable[[Any, str, Any], Any]:
    return lambda x, name, value: vars(x).get(table, {}).__setitem__(name, value)


# Each: object, name, value. Values are small ints and strs, enough to tell them apart.
STEPS: dict[str, Callable[[Any, str, Any], Any]] = {
    "set": lambda x, name, value: vars(x).__setitem__(name, value),
    "set as attribute": set_as_attribute,
    "delete": lambda x, name, value: delete(vars(x), name),
    "class": lambda x, name, value: setattr(type(x), name, value),
    "base class": lambda x, name, value: (
        setattr(type(x).__mro__[1], name, value) if type(x).__mro__[1] is not torch.nn.Module else None
    ),
    "class forgets": lambda x, name, value: delete_from_class(type(x), name),
    "property": lambda x, name, value: setattr(type(x), name, property(lambda self: value)),
    "parameters": set_table("_parameters"),
    "buffers": set_table("_buffers"),
    "modules": set_table("_modules"),
    "no parameter": lambda x, name, value: delete(vars(x).get("_parameters", {}), name),
    "no buffer": lambda x, name, value: delete(vars(x).get("_buffers", {}), name),
    "other table": lambda x, name, value: vars(x).__setitem__("_parameters", {name: value}),
    "grow": lambda x, name, value: vars(x).update({f"filler{i}": i for i in range(40)}),
    "shrink": lambda x, name, value: [delete(vars(x), f"filler{i}") for i in range(40)],
    "read": lambda x, name, value: getattr(x, name, None),
}


def replace(world: World, step: Step, make: Callable[[], type]) -> None:
    kind, name, value = step
    if kind == "new object":
        world.names["x"] = type(world.x)()
    elif kind == "new class":
        world.names["x"] = make()()
    else:
        STEPS[kind](world.x, name, value)


steps = st.lists(
    st.tuples(
        st.sampled_from([*STEPS, "new object", "new class"]), st.sampled_from(NAMES), st.integers(0, 5)
    ),
    max_size=25,
)


def same_as_twin(world: World, sources: list[Source], changes: list[Callable[[], None]]) -> None:
    """One program for each source, checked after each change."""
    code = world.function.__code__
    programs = [
        (encode(GuardSet(), [source], code), PythonProgram(GuardSet(), [source], code, _capture.NULL))
        for source in sources
    ]
    for change in (lambda: None, lambda: None, *changes):
        change()
        for native, twin in programs:
            for _ in range(2):
                seen, expected = native.check(*world.arguments), twin.check(*world.arguments)
                assert seen[0] == expected[0]
                assert seen[1] is None or seen[1][0] is expected[1][0]  # type: ignore[index]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([plain_class, module_class]), steps)
def test_attributes(make: Callable[[], type], sequence: list[Step]) -> None:
    world = World({"x": make()()})
    changes = [lambda step=step: replace(world, step, make) for step in sequence]
    same_as_twin(world, [AttrSource(X, name) for name in NAMES], changes)


keys = st.sampled_from(["a", "b", 1, True, 2.0, None, (1, "a"), "".join(["a", "b"])])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["set", "delete", "clear", "grow", "new", "reorder"]), keys, st.integers(0, 5)
        ),
        max_size=25,
    )
)
def test_dict_items(sequence: list[tuple[str, Any, int]]) -> None:
    world = World({"y": {}})

    def apply(kind: str, key: Any, value: int) -> None:
        mapping = world.y
        if kind == "set":
            mapping[key] = value
        elif kind == "delete":
            mapping.pop(key, None)
        elif kind == "reorder":
            mapping[key] = mapping.pop(key, 0)
        else:
            {
                "clear": mapping.clear,
                "grow": lambda: mapping.update({f"k{i}": i for i in range(50)}),
                "new": lambda: world.names.update(y=dict(mapping)),
            }[kind]()
        world.globals["ab"] = value

    sources: list[Source] = [DictItemSource(Y, key) for key in ("a", "ab", 1, None, (1, "a"), 2)]
    changes = [lambda step=step: apply(*step) for step in sequence]
    same_as_twin(world, [*sources, GlobalSource("ab")], changes)


def test_names_made_at_run_time() -> None:
    """Children of a Sequential have names that are not interned strs."""
    model = torch.nn.Sequential(*(torch.nn.Linear(1, 1) for _ in range(12)))
    world = World({"x": model})
    sources: list[Source] = [AttrSource(AttrSource(X, str(i)), "weight") for i in range(12)]
    same_as_twin(
        world,
        sources,
        [
            lambda: model.__setitem__(3, torch.nn.Linear(1, 1)),
            lambda: model.append(torch.nn.ReLU()),
            lambda: model.__delitem__(11),
        ],
    )


def test_instances_without_dict_and_classes() -> None:
    class Meta(type):
        kind = "meta"

    class Slotted(metaclass=Meta):
        __slots__ = ("a",)
        shared = [1]

    world = World({"x": [Slotted(), Slotted, types.SimpleNamespace(a=1), torch, 3]})
    sources: list[Source] = [
        AttrSource(ItemSource(X, i), name)
        for i in range(5)
        for name in ("a", "shared", "kind", "real", "nn", "__name__")
    ]

    def fill() -> None:
        world.x[0].a = 5

    same_as_twin(
        world,
        sources,
        [
            fill,
            lambda: setattr(Slotted, "shared", 2),
            lambda: setattr(Meta, "kind", 3),
            lambda: setattr(Slotted, "kind", 4),
        ],
    )
