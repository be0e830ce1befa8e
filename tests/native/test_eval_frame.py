"""The evaluator: which frames are seen, and which code runs in their place."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import traceback

import _capture
import pytest

# --- which frames the callback sees -------------------------------------------------------------------------


def test_sees_every_call_and_its_arguments(hook):
    def inner(x):
        return x * 2

    def outer(a, /, b, *rest, c, d=4, **more):
        local = inner(a)
        return local + b

    assert hook.call(outer, 1, 2, 3, c=5, e=6) == 4
    first, second = hook.seen
    assert (first.code, first.function) == (outer.__code__, outer)
    # Positional, keyword-only, *args, **kw, then the locals that are not bound yet, then the free variable.
    assert first.locals == (1, 2, 5, 4, (3,), {"e": 6}, _capture.NULL, _capture.NULL)
    assert first.globals is globals()
    assert first.builtins is outer.__builtins__
    assert first.failures == ()
    assert second.function is inner


def test_unbound_sentinel_is_one_object():
    import copy
    import pickle

    assert repr(_capture.NULL) == "_capture.NULL"
    assert copy.deepcopy(_capture.NULL) is _capture.NULL
    assert pickle.loads(pickle.dumps(_capture.NULL)) is _capture.NULL


def test_generators_coroutines_class_bodies_and_exec_are_left_alone(hook):
    def generator():
        yield 1
        return 2

    async def coroutine():
        return 3

    async def async_generator():
        yield 4

    def drive():
        class Body:
            attribute = 5

        namespace = {}
        exec("value = 6", namespace)
        with_coroutine = coroutine()
        try:
            with_coroutine.send(None)
        except StopIteration as stop:
            value = stop.value
        items = async_generator()
        try:
            items.__anext__().send(None)
        except StopIteration as stop:
            item = stop.value
        return list(generator()), Body.attribute, namespace["value"], value, item

    assert hook.call(drive) == ([1], 5, 6, 3, 4)
    assert hook.names() == ["drive"]


def test_event_loop_runs_while_hooked(hook):
    def double(x):
        return 2 * x

    async def work(x):
        await asyncio.sleep(0)
        return double(x)

    async def main():
        return await asyncio.gather(work(1), work(2))

    assert hook.call(asyncio.run, main()) == [2, 4]
    assert hook.names().count("double") == 2


def test_skip_mark_hides_the_frame_and_not_its_callees(hook):
    def callee():
        return 1

    def skipped():
        return callee()

    _capture.skip_code(skipped.__code__)
    assert _capture.is_skipped(skipped.__code__)
    assert hook.call(skipped) == 1
    assert hook.names() == ["callee"]
    _capture.unskip_code(skipped.__code__)
    hook.call(skipped)
    assert hook.names() == ["callee", "skipped", "callee"]


def test_callback_runs_with_the_hook_off(hook):
    def helper():
        return 1

    class Noisy:
        def __del__(self):
            helper()

    depth = []

    def callback(frame):
        depth.append(frame.code.co_name)
        helper()
        Noisy()
        cycle = Noisy()
        cycle.self = cycle
        del cycle
        gc.collect()
        if len(depth) == 1:
            signal.raise_signal(signal.SIGUSR1)  # its handler waits for the program
        return None

    def user():
        return 7

    before = signal.signal(signal.SIGUSR1, lambda *_: helper())
    try:
        assert hook.call_with(callback, user) == 7
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert depth == ["user", "<lambda>", "helper"]


def test_callback_exception_is_the_frames(hook):
    def user():
        return 7

    def callback(frame):
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        hook.call_with(callback, user)
    assert user() == 7


def test_callback_must_return_an_entry(hook):
    def user():
        return 7

    hook.answers[user.__code__] = 3
    with pytest.raises(TypeError, match="must return an Entry or None, not int"):
        hook.call(user)


def test_removing_the_callback_from_within(hook):
    def user():
        return 7

    def callback(frame):
        _capture.set_callback(None, None)

    previous = _capture.set_callback(callback, hook.key)
    assert user() == 7
    assert _capture.get_callback() == (None, None)
    assert previous == (None, None)


def test_set_callback_checks_its_arguments():
    with pytest.raises(TypeError, match="must be callable or None, not int"):
        _capture.set_callback(3, None)
    with pytest.raises(TypeError, match="got 1 arguments"):
        _capture.set_callback(None)
    assert not _capture.is_installed()


def test_callbacks_nest(hook):
    def one(frame):
        return None

    def two(frame):
        return None

    assert _capture.set_callback(one, 1) == (None, None)
    assert _capture.set_callback(two, 2) == (one, 1)
    assert _capture.get_callback() == (two, 2)
    assert _capture.set_callback(one, 1) == (two, 2)
    assert _capture.set_callback(None, None) == (one, 1)


# --- entries with code --------------------------------------------------------------------------------------


def test_replacement_gets_all_parameters_in_order(hook):
    def original(a, /, b, *rest, c, d=4, **more):
        raise AssertionError

    def replacement(a, b, c, d, rest, more):
        extra = [a, b]
        return a, b, c, d, rest, more, extra

    entry = hook.replace(original, replacement)
    assert hook.call(original, 1, 2, 3, c=5, e=6) == (1, 2, 5, 4, (3,), {"e": 6}, [1, 2])
    assert hook.seen == []
    assert entry.hits == 1


@pytest.mark.parametrize("room", ["small", "large"])
def test_closures_cells_and_nonlocal(hook, room):
    count = 0
    wide = ", ".join(f"v{i}" for i in range(300 if room == "large" else 2))

    def original(x):
        nonlocal count
        count += x

        def inside():
            return x

        return inside

    namespace = {}
    source = f"""
