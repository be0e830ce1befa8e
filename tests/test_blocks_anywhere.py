"""Capture is enabled and disabled from any frame, also where it is on already and `fullgraph` holds."""

from __future__ import annotations

import contextlib
import operator

import _capture
import pytest
import torch

import capture
from capture.hooks import settrace

x = torch.ones(3)
KINDS = {
    "fullgraph": {"fullgraph": True},
    "with breaks": {},
    "settrace, fullgraph": {"fullgraph": True, "hook": "settrace"},
    "settrace": {"hook": "settrace"},
}


class Option:
    """An option with a hash in Python: capture asks for it when a block begins."""

    asked: list[int] = []

    def __hash__(self):
        self.asked.append(1)
        return 1

    def __eq__(self, other):
        return self is other


def backend(gm, inputs, *, option=None):
    return gm.forward


class OwnManager:
    def __init__(self, settings):
        self.settings = settings

    def __enter__(self):
        self.block = capture.enable(backend=backend, **self.settings)
        self.block.__enter__()
        return self

    def __exit__(self, *exception):
        self.block.__exit__(*exception)


@contextlib.contextmanager
def generator(settings):
    with capture.enable(backend=backend, **settings):
        yield


@contextlib.contextmanager
def stack(settings):
    with contextlib.ExitStack() as blocks:
        blocks.enter_context(capture.enable(backend=backend, **settings))
        yield


def start(settings):
    block = capture.enable(backend=backend, **settings)
    block.__enter__()
    return block


def stop(block):
    block.__exit__(None, None, None)


@contextlib.contextmanager
def functions(settings):
    block = start(settings)
    try:
        yield
    finally:
        stop(block)


def double(a):
    return a * 2 + 1


def is_off():
    return _capture.get_callback()[0] is None and settrace.get_callback()[0] is None


@pytest.mark.parametrize("manager", [OwnManager, generator, stack, functions])
@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_a_block_in_a_context_manager(settings, manager):
    for _ in range(3):
        with manager(settings):
            value = double(x)
        assert is_off()
        assert torch.equal(value, double(x))


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_an_exception_leaves_the_block(settings):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), OwnManager(settings):
            double(x)
            raise ZeroDivisionError
        assert is_off()


def enters_own(a, settings):
    with OwnManager(settings):
        a = double(a)
    return a + 1


def enters(a, settings):
    with capture.enable(backend="eager", **settings):
        a = double(a)
    return a + 1


def disables(a, settings):
    with capture.disable():
        a = double(a)
    return a + 1


@pytest.mark.parametrize("program", [enters_own, enters, disables])
@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_a_block_in_a_captured_frame(settings, program):
    compiled = capture.compile(program, backend="eager", **settings)
    for _ in range(3):
        assert torch.equal(compiled(x, settings), program(x, settings))
        assert is_off()


def test_the_graph_before_such_a_call_is_captured():
    operators = []

    def count(gm, inputs):
        operators.append([node.target for node in gm.graph.nodes if node.op.startswith("call")])
        return gm.forward

    def program(a):
        a = a.sin() + 1
        with capture.disable():
            a = a.cos()
        return a * 2 - 1

    assert torch.equal(capture.compile(program, backend=count, fullgraph=True)(x), program(x))
    assert operators == [["sin", operator.add]]


def test_the_hash_of_an_option_is_not_captured():
    option = Option()
    with capture.enable(backend=backend, fullgraph=True):
        for _ in range(2):
            with capture.enable(backend=backend, options={"option": option}, fullgraph=True):
                value = double(x)
    assert option.asked
    assert torch.equal(value, double(x))
    assert is_off()
