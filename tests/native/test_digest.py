"""Of frames that look alike, a glance sees one."""

from __future__ import annotations

import collections
import sys
import time

import _capture
import numpy as np
import pytest
import torch

STRAIGHT = 1


@pytest.fixture(autouse=True)
def _tensors_can_be_read():
    _capture.calibrate()
    _capture.skip_code(work.__code__)


def work():
    """Enough for a forecast."""
    end = time.thread_time_ns() + 300_000
    while time.thread_time_ns() < end:
        pass


def waits(first, second=None, third=None, fourth=None):
    work()
    return first


def shown(hook, *calls, code=waits):
    """Which of these calls a glance sees, of those before the first forecast."""
    _capture.clear_entries(code.__code__)
    seen = []
    settings = {"foresee": lambda: (1.0, 1.0, False), "glance": lambda frame: seen.append(place)}
    patience = _capture.Patience(pytest.fail, lambda _: STRAIGHT, least_ns=1, unit_ns=10**6, **settings)
    hook.call_with(patience, code, *calls[0])  # a first run shows nothing
    for place, arguments in enumerate(calls):
        hook.call_with(patience, code, *arguments)
    return seen


ONES = torch.ones(2, 3)
LAYER, OTHER_LAYER = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
ALIKE = [
    ((ONES,), (torch.zeros(2, 3),)),
    ((2, 0.5, "a", None), (2, 0.5, "b", None)),
    (([ONES, 3],), ([torch.zeros(2, 3), 3],)),
    (({"a": 1, 2: 2},), ({"a": 1, 2: 3},)),
    (([0] * 16 + [1],), ([0] * 16 + [2],)),
    ((2**70,), (2**70,)),
    ((True,), (False,)),
    ((np.int64(2), np.float32(2)), (np.int64(2), np.float32(3))),
    ((LAYER, ONES), (LAYER, ONES)),
    ((ONES, LAYER), (ONES, OTHER_LAYER)),
    ((ONES, [[1]]), (ONES, [[2]])),
]
UNLIKE = [
    ((ONES,), (torch.ones(2, 4),)),
    ((ONES,), (torch.ones(3, 2).t(),)),
    ((ONES,), (torch.ones(6),)),
    ((2,), (3,)),
    ((0.5,), (0.25,)),
    ((0.0,), (-0.0,)),
    ((2,), (2.0,)),
    ((np.int64(2),), (np.int64(3),)),
    ((np.int64(2),), (np.int32(2),)),
    (([np.uint8(2)],), ([np.uint8(3)],)),
    (([ONES],), ([torch.ones(3)],)),
    (([1],), ([1, 1],)),
    (([0] * 17,), ([0] * 18,)),
    (({"a": 1},), ({"a": 2},)),
    (({"a": 1},), ({"b": 1},)),
    ((LAYER, ONES), (OTHER_LAYER, ONES)),
    (((1, 2),), ((1, 3),)),
]


@pytest.mark.parametrize("first, second", ALIKE)
def test_frames_that_look_alike(hook, first, second):
    assert shown(hook, first, second, first) == [0]


@pytest.mark.parametrize("first, second", UNLIKE)
def test_frames_that_do_not(hook, first, second):
    assert shown(hook, first, second, first) == [0, 1]


def test_what_native_code_cannot_read_is_always_shown(hook):
    sparse = torch.eye(2).to_sparse()
    assert shown(hook, (sparse,), (sparse,)) == [0, 1]


def test_another_grad_mode(hook):
    def switches(mode):
        work()
        torch._C._set_grad_enabled(mode)

    try:
        assert shown(hook, (True,), (False,), (True,), code=switches) == [0, 2]
    finally:
        torch.set_grad_enabled(True)


class Optimizer:
    """What has settings as an optimizer."""

    def __init__(self, rate):
        self.param_groups = [{"params": [1], "rate": rate}]


def test_the_settings_of_an_optimizer(hook):
    def schedules(optimizer, rate):
        work()
        optimizer.param_groups[0]["rate"] += rate

    optimizer = Optimizer(0.5)
    assert shown(hook, (optimizer, 0.0), (optimizer, 0.0), code=schedules) == [0]
    optimizer = Optimizer(0.5)
    assert shown(hook, *[(optimizer, 0.5)] * 3, code=schedules) == [0, 1, 2]

    def holds(first, optimizers):
        work()
        return first

    two = [Optimizer(0.5), Optimizer(0.25)]
    assert shown(hook, *[(1, (one,)) for one in (*two, two[0])], code=holds) == [0, 1]
    two[1].param_groups = None
    assert shown(hook, *[(1, [one]) for one in (*two, two[0])], code=holds) == [0, 1]


