"""Worlds of the flow of control: context variables, thread locals, signals, recursion, reentrancy, threads,
and the collector with `__del__`.

Each row: name, what makes the state, the called function of the state, the change.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import gc
import signal
import sys
import threading
import weakref
from typing import Any

import torch

from tests.capture.worlds.registry import State, X, add_rows, state

VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("flow", default=1)
OTHER: contextvars.ContextVar[Any] = contextvars.ContextVar("other")
LOCAL = threading.local()


def in_context(s):
    return s.context.run(lambda: X + VARIABLE.get())


def set_and_reset(s):
    token = VARIABLE.set(s.value)
    try:
        return X + VARIABLE.get()
    finally:
        VARIABLE.reset(token)


def in_a_thread(function, *args):
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*args)))
    thread.start()
    thread.join()
    return results[0]


class PerThread(threading.local):
    k = 1

    def __init__(self):
        self.made = threading.current_thread() is threading.main_thread()


def clean():
    """A state whose end leaves the variables as they were."""

    def restore():
        VARIABLE.set(1)
        LOCAL.__dict__.clear()

    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("own")
    context = contextvars.copy_context()
    return State(restore=restore, context=context, value=3, own=PerThread(), variable=variable)


def local_value(s):
    return X + getattr(LOCAL, "k", 1)


def recursion():
    return State(restore=functools.partial(sys.setrecursionlimit, sys.getrecursionlimit()))


AMBIENT = [
    ("variable_set", clean, lambda s: X * VARIABLE.get(), lambda s: VARIABLE.set(4)),
    ("variable_without_default", clean, lambda s: X * OTHER.get(7), lambda s: s.context.run(OTHER.set, 3)),
    ("variable_in_a_context", clean, in_context, lambda s: s.context.run(VARIABLE.set, 6)),
    ("variable_set_and_reset", clean, set_and_reset, lambda s: setattr(s, "value", 8)),
    ("variable_set_in_a_thread", clean, lambda s: X * VARIABLE.get(),
     lambda s: in_a_thread(VARIABLE.set, 9)),
    ("variable_holds_a_tensor", clean, lambda s: X + s.variable.get(X),
     lambda s: s.variable.set(X * 2)),
    ("variables_copied", clean, lambda s: X + len([*contextvars.copy_context().keys()]) * 0,
     lambda s: VARIABLE.set(2)),
    ("local_set", clean, local_value, lambda s: setattr(LOCAL, "k", 5)),
    ("local_set_in_a_thread", clean, local_value, lambda s: in_a_thread(setattr, LOCAL, "k", 5)),
    ("local_read_in_a_thread", clean, lambda s: in_a_thread(local_value, s),
     lambda s: setattr(LOCAL, "k", 5)),
    ("local_deleted", lambda: (lambda s: (setattr(LOCAL, "k", 5), s)[1])(clean()), local_value,
     lambda s: delattr(LOCAL, "k")),
    ("local_class_with_init", clean, lambda s: (X + s.own.k, s.own.made), lambda s: setattr(s.own, "k", 4)),
    ("local_class_in_a_thread", clean, lambda s: in_a_thread(lambda: (X + s.own.k, s.own.made)),
     lambda s: setattr(PerThread, "k", 1)),
    ("thread_renamed", clean, lambda s: in_a_thread(lambda: X + len(threading.current_thread().name) * 0),
     lambda s: None),
    ("recursion_limit", recursion, lambda s: (X + 1, sys.getrecursionlimit()),
     lambda s: sys.setrecursionlimit(sys.getrecursionlimit() + 50)),
    ("switch_interval", lambda: State(restore=functools.partial(sys.setswitchinterval, 0.005)),
     lambda s: (X + 1, sys.getswitchinterval()), lambda s: sys.setswitchinterval(0.25)),
]  # fmt: skip


def signalled(s):
    """A handler runs in the middle of the frame."""
    y = X + s.k
    signal.raise_signal(signal.SIGUSR1)
    return y * s.k, s.k


def handling():
    made = State(k=1)
    old = signal.signal(signal.SIGUSR1, lambda *a: setattr(made, "k", made.k + 1))
    made.restore = lambda: signal.signal(signal.SIGUSR1, old)
    return made


def raising_handler(s):
    def handle(number, frame):
        raise KeyError("from the handler")

    signal.signal(signal.SIGUSR1, handle)


def caught_signal(s):
    try:
        return signalled(s)
    except KeyError as error:
        return str(error), s.k


def factorial(s, n=None):
    n = s.depth if n is None else n
    return X * 0 + 1 if n <= 0 else factorial(s, n - 1) * n


def mutual_even(n):
    return X + 1 if n == 0 else mutual_odd(n - 1) * 1


def mutual_odd(n):
    return X - 1 if n == 0 else mutual_even(n - 1) * 1


def too_deep(s):
    try:
        return forever(X)
    except RecursionError:
        return X + s.depth


def forever(x):
    return forever(x + 1)


class Reentrant:
    """Its operator calls the captured function again."""

    def __init__(self, s):
        self.s = s

    def __add__(self, other):
        return reenter(self.s, other.depth - 1) if other.depth else X


def reenter(s, depth=None):
    s.depth = s.depth if depth is None else depth
    return X + (Reentrant(s) + s if s.depth > 0 else X * 2)


def in_a_key(s):
    class Key:
        def __hash__(self):
            s.calls += 1
            return 3

        def __eq__(self, other):
            return factorial(State(depth=1)).sum().item() > 0

    return X + {Key(): 2}.get(Key(), s.depth), s.calls


def calls_itself_in_a_hook(s):
    w = torch.ones(4, requires_grad=True)
    seen = []
    w.register_hook(lambda g: seen.append(factorial(s).sum().item()))
    (X * w * s.depth).sum().backward()
    return w.grad, seen


def nested_capture(s):
    import capture

    with capture.enable(backend="eager"):
        return factorial(s) + 1


def disabled_inside(s):
    import capture

    return capture.disable(factorial)(s) + X


RECURSION = [
    ("factorial", state(depth=lambda: 3), factorial, lambda s: setattr(s, "depth", 6)),
    ("factorial_of_none", state(depth=lambda: 3), factorial, lambda s: setattr(s, "depth", 0)),
    ("mutual", state(depth=lambda: 4), lambda s: mutual_even(s.depth), lambda s: setattr(s, "depth", 5)),
    ("too_deep", state(depth=lambda: 1), too_deep, lambda s: setattr(s, "depth", 2)),
    ("in_an_operator", state(depth=lambda: 3), reenter, lambda s: setattr(s, "depth", 2)),
    ("in_a_hash", state(depth=lambda: 3, calls=lambda: 0), in_a_key, lambda s: setattr(s, "depth", 2)),
    ("in_a_hook", state(depth=lambda: 2), calls_itself_in_a_hook, lambda s: setattr(s, "depth", 3)),
    ("nested_capture", state(depth=lambda: 2), nested_capture, lambda s: setattr(s, "depth", 4)),
    ("disabled_inside", state(depth=lambda: 2), disabled_inside, lambda s: setattr(s, "depth", 4)),
    ("signal", handling, signalled, lambda s: setattr(s, "k", 10)),
    ("signal_with_another_handler", handling, caught_signal, raising_handler),
    ("signal_ignored", handling, signalled, lambda s: signal.signal(signal.SIGUSR1, signal.SIG_IGN)),
]  # fmt: skip


def many_threads(s):
    """All threads call at once, each with its own size."""
    results: dict[int, Any] = {}
    barrier = threading.Barrier(3)

    def run(n):
        barrier.wait()
        for _ in range(3):
            results[n] = work(torch.ones(n), s.k)

    threads = [threading.Thread(target=run, args=(n,)) for n in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[n] for n in sorted(results)]


def work(x, k):
    return x * k + x.shape[0]


def captured_in_threads(s):
    """Each thread has its own region. Capture is on for the thread that enables it."""
    import capture

    def run(n):
        with capture.enable(backend="eager"):
            return work(torch.ones(n), s.k)

    return [in_a_thread(run, n) for n in (2, 3)]


class Noted:
    """Writes a line when it dies."""

    def __init__(self, log, k=1):
        self.log, self.k = log, k

    def __del__(self):
        self.log.append(self.k)


def passed_on(s):
    noted = Noted(s.log, s.k)
    y = X * noted.k
    return y, noted.k


def collected(s):
    """A cycle of objects with `__del__` is collected in the middle of the frame."""
    first = Noted(s.log, s.k)
    first.me = first
    del first
    gc.collect()
    return X + s.k, list(s.log)


def weakly(s):
    held = s.ref()
    return X if held is None else X + held.k


def with_a_target():
    target = Noted([], 4)
    return State(target=target, ref=weakref.ref(target))


def cached(s):
    @functools.lru_cache(maxsize=s.k)
    def inner(n):
        return X + n

    return inner(1) + inner(2) + inner(1), inner.cache_info().hits


LIFETIMES = [
    ("threads", state(k=lambda: 2), many_threads, lambda s: setattr(s, "k", 5)),
    ("threads_with_other_types", state(k=lambda: 2), many_threads, lambda s: setattr(s, "k", 2.5)),
    ("threads_that_capture", state(k=lambda: 2), captured_in_threads, lambda s: setattr(s, "k", 5)),
    ("object_dies_behind_the_call", state(k=lambda: 2, log=list),
     lambda s: (passed_on(s), list(s.log)), lambda s: setattr(s, "k", 5)),
    ("cycle_collected_inside", state(k=lambda: 2, log=list), collected, lambda s: setattr(s, "k", 5)),
    ("collector_switched_off", lambda: State(restore=gc.enable), lambda s: (X + 1, gc.isenabled()),
     lambda s: gc.disable()),
    ("collector_threshold", lambda: State(restore=functools.partial(gc.set_threshold, *gc.get_threshold())),
     lambda s: (X + 1, gc.get_threshold()), lambda s: gc.set_threshold(123)),
    ("weak_target_dies", with_a_target, weakly, lambda s: (delattr(s, "target"), gc.collect())),
    ("weak_target_replaced", with_a_target, weakly,
     lambda s: s.__dict__.update(vars(with_a_target()), kept=s.target)),
    ("weak_dict", lambda: State(d=weakref.WeakValueDictionary(), kept=[Noted([], 1)]),
     lambda s: X + len(s.d), lambda s: s.d.update(a=s.kept[0])),
    ("weak_set", lambda: State(d=weakref.WeakSet(), kept=[Noted([], 1)]),
     lambda s: X + len(s.d), lambda s: s.d.add(s.kept[0])),
    ("cache_of_another_size", state(k=lambda: 2), cached, lambda s: setattr(s, "k", 1)),
    ("exit_stack", state(k=lambda: 2, log=list), lambda s: stacked(s), lambda s: setattr(s, "k", 3)),
]  # fmt: skip


def stacked(s):
    with contextlib.ExitStack() as stack:
        for n in range(s.k):
            stack.callback(s.log.append, n)
        y = X * s.k
    return y, list(s.log)


for prefix, rows in (("ambient", AMBIENT), ("recursion", RECURSION), ("lifetime", LIFETIMES)):
    add_rows(prefix, rows)
