"""`C.__dict__`: the attributes of the class itself, also if they change between two calls."""

from __future__ import annotations

import torch

import capture

x = torch.ones(3)


def classes():
    class Base:
        scale = 2

        def method(self):
            return 3

    class Derived(Base):
        shift = 1

    return Base, Derived


def asked(x, cls):
    names = [c.__name__ for c in cls.__mro__ if "scale" in c.__dict__]
    held = cls.__dict__.get("scale", 5), vars(cls).get("shift"), "missing" in cls.__dict__
    try:
        cls.__dict__["scale"]
    except KeyError as error:
        return x + held[0], names, held, str(error)
    return x + held[0], names, held, cls.__dict__["scale"]


def check(compiled, cls):
    found, expected = compiled(x, cls), asked(x, cls)
    assert torch.equal(found[0], expected[0])
    assert found[1:] == expected[1:]


def test_what_a_class_has_is_seen_when_it_changes():
    compiled = capture.compile(asked, backend="eager", fullgraph=True)
    base, derived = classes()
    check(compiled, derived)
    check(compiled, base)
    base.scale = 7
    check(compiled, base)
    derived.scale = 7  # equal to the base's, and to the class's own
    check(compiled, derived)
    del base.scale
    check(compiled, base)
    check(compiled, derived)
    derived.missing = None
    check(compiled, derived)


def test_a_class_of_the_frame():
    def local(x):
        class Held:
            tensor = x * 2

            def method(self):
                return 3

        return Held.__dict__["tensor"] + Held.__dict__["method"](Held()), "other" in Held.__dict__

    value, there = capture.compile(local, backend="eager", fullgraph=True)(x)
    assert torch.equal(value, x * 2 + 3)
    assert not there
