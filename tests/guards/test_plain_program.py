"""Guard programs as plain data: what is read checks as what was written."""

from __future__ import annotations

import abc
import collections.abc
import json
from collections.abc import Sequence
from types import CodeType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from guards import plain_program
from guards.guard_set import GuardSet
from guards.kinds.constants import ConstantGuard
from guards.plain import Writer
from guards.plain_program import _packed_pairs, program_data, program_of
from guards.plain_values import NotPlain
from guards.program import assemble
from guards.sources import Source, StateSource
from tests.guards.cases import CASES
from tests.guards.test_plain import Numbered
from tests.guards.test_worlds import _rows
from tests.guards.world import Case, Change, World, X, verdict


def written(guards: GuardSet, slots: Sequence[Source], code: CodeType) -> tuple[Any, Numbered, Any]:
    """The data, the objects, and the program that was written. Skips what has no plain form."""
    objects = Numbered()
    writer = Writer(objects)
    assembled = assemble(guards, slots, code)
    try:
        for guard in guards:
            writer.guard(guard)
        data = program_data(assembled, writer)
    except NotPlain as reason:
        pytest.skip(str(reason))
    if data is None:
        pytest.skip("the guards are needed")
    return json.loads(json.dumps(data)), objects, assembled


def stored(guards: GuardSet, slots: Sequence[Source], code: CodeType) -> Any:
    data, objects, _ = written(guards, slots, code)
    return program_of(data, objects)[0]


@pytest.mark.parametrize(("case", "change"), [*_rows("holds"), *_rows("fails")])
def test_answers_as_the_guards(case: Case, change: Change) -> None:
    world = World(case.make())
    verdict(world, GuardSet(case.guards(world)), [], change, encode=stored)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_same_words_and_objects(case: Case) -> None:
    world = World(case.make())
    with world.stack:
        guards = GuardSet(case.guards(world))
        data, objects, assembled = written(guards, [X], world.function.__code__)
        with mock.patch.object(
            plain_program, "_capture", SimpleNamespace(GuardProgram=lambda *a, **k: (a, k))
        ):
            ((words, held, *counts), places), named = program_of(data, objects)
        assert words == assembled.text.to_bytes()
        constants = assembled.text.objects
        assert [type(value) for value in held[: len(constants)]] == [type(value) for value in constants]
        assert {id(value) for value in guards.strong_objects()} <= set(map(id, held))
        assert (counts, places) == (
            [assembled.registers, assembled.ints, 1],
            {"places": assembled.places},
        )
        assert {id(value) for value in guards.weak_objects()} <= set(map(id, named))


def test_most_cases_have_a_form() -> None:
    forms = []
    for case in CASES:
        world = World(case.make())
        with world.stack:
            try:
                written(GuardSet(case.guards(world)), [], world.function.__code__)
                forms.append(True)
            except pytest.skip.Exception:
                forms.append(False)
    assert sum(forms) > 0.8 * len(forms)


def test_counts_of_changes_are_those_of_the_reader() -> None:
    """An equal number elsewhere stays what it was."""
    count = abc.get_cache_token()
    world = World({"x": (count,)})
    state = StateSource(abc.get_cache_token)
    guards = GuardSet([ConstantGuard.of(X, (count,)), ConstantGuard.of(state, count)])
    data, objects, _ = written(guards, [], world.function.__code__)
    collections.abc.Sized.register(type("Sized", (), {}))
    program, _ = program_of(data, objects)
    assert program.check(*world.arguments)[0] == -1
    collections.abc.Sized.register(type("Sized", (), {}))
    assert program.check(*world.arguments)[0] >= 0
    data["answers"] = _packed_pairs([(3, len(data["constants"]) + 1)])
    with pytest.raises(IndexError):
        program_of(data, objects)
