"""Continuations: a broken frame goes on without growing any stack."""

from __future__ import annotations

import inspect

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
    """`original(n)` breaks at each step of a loop that adds up n, n - 1, ...; `depths` are the heights of the stack at the steps."""
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
