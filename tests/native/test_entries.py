"""Entries and marks of code objects: what is accepted, order, lifetime, reference counts."""

from __future__ import annotations

import gc
import sys
import weakref

import _capture
import pytest

from guards.guard_set import GuardSet
from guards.kinds.constants import ConstantGuard
from guards.kinds.identity import ExactTypeGuard
from guards.program import encode
from guards.sources import AttrSource, LocalSource


def program(fn, *guards, slots=()):
    return encode(GuardSet(guards), slots, fn.__code__)


# --- what an entry accepts ----------------------------------------------------------------------------------


def test_fields_of_an_entry(hook):
    class Mine(_capture.Entry):
        pass

    code = (lambda: 0).__code__
    entry = Mine(None, hook.key, code=code)
    entry.note = "a subclass has a __dict__"
    assert (entry.guards, entry.key, entry.code, entry.graph, entry.result) == (
        None,
        hook.key,
        code,
        None,
        None,
    )
    assert (entry.hits, entry.inputs, entry.on_failure) == (0, 0, None)
    assert weakref.ref(entry)() is entry
    assert gc.is_tracked(entry)
    plain = _capture.Entry(None, hook.key)
    plain.note = "and so has the type itself"
    assert plain.__dict__ == {"note": "and so has the type itself"}
    with pytest.raises(AttributeError):
        entry.hits = 3
    with pytest.raises(RuntimeError, match="initialised already"):
        entry.__init__(None, hook.key)


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ({"guards": 3}, TypeError, "guards must be a GuardProgram or None, not int"),
        ({"code": 3}, TypeError, "code must be a code object, not int"),
        ({"graph": 3, "result": ()}, TypeError, "graph must be callable, not int"),
        ({"graph": len}, ValueError, "graph and result belong together"),
        ({"result": (("out", 0),)}, ValueError, "graph and result belong together"),
        (
            {"graph": len, "result": (("out", 0),), "code": (lambda: 0).__code__},
            ValueError,
            "code or graph, not both",
        ),
        (
            {"graph": len, "result": (("out", 0),), "inputs": 1},
            ValueError,
            "inputs is 1, the guard program has 0 slots",
        ),
        ({"graph": len, "result": (("out", 0),), "inputs": -1}, ValueError, "inputs is -1"),
        ({"graph": len, "result": (("out", 0),), "inputs": "1"}, TypeError, "integer"),
        ({"graph": len, "result": (("slot", 0),)}, ValueError, "result uses slot 0, the guard program has 0"),
        (
            {"graph": len, "result": [("out", 0)]},
            TypeError,
            "must be a tuple of at most 65536 instructions, not list",
        ),
        ({"graph": len, "result": ()}, ValueError, "leaves 0 values"),
        ({"graph": len, "result": (("out", 0), ("out", 1))}, ValueError, "leaves 2 values"),
        (
            {"graph": len, "result": (("out", 0), ("tuple", 2))},
            ValueError,
            r"instruction 1 is \('tuple', 2\): it takes more",
        ),
        ({"graph": len, "result": (("out", 0), ("pop", 2))}, ValueError, "the name is none of out, slot"),
        ({"graph": len, "result": (("out",),)}, ValueError, "expected a pair"),
        ({"graph": len, "result": (("out", -1),)}, ValueError, "between 0 and 65536"),
        ({"graph": len, "result": (("out", 2**80),)}, ValueError, "between 0 and 65536"),
        ({"graph": len, "result": (("out", True),)}, ValueError, "must be an int"),
        (
            {"graph": len, "result": (("out", 0), ("dict", ["k"]))},
            ValueError,
            "keys of a dict must be a tuple",
        ),
        ({"graph": len, "result": (("out", 0), ("dict", ([],)))}, TypeError, "unhashable"),
    ],
)
def test_mistakes_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        _capture.Entry(**{"guards": None, "key": 1} | arguments)


