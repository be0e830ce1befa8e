"""HookedFunction: a function that runs another one under its own callback."""

import copy
import functools
import gc
import inspect
import pickle
import threading
import types
import weakref

import _capture
import pytest


def callback_one(frame):
    return None


def callback_two(frame):
    return None


def described(a, b=2, *rest, c: int = 3):
    """A function with all that readers see."""


described.mark = "kept"


def hooked(target, callback=callback_two, key=2, *method):
    return _capture.HookedFunction(described, target, callback, key, *method)


def what_is_set(*args, **kwargs):
    return _capture.get_callback(), args, kwargs


module_level = hooked(what_is_set)
module_level.__qualname__ = module_level.__name__ = "module_level"


@pytest.fixture(autouse=True)
def nothing_stays():
    before = _capture.get_callback()
    yield
    assert _capture.get_callback() == before


def test_a_call_runs_under_its_callback():
    fast = hooked(what_is_set)
    assert fast(1, a=3) == ((callback_two, 2), (1,), {"a": 3})
    assert fast(*[1, 2], **{"b": 4}) == ((callback_two, 2), (1, 2), {"b": 4})
    assert list(map(fast, [5])) == [((callback_two, 2), (5,), {})]
    assert functools.partial(fast, 1)(2) == ((callback_two, 2), (1, 2), {})
    assert _capture.get_callback() == (None, None) and not _capture.is_installed()
    assert hooked(what_is_set, None, None)() == ((None, None), (), {})


def test_what_was_set_before_is_set_again_after_an_error():
    def fails():
        _capture.set_callback(callback_two, 7)
        raise KeyError("mine")

    _capture.set_callback(callback_one, 1)
    try:
        with pytest.raises(KeyError, match="mine"):
            hooked(fails, None)()
        assert _capture.get_callback() == (callback_one, 1)
    finally:
        _capture.set_callback(None, None)


def test_its_callback_is_of_the_thread_that_calls():
    seen = []
    fast = hooked(lambda: seen.append(_capture.get_callback()))
    thread = threading.Thread(target=fast)
    thread.start()
    thread.join()
    assert seen == [(callback_two, 2)]


def test_a_method_is_looked_up_on_the_class_at_each_call():
    class Owner:
        def go(self, x):
            return "class", x

    owner = Owner()
    fast = hooked(owner, callback_two, 2, "go")
    assert fast(1) == ("class", 1)
    owner.go = lambda x: ("instance", x)
    assert fast(x=1) == ("class", 1)
    Owner.go = lambda self, x: ("new", x)
    assert fast(1) == ("new", 1)
    Owner.go = staticmethod(lambda x: ("static", x))
    assert fast(1) == ("static", 1)
    Owner.go = int
    assert fast("12") == 12
    del Owner.go
    with pytest.raises(AttributeError, match="go"):
        fast(1)


def test_while_all_run_eagerly():
    fast = hooked(what_is_set)
    _capture.run_eagerly(True)
    try:
        assert fast(1) == ((None, None), (1,), {})
    finally:
        _capture.run_eagerly(False)
    assert fast(1) == ((callback_two, 2), (1,), {})


def test_what_python_has_to_do_is_done_by_the_describing_function():
    def around(x):
        return "around", x

    in_python = _capture.HookedFunction(around, what_is_set, None, None, in_python=True)
    plain = _capture.HookedFunction(around, what_is_set, None, None)
    assert in_python(1) == ("around", 1)
    assert plain(1) == ((None, None), (1,), {})
    _capture.python_hook(True)
    try:
        assert plain(1) == ("around", 1)
        assert hooked(what_is_set)(1) == ((callback_two, 2), (1,), {})
    finally:
        _capture.python_hook(False)
    assert plain(1) == ((None, None), (1,), {})


def test_it_looks_like_the_function_that_describes_it():
    fast = hooked(what_is_set)
    assert isinstance(fast, types.FunctionType) and inspect.isfunction(fast) and callable(fast)
    for name in (
        "__name__",
        "__qualname__",
        "__doc__",
        "__module__",
        "__defaults__",
        "__kwdefaults__",
        "__code__",
    ):
        assert getattr(fast, name) == getattr(described, name)
    assert fast.mark == "kept" and fast.__annotations__ == described.__annotations__
    assert inspect.signature(fast) == inspect.signature(described)
    assert repr(fast).startswith("<function described at ")


def test_it_binds_as_a_method():
    class Owner:
        fast = hooked(what_is_set)
        still = staticmethod(hooked(what_is_set))

    owner = Owner()
    bound = owner.fast
    assert isinstance(bound, types.MethodType) and bound.__self__ is owner
    for result in (owner.fast(1), bound(1), Owner.fast(owner, 1)):
        assert result == ((callback_two, 2), (owner, 1), {})
    assert owner.still(1) == ((callback_two, 2), (1,), {})


def test_copies_and_pickles_are_the_function_itself():
    assert copy.copy(module_level) is module_level and copy.deepcopy([module_level])[0] is module_level
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(module_level, protocol)) is module_level
    with pytest.raises(pickle.PicklingError, match="not the same object"):
        pickle.dumps(hooked(what_is_set))  # another one has its name


def test_a_cycle_through_it_is_collected():
    class Target:
        def __call__(self):
            return self.fast

    target = Target()
    target.fast = hooked(target)
    gone = weakref.ref(target), weakref.ref(target.fast)
    del target
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_it_lets_go_of_what_it_holds():
    class Target:
        def __call__(self):
            return 1

    target, key = Target(), Target()
    fast = hooked(target, callback_one, key)
    gone = weakref.ref(target), weakref.ref(key)
    del target, key
    assert fast() == 1
    del fast
    assert [ref() for ref in gone] == [None, None]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (described, len, callback_one),
        (len, len, None, None),
        (described, len, None, None, 3),
        (described, len, 3, None),
    ],
)
def test_wrong_arguments(arguments):
    with pytest.raises(TypeError):
        _capture.HookedFunction(*arguments)


def test_a_target_left_to_python_for_long_is_called_without_the_callback():
    def target(*args, **kwargs):
        return _capture.get_callback()[0], args, kwargs

    fast, key = hooked(target), 2
    left = _capture.Entry(None, key, unhooked=True, sampled=True)
    _capture.add_entry(target.__code__, left)
    assert [fast(1, a=2) for _ in range(300)] == [(None, (1,), {"a": 2})] * 300
    assert left.hits == 300

    before = _capture.set_callback(callback_one, 1)
    try:  # a callback around it has to be off too
        assert fast() == (None, (), {})
    finally:
        _capture.set_callback(*before)
    assert left.hits == 301
    _capture.remove_entry(target.__code__, left)
    assert fast() == (callback_two, (), {})


def test_the_first_calls_without_an_entry_are_told_once():
    told = []
    fast = hooked(what_is_set)
    fast.when_unused = lambda: told.append(1)
    for expected in ([], [], [1], [1]):
        fast()
        assert told == expected
    assert fast.when_unused is None


def test_an_error_of_when_unused_is_that_of_the_call():
    fast = hooked(what_is_set)
    fast.when_unused = lambda: 1 / 0
    fast(), fast()
    with pytest.raises(ZeroDivisionError):
        fast()
    assert fast()[0] == (callback_two, 2)


def test_calls_without_a_callback_are_not_counted():
    fast = hooked(what_is_set, None, None)
    fast.when_unused = lambda: 1 / 0
    for _ in range(5):
        fast()
