"""Classes made by `capture_records.dataclass` behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from capture_records import dataclass

NAN = float("nan")  # its hash is that of the object
MAKERS = {"standard library": dataclasses.dataclass, "ours": dataclass}
KINDS: list[dict[str, bool]] = [
    {"eq": eq, "frozen": frozen, "slots": slots}
    for eq in (True, False)
    for frozen in (True, False)
    for slots in (True, False)
]


def family(maker: Any, kind: dict[str, bool]) -> tuple[type, type, type, type]:
    """Classes with no field, one, several, and with a base."""

    @maker(**kind)
    class Nothing:
        pass

    @maker(**kind)
    class One:
        value: Any

    @maker(**kind)
    class Base:
        limit: ClassVar[int] = 3
        first: int
        second: list[int] = dataclasses.field(default_factory=list)
        hidden: int = dataclasses.field(default=7, compare=False, repr=False)

        def total(self) -> int:
            return self.first + sum(self.second)

    @maker(**kind)
    class Derived(Base):
        third: str = "c"
        made: list[int] = dataclasses.field(init=False, default_factory=lambda: [1])

        def __post_init__(self) -> None:
            object.__setattr__(self, "third", self.third * 2)

    return Nothing, One, Base, Derived


def instances(classes: tuple[type, type, type, type]) -> list[Any]:
    nothing, one, base, derived = classes
    return [
        *(nothing(), nothing(), one(1), one(1), one((1, 2)), one(NAN)),
        *(base(1), base(1, [], 8), base(2, [3]), base(first=2, second=[3])),
        *(derived(1), derived(1, [2], 3, "d"), derived(1, third="x")),
    ]


def outcome(act: Any) -> Any:
    try:
        return act()
    except Exception as error:
        return type(error)


def seen(objects: list[Any]) -> list[Any]:
    """What a program can see of the objects and their classes."""
    first_of = [next(i for i, other in enumerate(objects) if other == o or other is o) for o in objects]
    by_identity = [type(o).__hash__ is object.__hash__ for o in objects]
    return [
        [repr(o).replace("standard library", "") for o in objects],
        first_of,
        by_identity,
        [outcome(lambda o=o: hash(o)) for o, unstable in zip(objects, by_identity) if not unstable],
        [[f.name for f in dataclasses.fields(o)] for o in objects],
        [type(o).__match_args__ for o in objects],
        [outcome(lambda o=o: dataclasses.replace(o, first=9).first) for o in objects],
        [outcome(lambda o=o: setattr(o, "first", 5)) for o in objects if hasattr(o, "first")],
        [outcome(lambda o=o: repr(copy.deepcopy(o))) for o in objects],
        [outcome(lambda o=o: (o.total(), o.limit, o.hidden, o.made)) for o in objects],
        [hasattr(o, "__dict__") for o in objects],
        [outcome(lambda o=o: delattr(o, "first")) for o in objects if hasattr(o, "first")],
    ]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_same_as_in_the_standard_library(kind: dict[str, bool]) -> None:
    expected, found = (seen(instances(family(maker, kind))) for maker in MAKERS.values())
    assert found == expected


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2


def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(Point(1))) == Point(1, 2)


def test_methods_of_the_class_stay() -> None:
    @dataclass(frozen=True)
    class Own:
        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 4

    assert (repr(Own(1)), Own(1) == Own(2), hash(Own(3))) == ("own", True, 4)


def test_a_mutable_default_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @dataclass
        class Wrong:
            items: list[int] = []  # noqa: RUF012 (that is the case)