def test_entry_that_failed_to_initialise_is_refused(hook):
    class Forgets(_capture.Entry):
        def __init__(self):
            pass

    with pytest.raises(RuntimeError, match=r"Forgets.__init__ has not called Entry.__init__"):
        _capture.add_entry((lambda: 0).__code__, Forgets())
    with pytest.raises(TypeError):
        _capture.add_entry((lambda: 0).__code__, 3)
    with pytest.raises(TypeError, match="expected a code object, not function"):
        _capture.add_entry(lambda: 0, _capture.Entry(None, 1))


def original(a, *, k):
    return a, k


def generator(a, k):
    yield a, k


@pytest.mark.parametrize(
    "replacement, text",
    [
        (original, "the same code object"),
        (lambda a: 0, "one positional parameter for each parameter"),
        (lambda a, k, more: 0, "one positional parameter for each parameter"),
        (lambda a, *k: 0, "all its parameters must be positional"),
        (lambda a, **k: 0, "all its parameters must be positional"),
        (lambda a, k, *, x=1: 0, "all its parameters must be positional"),
        (generator, "code of a plain function"),
    ],
)
def test_code_that_can_not_stand_in(hook, replacement, text):
    with pytest.raises(ValueError, match=text):
        hook.replace(original, replacement)
    entry = _capture.Entry(None, hook.key, code=replacement.__code__)
    with pytest.raises(ValueError, match=text):
        hook.call_with(lambda frame: entry, original, 1, k=2)


def test_free_variables_must_agree(hook):
    x = y = 1

    def uses_x(a, k):
        return x

    def uses_y(a, k):
        return y

    with pytest.raises(ValueError, match="its free variables must be those of the original"):
        hook.replace(uses_x, uses_y)
    with pytest.raises(ValueError, match="generator or coroutine"):
        hook.replace(generator, lambda a, k: 0)
    entry = hook.replace(original, lambda a, k: 0)
    with pytest.raises(ValueError, match="an entry of .* already"):
        _capture.add_entry(original.__code__, entry)
    _capture.clear_entries(original.__code__)


# --- guards, slots, order -----------------------------------------------------------------------------------


def test_guards_choose_the_entry_most_recently_hit_first(hook):
    def fn(x):
        raise AssertionError

    for_int = hook.replace(fn, lambda x: ("int", x), program(fn, ExactTypeGuard.of(LocalSource("x"), 1)))
    for_str = hook.replace(fn, lambda x: ("str", x), program(fn, ExactTypeGuard.of(LocalSource("x"), "")))
    assert _capture.entries(fn.__code__) == [for_str, for_int]
    assert hook.call(fn, 1) == ("int", 1)
    assert _capture.entries(fn.__code__) == [for_int, for_str]
    assert hook.call(fn, "a") == ("str", "a")
    assert hook.call(fn, "b") == ("str", "b")
    assert (for_int.hits, for_str.hits) == (1, 2)
    assert hook.seen == []
    with pytest.raises(AssertionError):
        hook.call(fn, 1.5)
    assert hook.seen[0].failures == ((for_str, 0), (for_int, 0))


def test_graph_takes_slots(hook):
    class Owner:
        pass

    def fn(self, x):
        raise AssertionError

    owner = Owner()
    owner.weight = "weight"
    slots = [LocalSource("x"), AttrSource(LocalSource("self"), "weight")]
    guards = program(fn, ExactTypeGuard.of(LocalSource("self"), owner), slots=slots)
    calls = []

    def graph(*args):
        calls.append(args)
        return (len(args),)

    entry = hook.graph(fn, graph, (("out", 0), ("slot", 1), ("tuple", 2)), guards)
    assert entry.inputs == 2
    assert hook.call(fn, owner, 1) == (2, "weight")
    _capture.remove_entry(fn.__code__, entry)
    hook.graph(fn, graph, (("out", 0), ("slot", 1), ("tuple", 2)), guards, inputs=1)
    assert hook.call(fn, owner, 2) == (1, "weight")
    assert calls == [(1, "weight"), (2,)]


