"""The hook with recursion, threads, processes, tracers and exceptions."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import threading
import weakref

import _capture
import pytest

# --- recursion ----------------------------------------------------------------------------------------------


def test_recursion_limit_as_without_the_hook(hook):
    def deep(n):
        return 0 if n == 0 else 1 + deep(n - 1)

    def forever(n):
        return forever(n + 1)

    _capture.skip_code(deep.__code__)
    assert hook.call(deep, 800) == 800
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        hook.call(forever, 0)
    assert hook.call(deep, 800) == 800


def test_callback_has_room_near_the_recursion_limit(hook):
    def helper(n):
        return 0 if n == 0 else helper(n - 1)

    reached = []

    def callback(frame):
        reached.append(helper(500))

    def forever():
        forever()

    with pytest.raises(RecursionError):
        hook.call_with(callback, forever)
    assert len(reached) > 300 and set(reached) == {0}


DEEP = """
import sys, threading, _capture
sys.setrecursionlimit(1_000_000)
def plain(n):
    return 0 if n == 0 else 1 + plain(n - 1)
def original(n):
    return 0 if n == 0 else 1 + original(n - 1)
def captured(n):
    return 0 if n == 0 else 1 + original(n - 1)
key = object()
_capture.add_entry(original.__code__, _capture.Entry(None, key, code=captured.__code__))
def run():
    _capture.set_callback(lambda frame: None, key)
    print(plain(9_000), original(9_000), plain(150_000), original(150_000), _capture.is_installed())
    _capture.set_callback(None, None)
run()
print(_capture.is_installed())
thread = threading.Thread(target=run); thread.start(); thread.join()
_capture.set_callback(lambda frame: None, key)
threading.stack_size(256 * 1024)
def not_hooked():
    print(plain(150_000))
thread = threading.Thread(target=not_hooked); thread.start(); thread.join()
_capture.set_callback(None, None)
"""


def test_recursion_far_deeper_than_the_c_stack(in_process):
    lines = in_process(DEEP).splitlines()
    run = "9000 9000 150000 150000 True"
    assert lines == [run, "False", run, "150000"]


@pytest.mark.parametrize("limit", [1 << 20, 64 << 20, 65 << 20, resource.RLIM_INFINITY])
def test_recursion_under_another_limit_of_the_stack(limit: int) -> None:
    """The first thread's stack is as large as the limit, whatever it was when the process began."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if hard != resource.RLIM_INFINITY:
        pytest.skip("the limit of this process can't be raised")
    inside = f"import resource; resource.setrlimit(resource.RLIMIT_STACK, ({limit}, {hard}))\n{DEEP}"
    for code, before in (
        (DEEP, lambda: resource.setrlimit(resource.RLIMIT_STACK, (limit, hard))),
        (inside, None),
    ):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=before)
        assert done.stdout.splitlines()[-1:] == ["150000"], done.stderr


# --- threads, processes, interpreters -----------------------------------------------------------------------


def test_another_thread_is_not_hooked(hook):
    seen_there = []

    def there():
        seen_there.append(_capture.get_callback())

    def start_and_join():
        thread = threading.Thread(target=there)
        thread.start()
        thread.join()

    hook.call(start_and_join)
    assert seen_there == [(None, None)]
    assert "there" not in hook.names()


def test_thread_that_ends_releases_its_callback():
    class Callback:
        def __call__(self, frame):
            return None

    callback = Callback()
    alive = weakref.ref(callback)
    installed = []

    def work(callback):
        _capture.set_callback(callback, object())
        installed.append(_capture.is_installed())

    thread = threading.Thread(target=work, args=(callback,))
    del callback
    thread.start()
    thread.join()
    del thread
    for _ in range(100):  # join() returns shortly before the interpreter clears the thread's state
        if alive() is None and not _capture.is_installed():
            break
        threading.Event().wait(0.01)
    assert installed == [True]
    assert alive() is None
    assert not _capture.is_installed()


