"""Continuations: a broken frame resumes without growing any stack."""

from __future__ import annotations

import inspect
import sys
import types
import weakref

import _capture
import pytest

CHAIN = """
def resume(n, total):
    raise AssertionError
def resume_captured(n, total):
    depths.add(len(inspect.stack(0)))
    return Continuation(resume, (n - 1, total + n)) if n else total
def original(n):
    raise AssertionError
def original_captured(n):
    return Continuation(resume, (n, 0))
"""


@pytest.fixture
def chain(hook):
    """`original(n)` breaks at each step of a loop that adds n, n - 1, ...; `depths` are the heights of the
    stack at the steps.
    """
    names = {"depths": set(), "inspect": inspect, "Continuation": _capture.Continuation}
    exec(CHAIN, names)
    _capture.mark_resume(names["resume"].__code__)
    hook.replace(names["resume"], names["resume_captured"])
    hook.replace(names["original"], names["original_captured"])
    return names


def test_continuations_do_not_grow_the_stack(hook, chain):
    assert _capture.is_resume(chain["resume"].__code__) and not _capture.is_resume(chain["original"].__code__)
    assert hook.call(chain["original"], 5) == 15
    assert len(chain["depths"]) == 1
    chain["inspect"] = type("Inspect", (), {"stack": staticmethod(lambda context: [])})
    assert hook.call(chain["original"], 200_000) == 200_000 * 200_001 // 2


def test_resume_function_run_by_python_gives_its_value(hook):
    def resume(x):
        return x + 1

    def original(x):
        raise AssertionError

    def captured(x):
        return _capture.Continuation(x, (41,))

    _capture.mark_resume(resume.__code__)
    hook.replace(original, captured)
    assert hook.call(original, resume) == 42
    assert hook.names() == ["resume"]


def test_exception_in_a_continuation(hook):
    def resume(x):
        raise ValueError(x)

    def original(x):
        raise AssertionError

    def captured(x):
        return _capture.Continuation(x, (1,))

    hook.replace(original, captured)
    with pytest.raises(ValueError, match="1"):
        hook.call(original, resume)


def test_run_continuations_and_arguments():
    assert _capture.run_continuations(3) == 3
    assert _capture.run_continuations(_capture.Continuation(divmod, (7, 2))) == (3, 1)
    nested = _capture.Continuation(_capture.Continuation, (divmod, (9, 2)))
    assert _capture.run_continuations(nested) == (4, 1)
    continuation = _capture.Continuation(fn=len, args=([],))
    assert (continuation.fn, continuation.args) == (len, ([],))
    with pytest.raises(TypeError, match="fn must be callable, not int"):
        _capture.Continuation(3, ())
    with pytest.raises(TypeError, match="must be tuple"):
        _capture.Continuation(len, [])
    with pytest.raises(TypeError):
        _capture.Continuation(len)


def test_what_the_rest_does_not_need_is_freed(hook):
    """Neither the frame that broke nor the loop that continues keeps values alive that the program has
    released.
    """

    class Thing:
        pass

    names = {"Continuation": _capture.Continuation, "Thing": Thing, "ref": weakref.ref, "alive": []}
    exec(
        """
def original():
    raise AssertionError
def captured():
    unused, used = Thing(), Thing()
    return Continuation(resume, (ref(unused), ref(used), used))
def resume(unused_ref, used_ref, used):
    raise AssertionError
def resume_captured(unused_ref, used_ref, used):
    alive.append((unused_ref() is not None, used_ref() is not None))
    del used
    alive.append((unused_ref() is not None, used_ref() is not None))
""",
        names,
    )
    _capture.mark_resume(names["resume"].__code__)
    hook.replace(names["original"], names["captured"])
    hook.replace(names["resume"], names["resume_captured"])
    hook.call(names["original"])
    assert names["alive"] == [(False, True), (False, False)]


def test_locals_of_the_broken_frame_stay_for_who_holds_the_frame(hook):
    names = {"Continuation": _capture.Continuation, "sys": sys, "frames": []}
    exec(
        """
def original(x):
    raise AssertionError
def captured(x):
    y = x + 1
    frames.append(sys._getframe())
    return Continuation(len, ((),))
""",
        names,
    )
    hook.replace(names["original"], names["captured"])
    assert hook.call(names["original"], 1) == 0
    assert names["frames"][0].f_locals == {"x": 1, "y": 2}


def test_arguments_that_do_not_fit_the_resume_function(hook):
    def resume(x, y):
        return x

    def original(fn, x):
        raise AssertionError

    def captured(fn, x):
        return _capture.Continuation(fn, (x,))

    hook.replace(original, captured)
    thing = object()
    for _ in range(3):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
            hook.call(original, resume, thing)
    del captured
    assert sys.getrefcount(thing) == 2


class Thing:
    pass


def begin(rest, still):
    raise AssertionError


def with_a_thing(rest, still):
    return _capture.Continuation(rest, (Thing(), still))


def middle(thing, still):
    raise AssertionError


def end(thing, still):
    raise AssertionError


def without_the_thing(thing, still):
    alive = weakref.ref(thing)
    del thing
    still.append(alive() is not None)


def test_a_frame_that_somebody_looked_at_lets_go(hook):
    """A log of the stack leaves the frame with a frame object, which nobody else refers to."""

    def looked_at(rest, still):
        thing = Thing()
        assert sys._getframe().f_locals["thing"] is thing
        return _capture.Continuation(rest, (thing, still))

    _capture.mark_resume(end.__code__)
    hook.replace(begin, looked_at)
    hook.replace(end, without_the_thing)
    still = []
    hook.call(begin, end, still)
    assert still == [False]


def test_a_frame_without_room_for_the_code_lets_go(hook):
    """The code runs as a function of its own then."""

    large = types.FunctionType(without_the_thing.__code__.replace(co_stacksize=100_000), globals())
    _capture.mark_resume(middle.__code__)
    hook.replace(begin, with_a_thing)
    hook.replace(middle, large)
    still = []
    hook.call(begin, middle, still)
    assert still == [False]