def test_slots_live_while_the_graph_runs(hook):
    class Owner:
        pass

    class Value:
        pass

    def fn(self):
        raise AssertionError

    owner = Owner()
    owner.value = Value()
    alive = weakref.ref(owner.value)

    def graph(value):
        del value
        del owner.value
        gc.collect()
        return (alive() is not None,)

    guards = program(
        fn, ExactTypeGuard.of(LocalSource("self"), owner), slots=[AttrSource(LocalSource("self"), "value")]
    )
    hook.graph(fn, graph, guards=guards)
    assert hook.call(fn, owner) is True
    hook.seen.clear()
    assert alive() is None


@pytest.mark.parametrize("width", [3, 5000])
def test_code_takes_slots_behind_its_parameters(hook, width):
    """Width: the number of locals at which the frame can't hold the code, and a function is called
    instead.
    """

    class Owner:
        pass

    def fn(self, *rest):
        raise AssertionError

    owner = Owner()
    owner.value = object()
    names = {}
    body = "; ".join(f"v{i} = value" for i in range(width))
    exec(f"def replacement(self, rest, value):\n    del self.value\n    {body}\n    return rest, v0", names)
    guards = program(
        fn, ExactTypeGuard.of(LocalSource("self"), owner), slots=[AttrSource(LocalSource("self"), "value")]
    )
    with pytest.raises(ValueError, match="and one for each slot"):
        hook.replace(fn, lambda self, rest: 0, guards)
    hook.replace(fn, names["replacement"], guards)
    expected = owner.value
    assert hook.call(fn, owner, 1, 2) == ((1, 2), expected)
    del owner
    gc.collect()
    assert sys.getrefcount(expected) == 2


def test_answer_of_the_callback_loads_its_slots(hook):
    def fn(x):
        return "eager"

    guards = program(fn, ExactTypeGuard.of(LocalSource("x"), 1), slots=[LocalSource("x")])
    entry = _capture.Entry(guards, hook.key, graph=lambda x: (x,), result=(("out", 0),))
    hook.answers[fn.__code__] = entry
    assert hook.call(fn, 5) == 5
    # Guards run to load the slots; if they fail, Python runs the frame.
    assert hook.call(fn, "x") == "eager"
    assert entry.hits == 0


# --- lists, marks, all_codes --------------------------------------------------------------------------------


def test_add_remove_clear(hook):
    def fn():
        return 0

    code = fn.__code__
    assert (_capture.entries(code), _capture.added_entries(code)) == ([], 0)
    entries = [_capture.Entry(None, object(), graph=tuple, result=(("const", 0),)) for _ in range(10)]
    for entry in entries:
        _capture.add_entry(code, entry)
    assert _capture.entries(code) == entries[::-1]
    assert _capture.remove_entry(code, entries[4]) is True
    assert _capture.remove_entry(code, entries[4]) is False
    assert _capture.entries(code) == [e for e in entries[::-1] if e is not entries[4]]
    assert _capture.added_entries(code) == 10
    assert code in _capture.all_codes()
    _capture.clear_entries(code)
    assert (_capture.entries(code), _capture.added_entries(code)) == ([], 0)
    assert not any(known is code for known in _capture.all_codes())


def test_skip_marks_are_known_and_die_with_their_code():
    def make():
        names = {}
        exec("def fn(): pass", names)
        return names["fn"]

    fn = make()
    alive = weakref.ref(fn.__code__)
    _capture.skip_code(fn.__code__)
    assert any(code is fn.__code__ for code in _capture.all_codes())
    gc.collect()  # the codes of other tests
    count = len(_capture.all_codes())
    del fn
    gc.collect()
    assert alive() is None
    assert len(_capture.all_codes()) == count - 1


def test_entries_die_with_their_code(hook):
    names = {}
    exec("def fn(): pass", names)
    order = []

    class Noisy(_capture.Entry):
        def __del__(self):
            order.append(_capture.entries(other.__code__))

    def other():
        pass

    _capture.add_entry(names["fn"].__code__, Noisy(None, hook.key))
    names.clear()
    gc.collect()
    assert order == [[]]