def make(count):
    def replacement(x):
        nonlocal count
        count += 10 * x
        {wide} = range({300 if room == "large" else 2})
        def inside():
            return x, v0, v1
        return inside
    return replacement
"""
    exec(source, namespace)
    hook.replace(original, namespace["make"](0))
    inside = hook.call(original, 3)
    assert count == 30
    assert inside() == (3, 0, 1)


def test_zero_argument_super(hook):
    class Base:
        def name(self):
            return "base"

    class Derived(Base):
        def name(self):
            return "not captured " + super().name()

        def other(self):
            return "captured " + super().name()

    hook.replace(Derived.name, Derived.other)
    assert hook.call(Derived().name) == "captured base"


def test_locals_and_frame_of_the_replacement(hook):
    def original(a, b):
        raise AssertionError

    def replacement(a, b):
        c = a + b
        frame = sys._getframe()
        return locals() | {"name": frame.f_code.co_name, "back": frame.f_back.f_code.co_name}

    code = replacement.__code__.replace(co_name="original")
    hook.replace(original, code)
    result = hook.call(original, 1, 2)
    assert (result["a"], result["b"], result["c"], result["name"], result["back"]) == (
        1,
        2,
        3,
        "original",
        "call_with",
    )


def test_globals_and_builtins_are_the_originals(hook):
    namespace = {"__builtins__": {"marker": 41}, "offset": 1}
    exec("def original(): return 0", namespace)
    other = {}
    exec("def replacement(): return marker + offset", other)
    hook.replace(namespace["original"], other["replacement"])
    assert hook.call(namespace["original"]) == 42


def test_wide_replacement_uses_the_function_call(hook):
    """A frame's memory may be too small for the new code; then a function made from the code is called."""
    names = [f"v{i}" for i in range(5000)]
    body = "\n    ".join(f"{name} = a" for name in names)
    namespace = {"sys": sys}
    exec(
        f"def replacement(a):\n    {body}\n    return v0, v4999, sys._getframe().f_back.f_code.co_name",
        namespace,
    )

    def original(a):
        raise AssertionError

    hook.replace(original, namespace["replacement"])
    for _ in range(3):
        assert hook.call(original, 5) == (5, 5, "call_with")


def test_exception_of_the_replacement_keeps_one_traceback_entry(hook):
    def original(a):
        return a

    def replacement(a):
        raise ValueError(a)

    code = replacement.__code__.replace(co_name="original")
    hook.replace(original, code)
    with pytest.raises(ValueError, match="9") as caught:
        hook.call(original, 9)
    frames = [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-2:] == ["call_with", "original"]
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "raise ValueError(a)"


def test_callees_of_the_replacement_are_hooked(hook):
    def callee(x):
        return x

    def original(fn):
        raise AssertionError

    def replacement(fn):
        return fn(1)

    hook.replace(original, replacement)
    assert hook.call(original, callee) == 1
    assert hook.names() == ["callee"]


def test_recursive_function(hook):
    def original(n):
        return 0 if n == 0 else n + original(n - 1)

    def make(original):
        def replacement(n):
            return 0 if n == 0 else 100 * n + original(n - 1)

        return replacement

    hook.replace(original, make(None))
    assert hook.call(original, 4) == 1000