class Holder:
    """Its attributes are inline values, or in a dict."""

    def __init__(self, has_dict):
        self.name, self.items, self.queue = "a", [], collections.deque()
        if has_dict:
            vars(self)["late"] = 1


@pytest.mark.parametrize("has_dict", [False, True])
@pytest.mark.parametrize("attribute", ["items", "queue"])
def test_lengths_of_attributes(hook, attribute, has_dict):
    def grows(holder, count):
        work()
        getattr(holder, attribute).extend([1] * count)

    holder = Holder(has_dict)
    assert shown(hook, *[(holder, 0)] * 3, code=grows) == [0]
    assert shown(hook, *[(holder, 1)] * 3, code=grows) == [0, 1, 2]


@pytest.mark.parametrize("has_dict", [False, True])
def test_lengths_of_the_closure(hook, has_dict):
    holder, items, later = Holder(has_dict), [], None
    del later

    def grows(own, of_holder):
        work()
        items.extend([1] * own)
        holder.queue.extend([1] * of_holder)
        return lambda: later

    assert shown(hook, (0, 0), (0, 0), (0, 0), code=grows) == [0]
    assert shown(hook, (1, 0), (1, 0), (1, 0), code=grows) == [0, 1, 2]
    assert shown(hook, (0, 1), (0, 1), (0, 1), code=grows) == [0, 1, 2]


class Cache:
    """As those of decoders: layers with tensors. A module and an optimizer hold their own."""

    def __init__(self, size, own=3, has_dict=False):
        layers = [Cache.__new__(Cache) for _ in range(2)]
        for layer in layers:
            layer.keys, layer.cache = torch.ones(1, size), self
            if has_dict:
                vars(layer)["late"] = 1
        self.name, self.layers = "a", layers
        self.module = torch.nn.Module()
        self.module.buffer = [torch.ones(own)]
        self.optimizer = Optimizer(0.5)
        self.optimizer.state = {1: torch.ones(own)}


@pytest.mark.parametrize("has_dict", [False, True])
@pytest.mark.parametrize("held", [lambda cache: cache, lambda cache: {LAYER: [(cache,)]}])
def test_tensors_that_objects_hold(hook, held, has_dict):
    small, large, other = Cache(3, has_dict=has_dict), Cache(4, has_dict=has_dict), Cache(3, own=5)
    assert shown(hook, (1, held(small)), (1, held(large)), (1, held(small))) == [0, 1]
    assert shown(hook, (1, held(small)), (1, held(other)), (1, held(small))) == [0]
    assert shown(hook, (small,), (large,), (small,)) == [
        0
    ]  # the attributes of the first argument are its own
    assert shown(hook, ([small],), ([large],), ([small],)) == [0, 1]


def test_as_much_of_what_the_arguments_hold_as_fits(hook):
    many = [[] for _ in range(64)]
    assert shown(hook, (1, many, Cache(3)), (1, many, Cache(4)), (1, many, Cache(3))) == [0]
    sparse = {"a": [torch.eye(2).to_sparse()]}  # native code cannot read it
    assert shown(hook, (1, sparse), (1, sparse), (1, sparse)) == [0]


def wrapper(*args):
    work()
    return args


def test_the_owner_of_a_wrapped_method(hook):
    assert shown(hook, (LAYER,), (LAYER,), (OTHER_LAYER,), (LAYER,), code=wrapper) == [0, 2]


def test_another_key(hook):
    """Each group of settings has a history of its own."""
    seen = []
    settings = {"foresee": lambda: (1.0, 1.0, False), "glance": lambda frame: seen.append(hook.key)}
    patience = _capture.Patience(pytest.fail, lambda _: STRAIGHT, least_ns=1, unit_ns=10**6, **settings)
    _capture.clear_entries(waits.__code__)
    keys = [object(), object()]
    for hook.key in (keys[0], *keys, keys[0]):
        hook.call_with(patience, waits, 1)
    assert seen == keys


def test_no_reference_is_kept(hook):
    tensor, owner = torch.ones(3), torch.nn.Linear(2, 2)
    values = {"a": tensor}
    before = [sys.getrefcount(value) for value in (tensor, owner, values)]
    assert shown(hook, *[(owner, tensor, values, n) for n in range(3)]) == [0, 1, 2]
    assert [sys.getrefcount(value) for value in (tensor, owner, values)] == before