def test_entry_removed_by_what_it_runs(hook):
    def fn(n):
        raise AssertionError

    def replacement(n):
        import _capture

        _capture.clear_entries(fn_code[0])  # noqa: F821
        return n

    names = {"fn_code": [fn.__code__]}
    replacement = type(replacement)(replacement.__code__, names)
    fn = type(fn)(fn.__code__, names)
    entry = hook.replace(fn, replacement)
    alive = weakref.ref(entry)
    del entry
    assert hook.call(fn, 5) == 5
    assert alive() is None

    def graph():
        _capture.clear_entries(fn.__code__)
        gc.collect()
        return ("value",)

    hook.graph(fn, graph)
    assert hook.call(fn, 5) == "value"


# --- references ---------------------------------------------------------------------------------------------


def scenarios(hook):
    """Pairs (name, call): each way in which a frame can end."""

    class Thing:
        pass

    thing = Thing()
    thing.part = Thing()
    slots = [LocalSource("x"), AttrSource(LocalSource("x"), "part")]
    names = {"Continuation": _capture.Continuation, "__name__": "scenarios"}
    wide = "; ".join(f"v{i} = x" for i in range(4000))
    exec(
        f"""
def plain(x, *rest, k=None): return x
def by_code(x, *rest, k=None): return x
def by_code_new(x, k, rest, slot_x, slot_part): return [x, rest, k, slot_part]
def by_wide(x, *rest, k=None): return x
def by_wide_new(x, k, rest, slot_x, slot_part):
    {wide}
    return [x, rest, k, slot_part]
def by_raise(x): return x
def by_raise_new(x): raise ValueError(x)
def by_graph(x): return x
def by_bad_graph(x): return x
def by_break(x): return x
def by_break_new(x): return Continuation(resume, (x, 3))
def resume(x, n): return x
def resume_new(x, n): return Continuation(resume, (x, n - 1)) if n else x
""",
        names,
    )

    def guards(name):
        fn = names[name]
        return program(fn, ExactTypeGuard.of(LocalSource("x"), thing), slots=slots)

    for name in ("by_code", "by_wide"):
        hook.replace(names[name], names[name + "_new"], guards(name))
    for name in ("by_raise", "by_break", "resume"):
        hook.replace(names[name], names[name + "_new"])
    _capture.mark_resume(names["resume"].__code__)
    recipe = (("out", 0), ("slot", 1), ("const", thing), ("list", 2), ("tuple", 2), ("dict", ("k",)))
    hook.graph(names["by_graph"], lambda x, part: (x, part), recipe, guards("by_graph"))
    hook.graph(names["by_bad_graph"], lambda x, part: x.missing, recipe, guards("by_bad_graph"))
    return thing, [
        names[n] for n in ("plain", "by_code", "by_wide", "by_raise", "by_graph", "by_bad_graph", "by_break")
    ]


def test_no_reference_is_lost_or_gained(hook):
    thing, functions = scenarios(hook)

    def run(times):
        for _ in range(times):
            for fn in functions:
                try:
                    fn(thing)
                except ValueError:
                    pass

    def callback(frame):
        return None

    _capture.skip_code(run.__code__)
    hook.call_with(callback, run, 20)
    watched = [thing, thing.part, hook.key, *functions, *(fn.__code__ for fn in functions), callback]
    counts = [sys.getrefcount(item) for item in watched]
    for _ in range(3):  # what one collection frees of other tests, another one may free more of
        gc.collect()
    blocks = sys.getallocatedblocks()
    hook.call_with(callback, run, 500)
    gc.collect()
    assert abs(sys.getallocatedblocks() - blocks) < 50  # 500 rounds of 7 calls: a leak would show as hundreds
    assert [sys.getrefcount(item) for item in watched] == counts


