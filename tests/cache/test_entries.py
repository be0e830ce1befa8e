"""Cache entries: they are installed, die with guarded objects, count, and start again from nothing."""

from __future__ import annotations

import gc
import threading
import weakref

import _capture
import pytest

import cache
from cache.entries import CacheEntry, entries, has_captured, install, limit_reached, recompiles
from guards.guard_set import GuardSet
from guards.kinds.identity import ExactTypeGuard
from guards.program import encode
from guards.sources import LocalSource


class Guards:
    """A stand-in for a guard set that knows these objects by address."""

    def __init__(self, *objects):
        self.references = [None if obj is None else weakref.ref(obj) for obj in objects]

    def weak_objects(self):
        return [reference and reference() for reference in self.references]


class Thing:
    pass


@pytest.fixture
def code():
    names = {}
    exec("def fn(): pass", names)
    return names["fn"].__code__


KEY = object()


def make(*objects, key=KEY):
    entry = CacheEntry(None, key, graph=tuple, result=(("const", None),))
    if objects:
        entry.guard_set = Guards(*objects)
    return entry


def test_fields_and_defaults():
    entry = make()
    assert (entry.guard_set, entry.compile_time, entry.explanation, entry.hits) == (None, 0.0, None, 0)
    entry.compile_time = 1.5
    assert entry.compile_time == 1.5 and CacheEntry.compile_time == 0.0


def test_install_puts_the_newest_in_front(code):
    first, second, foreign = make(), make(), make(key="other")
    assert install(code, first) and install(code, second) and install(code, foreign)
    assert entries(code) == [foreign, second, first]
    assert entries(code, KEY) == [second, first]


def test_entry_dies_with_each_of_its_objects(code):
    one, two = Thing(), Thing()
    entry, other = make(one, two), make(one)
    install(code, entry)
    install(code, other)
    del two
    assert entries(code) == [other]
    del one
    assert entries(code) == []
    assert recompiles(code) == 1


def test_entry_dies_with_an_object_in_a_cycle(code):
    thing = Thing()
    thing.self = thing
    install(code, make(thing))
    del thing
    gc.collect()
    assert entries(code) == []


def test_dead_object_means_no_entry(code):
    assert install(code, make(None)) is False
    assert entries(code) == []


def test_entries_do_not_keep_objects_or_themselves_alive(code):
    thing = Thing()
    entry = make(thing)
    install(code, entry)
    alive = [weakref.ref(thing), weakref.ref(entry)]
    del entry
    del thing
    assert [ref() for ref in alive] == [None, None]


def test_object_that_outlives_code_and_entry(code):
    thing = Thing()
    entry = make(thing)
    install(code, entry)
    cache.reset()
    assert entries(code) == []
    del thing  # nothing is left to remove, and no error is raised
    assert entry.guard_set.weak_objects() == [None]


def test_entry_dies_while_its_code_runs():
    """The object that an entry is bound to dies in the same frame that runs the entry."""
    names = {"things": [Thing()]}
    exec("def fn(): raise AssertionError\ndef new():\n    things.clear()\n    return 'ran'", names)
    fn = names["fn"]
    entry = CacheEntry(None, KEY, code=names["new"].__code__)
    entry.guard_set = Guards(names["things"][0])
    install(fn.__code__, entry)
    gone = weakref.ref(entry)
    del entry
    _capture.set_callback(lambda frame: None, KEY)
    try:
        value = fn()
    finally:
        _capture.set_callback(None, None)
    assert value == "ran"
    assert gone() is None and entries(fn.__code__) == []


def test_limits(code):
    assert not limit_reached(code, KEY, 2)
    things = [Thing() for _ in range(3)]
    for thing in things[:2]:
        install(code, make(thing))
    assert limit_reached(code, KEY, 2) and not limit_reached(code, "other", 2)
    del thing
    things.pop(0)
    assert not limit_reached(code, KEY, 2)
    assert recompiles(code) == 1
    assert limit_reached(code, KEY, 2, accumulated_limit=2)
    assert not limit_reached(code, KEY, 2, accumulated_limit=3)


def test_stop_capturing():
    names = {}
    exec("def fn(x): return 'eager'\ndef new(x): return 'captured'", names)
    fn, code = names["fn"], names["fn"].__code__
    for_int = encode(GuardSet([ExactTypeGuard.of(LocalSource("x"), 1)]), (), code)
    asked = []
    cache.stop_capturing(code, KEY)
    install(code, CacheEntry(for_int, KEY, code=names["new"].__code__))
    _capture.set_callback(asked.append, KEY)
    try:
        values = [fn(1), fn("x"), fn(1.5), fn(2)]
    finally:
        _capture.set_callback(None, None)
    assert values == ["captured", "eager", "eager", "captured"]
    assert asked == []
    cache.reset()


def test_reset_forgets_entries_counts_and_skip_marks(code):
    install(code, make())
    _capture.skip_code(code)
    cache.reset()
    assert entries(code) == [] and recompiles(code) == 0 and not _capture.is_skipped(code)
    assert not any(known is code for known in _capture.all_codes())


def test_same_entry_twice_is_a_mistake(code):
    entry = make()
    install(code, entry)
    with pytest.raises(ValueError, match="already"):
        install(code, entry)


def test_installing_from_threads_while_objects_die(code):
    def work():
        for _ in range(500):
            thing = Thing()
            install(code, make(thing))
            del thing

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entries(code) == []
    assert recompiles(code) == 1999


def test_entry_without_code_or_graph_captures_nothing(code):
    assert not has_captured(code)
    install(code, CacheEntry(None, KEY))
    assert not has_captured(code)
    install(code, make())
    assert has_captured(code)
