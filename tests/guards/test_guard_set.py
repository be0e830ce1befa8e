"""Order, duplicates, references of a guard set; texts of guards and failures."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch

from guards.conditions import apply, constant, from_sympy, load, size
from guards.failure import explain_failure
from guards.guard import Guard
from guards.guard_set import GuardSet
from guards.kinds.attributes import HasAttributeGuard, NoAttributeGuard
from guards.kinds.constants import ConstantGuard
from guards.kinds.containers import DictContainsGuard, LengthGuard, SetContentsGuard
from guards.kinds.identity import ExactTypeGuard, IdentityGuard
from guards.kinds.state import GlobalStateGuard
from guards.kinds.tensors import TensorGuard, UnwrittenTensorGuard
from guards.program import encode
from guards.sources import (
    AttrSource,
    DictItemSource,
    GlobalSource,
    GradSource,
    ItemSource,
    LocalSource,
)
from tests.guards.world import World, X, Y


def test_wholes_before_parts_and_cheap_before_dear() -> None:
    x = [1, torch.ones(2)]
    guards = GuardSet(
        [
            TensorGuard.of(ItemSource(X, 1), x[1]),
            ConstantGuard.of(ItemSource(X, 0), 1),
            LengthGuard.of(X, x),
            ExactTypeGuard.of(X, x),
            GlobalStateGuard.of(),
        ]
    )
    kinds = [
        GlobalStateGuard,
        ExactTypeGuard,
        LengthGuard,
        ConstantGuard,
        TensorGuard,
    ]
    assert [type(guard) for guard in guards] == kinds


def test_duplicates_and_implied_guards_go() -> None:
    tensor = torch.ones(2)
    guards = GuardSet(
        [
            ExactTypeGuard.of(X, 1),
            ConstantGuard.of(X, 1),
            ConstantGuard.of(LocalSource("x"), 1),
            ExactTypeGuard.of(Y, tensor),
            TensorGuard.of(Y, tensor),
        ]
    )
    assert [guard.text for guard in guards] == ["x == 1", "y: float32[2] strides [1] on cpu"]


def test_constants_that_compare_equal_are_two_guards() -> None:
    assert (
        len(
            GuardSet(
                [
                    ConstantGuard.of(X, 1),
                    ConstantGuard.of(X, True),
                    ConstantGuard.of(X, 1.0),
                    ConstantGuard.of(X, -0.0),
                    ConstantGuard.of(X, 0.0),
                ]
            )
        )
        == 5
    )


class Big:
    pass


def test_identity_guards_hold_weakly() -> None:
    big, small = Big(), [1]
    guards = GuardSet([IdentityGuard.of(X, big), IdentityGuard.of(Y, small), ExactTypeGuard.of(X, big)])
    assert {id(item) for item in guards.weak_objects()} == {id(big), id(Big)}
    assert [id(item) for item in guards.strong_objects()] == [id(small)]
    dead = weakref.ref(big)
    del big
    gc.collect()
    assert dead() is None
    assert None in guards.weak_objects()


def test_a_key_object_is_not_kept() -> None:
    key = torch.ones(2)
    source = DictItemSource(X, key)
    guards = GuardSet([ConstantGuard.of(source, 1)])
    assert guards.weak_objects()[0] is key
    assert source == DictItemSource(X, key) != DictItemSource(X, torch.ones(2))
    dead = weakref.ref(key)
    del key
    gc.collect()
    assert dead() is None


def test_keys_of_slots_are_watched() -> None:
    key = torch.ones(2)
    world = World({"x": {key: 1}})
    guards = GuardSet()
    encode(guards, [DictItemSource(X, key)], world.function.__code__)
    assert [id(item) for item in guards.weak_objects()] == [id(key)]


def test_identity_does_not_imply_the_type() -> None:
    class Other(Big):
        pass

    world = World({"x": Big()})
    guards = GuardSet([ExactTypeGuard.of(X, world.x), IdentityGuard.of(X, world.x)])
    program = encode(guards, [], world.function.__code__)
    assert program.check(*world.arguments)[0] == -1
    world.x.__class__ = Other
    assert program.check(*world.arguments)[0] >= 0


def test_sources_by_place() -> None:
    assert AttrSource(X, "a") == AttrSource(LocalSource("x"), "a") != AttrSource(Y, "a")
    assert DictItemSource(X, 1) != DictItemSource(X, True)
    assert len({ItemSource(X, 0, "label"), ItemSource(X, 0)}) == 1
    assert AttrSource(ItemSource(GlobalSource("config"), 2), "scale").text == "G['config'][2].scale"
    assert GradSource(AttrSource(X, "w")).chain() == [X, AttrSource(X, "w"), GradSource(AttrSource(X, "w"))]


def explained(guard: Guard, world: World, change: Any) -> str:
    guards = GuardSet([guard])
    change(world)
    return explain_failure(guards, 0, world.namespace).text


def test_failure_texts() -> None:
    tensor = torch.ones(2, 3)
    world = World({"x": tensor})
    text = explained(TensorGuard.of(X, tensor), world, lambda w: w.names.update(x=torch.ones(4, 3)))
    assert text == "x: was [float32[2, 3] strides [3, 1] on cpu], now [sizes [4, 3], was [2, 3]]"
    world = World({"x": [1, 2]})
    assert (
        explained(LengthGuard.of(X, [1, 2]), world, lambda w: w.x.append(3))
        == "x: was [len(x) == 2], now [length 3]"
    )
    assert explained(ConstantGuard.of(ItemSource(X, 9), 1), world, lambda w: None).endswith(
        "now [index 9 is out of range]"
    )
    with torch.no_grad():
        state = GlobalStateGuard.of()
    assert (
        explained(state, world, lambda w: None)
        == "global state of torch: was [grad mode off], now [grad mode on]"
    )
    assert explained(ExactTypeGuard.of(X, 1), world, lambda w: None).endswith("now [<class 'list'>]")


def test_every_text_names_its_source() -> None:
    for guard in (
        HasAttributeGuard.of(X, [], "a"),
        NoAttributeGuard.of(X, "a"),
        DictContainsGuard.of(X, "k", False),
        SetContentsGuard.of(X, {1}),
        IdentityGuard.of(GradSource(X), None),
        UnwrittenTensorGuard.of(X, torch.ones(1)),
    ):
        assert "x" in guard.text


def test_shape_expression_text_and_sympy() -> None:
    import sympy

    s0, s1 = sympy.symbols("s0 s1", integer=True, positive=True)
    places = {s0: size(X, 0), s1: load(Y)}
    expression = from_sympy(sympy.Eq(sympy.Mod(s0 * s1 + 3, 4), 1), places)
    for a in range(1, 6):
        for b in range(1, 6):
            values = {"x.size(0)": a, "y": b}
            got = expression.evaluate(tuple(values[source.text] for source in expression.sources))
            assert got == ((a * b + 3) % 4 == 1)
    assert apply("le", size(X, 0), constant(8)).text == "x.size(0) <= 8"
    assert apply("eq", apply("add", load(Y), constant(1)), size(X, 1)).text == "(y + 1) == x.size(1)"