def test_threads_share_entries(hook):
    def original(x):
        return x

    def replacement(x):
        return -x

    entry = hook.replace(original, replacement)
    results = []

    def work():
        results.append(hook.call(lambda: [original(i) for i in range(2000)]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[-i for i in range(2000)]] * 4
    assert entry.hits == 8000


def test_clearing_entries_while_other_threads_run_them(hook):
    def original(x):
        return x

    def replacement(x):
        return x

    code = original.__code__
    stop = threading.Event()

    def graph():
        return (None,)

    def churn():
        while not stop.is_set():
            _capture.add_entry(code, _capture.Entry(None, hook.key, code=replacement.__code__))
            _capture.add_entry(code, _capture.Entry(None, hook.key, graph=graph, result=(("const", 7),)))
            _capture.clear_entries(code)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert hook.call_with(lambda frame: None, lambda: {original(7) for _ in range(20_000)}) == {7}
    finally:
        stop.set()
        thread.join()


def test_forked_child_is_usable(hook):
    def original():
        return 1

    def replacement():
        return 2

    hook.replace(original, replacement)
    release = threading.Event()
    ready = threading.Event()

    def wait():
        ready.set()
        release.wait()

    def other_thread():
        hook.call(wait)

    thread = threading.Thread(target=other_thread)
    thread.start()
    ready.wait()
    child = os.fork()
    if child == 0:
        # The other thread is gone, and its callback is gone too.
        good = (
            not _capture.is_installed()
            and hook.call(original) == 2
            and original() == 1
            and not _capture.is_installed()
        )
        os._exit(0 if good else 1)
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_fork_while_hooked(hook):
    def original():
        return 1

    def replacement():
        return 2

    hook.replace(original, replacement)

    def fork_and_call():
        child = os.fork()
        if child == 0:
            os._exit(0 if original() == 2 else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert hook.call(fork_and_call) == 0


def test_subinterpreters_are_refused(in_process):
    program = """
import _capture, _xxsubinterpreters as subinterpreters
def f(): return 1
_capture.set_callback(lambda frame: None, 1)
other = subinterpreters.create()
subinterpreters.run_string(other, '''
import sys
sys.path.insert(0, "")
try:
    import _capture
    _capture.set_callback(len, 1)
except (RuntimeError, ImportError) as error:
    print(error, flush=True)
def f(): return 2
f()
''')
subinterpreters.destroy(other)
_capture.set_callback(None, None)
print("end")
"""
    assert "subinterpreter" in in_process(program).splitlines()[0]


# --- tracing ------------------------------------------------------------------------------------------------


def test_trace_and_profile_functions_see_the_frames_of_the_program(hook):
    """While one is set, no entry runs."""

    def original(x):
        return x

    def replacement(x):
        y = x
        return y

    entry = hook.replace(original, replacement)
    events = []

    def tracer(frame, event, arg):
        helper()
        events.append((frame.f_code.co_name, event))
        return tracer

    def helper():
        pass

    def traced(setter, function):
        setter(function)
        try:
            return original(3)
        finally:
            setter(None)

    assert hook.call(traced, sys.settrace, tracer) == 3
    assert events == [("original", e) for e in ("call", "line", "return")]
    assert hook.names() == ["traced"]
    calls = []
    hook.call(traced, sys.setprofile, lambda frame, event, arg: calls.append((frame.f_code.co_name, event)))
    assert ("original", "call") in calls and ("original", "return") in calls
    assert hook.call(original, 3) == 3
    assert entry.hits == 1


# --- living together with another evaluator -----------------------------------------------------------------


def test_exception_handled_by_the_caller_while_hooked(hook):
    def fails():
        raise KeyError("k")

    def handles():
        try:
            fails()
        except KeyError as error:
            return error.args, sys.exc_info()[0]

    assert hook.call(handles) == (("k",), KeyError)
    assert sys.exc_info() == (None, None, None)


def test_del_that_runs_hooked_code_during_an_exception(hook):
    ran = []

    def helper():
        ran.append(sys.exc_info()[0])

    class Noisy:
        def __del__(self):
            helper()

    def fails():
        kept_by_the_frame = Noisy()  # noqa: F841
        raise ValueError("kept")

    with pytest.raises(ValueError, match="kept"):
        hook.call(fails)
    gc.collect()
    assert len(ran) == 1


def test_no_callback_while_the_interpreter_goes_down(in_process):
    program = """
import _capture
class Late:
    def __del__(self):
        print("late", self.helper())
    def helper(self):
        return 1
late = Late()
late.self = late
_capture.set_callback(print, 1)
"""
    assert in_process(program).splitlines() == ["late 1"]
