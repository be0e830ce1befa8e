"""Order, duplicates, references of a guard set; texts of guards and failures."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch

from guards import guard as g
from guards.conditions import apply, constant, from_sympy, load, size
from guards.failure import describe, explain_failure
from guards.guard_set import GuardSet
from guards.kinds import GuardKind
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
            g.tensor_match(ItemSource(X, 1), x[1]),
            g.constant_match(ItemSource(X, 0), 1),
            g.length_match(X, x),
            g.type_match(X, x),
            g.global_state(),
        ]
    )
    kinds = [
        GuardKind.GLOBAL_STATE,
        GuardKind.TYPE,
        GuardKind.LENGTH,
        GuardKind.CONSTANT,
        GuardKind.TENSOR_MATCH,
    ]
    assert [guard.kind for guard in guards] == kinds


def test_duplicates_and_implied_guards_go() -> None:
    tensor = torch.ones(2)
    guards = GuardSet(
        [
            g.type_match(X, 1),
            g.constant_match(X, 1),
            g.constant_match(LocalSource("x"), 1),
            g.type_match(Y, tensor),
            g.tensor_match(Y, tensor),
        ]
    )
    assert [guard.text for guard in guards] == ["x == 1", "y: float32[2] strides [1] on cpu"]


def test_constants_that_compare_equal_are_two_guards() -> None:
    assert (
        len(
            GuardSet(
                [
                    g.constant_match(X, 1),
                    g.constant_match(X, True),
                    g.constant_match(X, 1.0),
                    g.constant_match(X, -0.0),
                    g.constant_match(X, 0.0),
                ]
            )
        )
        == 5
    )


class Big:
    pass


def test_identity_guards_hold_weakly() -> None:
    big, small = Big(), [1]
    guards = GuardSet([g.id_match(X, big), g.id_match(Y, small), g.type_match(X, big)])
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
    guards = GuardSet([g.not_none(source)])
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
    guards = GuardSet([g.type_match(X, world.x), g.id_match(X, world.x)])
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


def explained(guard: g.Guard, world: World, change: Any) -> str:
    guards = GuardSet([guard])
    change(world)
    return explain_failure(guards, 0, world.namespace).text


def test_failure_texts() -> None:
    tensor = torch.ones(2, 3)
    world = World({"x": tensor})
    text = explained(g.tensor_match(X, tensor), world, lambda w: w.names.update(x=torch.ones(4, 3)))
    assert text == "x: was [x: float32[2, 3] strides [3, 1] on cpu], now [sizes [4, 3], was [2, 3]]"
    world = World({"x": [1, 2]})
    assert (
        explained(g.length_match(X, [1, 2]), world, lambda w: w.x.append(3))
        == "x: was [len(x) == 2], now [length 3]"
    )
    assert explained(g.constant_match(ItemSource(X, 9), 1), world, lambda w: None).endswith(
        "now [index 9 is out of range]"
    )
    with torch.no_grad():
        state = g.global_state()
    assert (
        explained(state, world, lambda w: None)
        == "global state of torch: was [grad_mode=0], now [grad_mode=1]"
    )
    assert explained(g.type_match(X, 1), world, lambda w: None).endswith("now [<class 'list'>]")


def test_every_text_names_its_source() -> None:
    for guard in (
        g.has_attr(X, [], "a"),
        g.no_attr(X, "a"),
        g.dict_contains(X, "k", False),
        g.set_contents(X, {1}),
        g.grad_none(X, torch.ones(1)),
        g.tensor_unwritten(X, torch.ones(1)),
    ):
        assert "x" in describe(guard)


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