def test_callback_installs_and_the_entry_runs_at_once(hook):
    def original(x):
        raise AssertionError

    def replacement(x):
        return x + 1

    def callback(frame):
        if frame.code is not original.__code__:
            return None
        return hook.replace(original, replacement)

    assert hook.call_with(callback, original, 1) == 2
    assert hook.call_with(callback, original, 2) == 3
    (entry,) = _capture.entries(original.__code__)
    assert entry.hits == 1


def test_entry_without_code_or_graph_leaves_the_frame_to_python(hook):
    def original(x):
        return x

    entry = _capture.Entry(None, hook.key)
    _capture.add_entry(original.__code__, entry)
    assert hook.call(original, 5) == 5
    assert (entry.hits, hook.seen) == (1, [])


def test_unhooked_entry_takes_the_hook_off_below(hook):
    def inner(x):
        return x

    def fails(x):
        inner(x)
        raise ValueError(x)

    def outer():
        with pytest.raises(ValueError):
            fails(1)
        return inner(2)

    hook.answers[fails.__code__] = _capture.Entry(None, hook.key, unhooked=True)
    assert hook.call(outer) == 2
    names = hook.names()
    assert (names.count("fails"), names.count("inner")) == (1, 1)
    _capture.add_entry(fails.__code__, hook.answers[fails.__code__])
    hook.seen.clear()
    assert hook.call(outer) == 2
    names = hook.names()
    assert (names.count("fails"), names.count("inner")) == (0, 1)
    assert hook.answers[fails.__code__].unhooked
    with pytest.raises(ValueError, match="unhooked"):
        _capture.Entry(None, hook.key, code=inner.__code__, unhooked=True)


def test_callback_of_an_unhooked_frame_ends_with_it(hook):
    other = []

    def inner():
        return 3

    def sets_another():
        _capture.set_callback(lambda frame: other.append(frame.code.co_name), hook.key)
        return inner()

    def outer():
        sets_another()
        return inner()

    hook.answers[sets_another.__code__] = _capture.Entry(None, hook.key, unhooked=True)
    assert hook.call(outer) == 3
    assert other == ["inner"]
    assert hook.names() == ["outer", "sets_another", "inner"]


def test_entries_of_another_key_are_not_run(hook):
    def original():
        return "eager"

    def replacement():
        return "captured"

    _capture.add_entry(original.__code__, _capture.Entry(None, object(), code=replacement.__code__))
    assert hook.call(original) == "eager"
    assert hook.seen[0].failures == ()


# --- entries with a graph -----------------------------------------------------------------------------------


def test_graph_and_result_recipe(hook):
    def original(x):
        raise AssertionError

    constant = object()
    recipe = (
        ("out", 1),
        ("const", constant),
        ("out", 0),
        ("list", 2),
        ("out", 1),
        ("dict", ("k",)),
        ("tuple", 3),
    )
    hook.graph(original, lambda: ("a", "b"), recipe)
    assert hook.call(original, 1) == ("b", [constant, "a"], {"k": "b"})
    assert hook.names() == ["<lambda>"]  # the graph's own Python is a callee like any other


def test_graph_that_raises_falls_back_to_the_original(hook):
    def original(x):
        return x + 1

    def broken():
        raise RuntimeError("kernel")

    def other_exit():
        raise KeyboardInterrupt

    before = _capture.graph_failures()
    entry = hook.graph(original, broken)
    assert hook.call(original, 1) == 2
    assert _capture.graph_failures() == before + 1
    reports = []
    entry.on_failure = lambda *report: reports.append(report)
    assert hook.call(original, 2) == 3
    assert reports[0][0] is entry and str(reports[0][1]) == "kernel" and reports[0][2] == ()
    assert reports[0][1].__traceback__ is not None
    _capture.remove_entry(original.__code__, entry)
    hook.graph(original, other_exit)
    with pytest.raises(KeyboardInterrupt):
        hook.call(original, 1)


def test_on_failure_may_raise(hook):
    def original(x):
        return x + 1

    def raise_it(entry, error, inputs):
        raise error

    entry = hook.graph(original, lambda: 3)
    entry.on_failure = raise_it
    with pytest.raises(TypeError, match=r"must return a tuple of its outputs, .*lambda.* returned int"):
        hook.call(original, 1)
    entry = hook.graph(original, lambda: ())
    entry.on_failure = raise_it
    with pytest.raises(ValueError, match="at least 1 outputs, .* returned 0"):
        hook.call(original, 1)


def test_unhashable_graph_output_in_recipe_constant_key(hook):
    with pytest.raises(TypeError, match="unhashable"):
        hook.graph(lambda: 0, lambda: (1,), (("out", 0), ("dict", ([],))))