def test_everything_goes_when_the_functions_go(hook):
    thing, functions = scenarios(hook)
    for fn in functions[1:3]:
        hook.call(fn, thing)
    alive = [weakref.ref(fn.__code__) for fn in functions] + [weakref.ref(thing), weakref.ref(thing.part)]
    alive += [weakref.ref(entry) for fn in functions for entry in _capture.entries(fn.__code__)]
    del thing, functions, fn
    hook.seen.clear()
    gc.collect()
    assert [ref for ref in alive if ref() is not None] == []


STRESS = """
import sys
sys.path.insert(0, ".")
from tests.native.conftest import Hook
from tests.native.test_entries import scenarios
import gc, _capture
hook = Hook()
thing, functions = scenarios(hook)
def run():
    for _ in range(300):
        for fn in functions:
            try:
                fn(thing)
            except ValueError:
                pass
hook.call(run)
_capture.set_callback(lambda frame: None, hook.key)
for fn in functions:
    _capture.clear_entries(fn.__code__)
run()
_capture.set_callback(None, None)
gc.collect()
print("done", _capture.graph_failures())
"""


def test_memory_debugger_finds_nothing(in_process):
    assert in_process(STRESS, PYTHONMALLOC="debug", PYTHONDEVMODE="1", OMP_NUM_THREADS="1").split() == [
        "done",
        "300",
    ]


# --- frames that fit nothing --------------------------------------------------------------------------------


def test_frames_that_fit_nothing_for_long_ask_no_guards_but_now_and_then(hook):
    def function(x):
        return x

    def special(x):
        return "special"

    entry = hook.replace(function, special, program(function, ConstantGuard.of(LocalSource("x"), 7)))
    stop = _capture.Entry(None, hook.key)
    _capture.add_entry(function.__code__, stop)

    def calls(x, count):
        return hook.call(lambda: [function(x) for _ in range(count)])

    assert calls(7, 1) == ["special"]
    assert calls(0, 63) == [0] * 63
    assert calls(7, 1) == ["special"], "asked as long as few frames fitted nothing"
    assert calls(0, 1000) == [0] * 1000
    answers = calls(7, 200)
    first = answers.index("special")
    assert first < 64 and answers[first:] == ["special"] * (200 - first)
    assert calls(0, 1) == [0]
    assert entry.hits == 2 + 200 - first and stop.hits == 63 + 1000 + first + 1


def test_frames_left_to_python_for_long_ask_no_guards_but_now_and_then(hook):
    def function(x):
        return x

    def special(x):
        return "special"

    code = function.__code__

    def left(value, **how):
        entry = _capture.Entry(program(function, ConstantGuard.of(LocalSource("x"), value)), hook.key, **how)
        _capture.add_entry(code, entry)
        return entry

    def calls(x, count):
        return hook.call(lambda: [function(x) for _ in range(count)])

    asked, sampled, other = left(1), left(2, sampled=True), left(3, sampled=True, unhooked=True)
    assert (asked.sampled, sampled.sampled, other.sampled) == (False, True, True)
    entry = hook.replace(function, special, program(function, ConstantGuard.of(LocalSource("x"), 7)))
    assert calls(1, 200) == [1] * 200 and calls(7, 1) == ["special"], "not one to be sampled"
    assert calls(2, 63) == [2] * 63 and calls(7, 1) == ["special"], "too few in a row"
    assert calls(2, 63) == [2] * 63 and calls(3, 1) == [3], "with the hook, and without"
    assert calls(7, 1) == ["special"]
    assert calls(2, 100) == [2] * 100
    answers = calls(7, 200)
    assert answers[:28] == [7] * 28 and answers[28:] == ["special"] * 172, "found by the 128th frame"
    assert calls(2, 100) == [2] * 100
    assert _capture.remove_entry(code, sampled)
    assert calls(7, 1) == ["special"], "what is gone answers for nobody"
    assert (asked.hits, sampled.hits, entry.hits) == (200, 63 + 63 + 100 + 28 + 100, 3 + 172 + 1)


def test_only_what_leaves_frames_to_python_can_be_sampled(hook):
    def function(x):
        return x

    with pytest.raises(ValueError, match="sampled"):
        _capture.Entry(None, hook.key, code=function.__code__, sampled=True)
