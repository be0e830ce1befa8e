"""Every row of `cases`: guards hold under some changes and fail under the others, in C and Python."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

from guards import kinds
from guards.guard import Guard, PlaceGuard
from guards.guard_set import GuardSet
from tests.guards.cases import CASES
from tests.guards.world import Case, Change, World, verdict


def _rows(kind: str) -> list[Any]:
    return [
        pytest.param(case, change, id=f"{case.name}-{name}")
        for case in CASES
        for name, change in getattr(case, kind).items()
    ]


def _run(case: Case, change: Change | None) -> int:
    world = World(case.make())
    guards = GuardSet(case.guards(world))
    return verdict(world, guards, [], change)[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_holds_in_its_own_world(case: Case) -> None:
    assert _run(case, None) == -1


@pytest.mark.parametrize(("case", "change"), _rows("holds"))
def test_survives(case: Case, change: Change) -> None:
    assert _run(case, change) == -1


@pytest.mark.parametrize(("case", "change"), _rows("fails"))
def test_fails(case: Case, change: Change) -> None:
    assert _run(case, change) >= 0


def _kinds(base: type[Guard]) -> Iterator[type[Guard]]:
    """The classes of all families."""
    for family in pkgutil.iter_modules(kinds.__path__):
        importlib.import_module(f"guards.kinds.{family.name}")
    for kind in base.__subclasses__():
        yield from (kind, *_kinds(kind))


def test_every_kind_has_a_case() -> None:
    seen = set()
    for case in CASES:
        world = World(case.make())
        with world.stack:  # some cases enter a context, autocast for one
            seen |= {type(guard) for guard in case.guards(world)}
    assert seen == set(_kinds(Guard)) - {PlaceGuard}
