"""Clones of sets: the same elements at the same places, in a separate set."""

from __future__ import annotations

import sys

import _capture
import pytest

from guards.properties.set_layout import layout_of


def sets():
    grown = {8, 0}
    grown.update(range(20, 60))
    grown -= set(range(20, 60))
    popped = {5, 3, 8}
    popped.pop()
    return [set(), {8, 0}, {8, 0, 16, 24, 32}, grown, popped, set("alphabet"), {(1, 2), None, 2.5}]


@pytest.mark.parametrize("original", sets(), ids=lambda elements: str(sorted(elements, key=str)))
def test_elements_lie_at_the_same_places(original):
    clone = _capture.clone_set(original)
    assert type(clone) is set
    assert clone == original
    assert layout_of(clone) == layout_of(original)
    assert list(clone) == list(original)
    for change in (lambda s: s.update([40, 48, 8]), lambda s: s and s.pop(), lambda s: s.update(range(100))):
        change(clone)
        change(original)
        assert list(clone) == list(original)


def test_a_clone_is_a_set_of_its_own_that_holds_its_elements():
    element = (object(), object())
    original = {element}
    before = sys.getrefcount(element)
    clone = _capture.clone_set(original)
    assert sys.getrefcount(element) == before + 1
    clone.clear()
    assert original == {element}
    del clone
    assert sys.getrefcount(element) == before


def test_what_is_no_set_is_refused():
    with pytest.raises(TypeError, match="expected a set"):
        _capture.clone_set(frozenset())
