"""Objects of the captured part of a frame are gone when the breaking instruction runs, as in eager."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

import capture

held: list[weakref.ref] = []


@capture.disable
def watch(value):
    held[:] = [weakref.ref(value)]


@capture.disable
def is_gone():
    return held[0]() is None


def uses_a_tensor_up(x):
    made = torch.ones(3)
    watch(made)
    y = made + x
    made = None
    return is_gone(), y


def test_an_argument_that_is_dead():
    gone, value = capture.compile(uses_a_tensor_up, backend="eager")(torch.ones(3))
    assert gone
    assert torch.equal(value, torch.full((3,), 2.0))


class Token:
    pass


def raises_at_once(token, x):
    raise ValueError(token.missing if hasattr(token, "missing") else "nothing")


def test_arguments_of_a_frame_that_only_raises():
    """Nothing of the translation keeps them until the next collection."""
    gc.collect()
    gc.disable()
    try:
        token = Token()
        with capture.enable(backend="eager"):
            try:
                raises_at_once(token, torch.ones(3))
            except ValueError:
                pass
        gone = weakref.ref(token)
        del token
        assert gone() is None
    finally:
        gc.enable()


def test_what_an_abandoned_generator_held():
    def program(x, token):
        def results():
            y = x + 1
            reference = weakref.ref(token.child)
            token.child = None
            yield y, reference() is None

        return next(results())

    gc.collect()
    gc.disable()
    try:
        token = Token()
        token.child = Token()
        assert capture.compile(program, backend="eager")(torch.ones(3), token)[1]
    finally:
        gc.enable()


def test_what_a_generator_left_behind():
    """It knows the frame that resumed it last, which knows it; so does an exception that passed a call."""

    def results(x):
        try:
            yield x
        except ValueError:
            yield x * 2

    def program(x, token):
        capture.graph_break()
        made = results(x)
        next(made)
        y = made.throw(ValueError)
        try:
            next(made)
        except StopIteration:
            return y + token.number

    gc.collect()
    gc.disable()
    try:
        token = Token()
        token.number = 1
        capture.compile(program, backend="eager")(torch.ones(3), token)
        gone = weakref.ref(token)
        del token
        assert gone() is None
    finally:
        gc.enable()


class Noticed(Exception):
    """An error whose end can be seen."""

    def __init__(self):
        super().__init__()
        held[:] = [weakref.ref(self)]


@capture.disable
def fails():
    raise Noticed


def catches(x):
    y = x + 1
    try:
        fails()
    except Noticed:
        y = x * 2
    return y


def catches_and_raises(x):
    y = x + 1
    try:
        try:
            fails()
        except Noticed:
            y = x * 2
            capture.graph_break()
            raise
    except Noticed:
        y = y * 3
    return y


@pytest.mark.parametrize("function", [catches, catches_and_raises])
def test_an_error_that_the_program_has_caught(function):
    """Its traceback has the frame of the code before the break, which no longer holds it."""
    gc.collect()
    gc.disable()
    try:
        capture.compile(function, backend="eager")(torch.ones(3))
        assert held[0]() is None
    finally:
        gc.enable()


class Holder:
    reference: weakref.ref


def watched_by_python(x, holder):
    made = x - 1
    watch(made)
    return held[0]() is None


def watched_by_a_reference(x, holder):
    made = x - 1
    holder.reference = weakref.ref(made)
    return holder.reference() is None


def watched_and_bound_again(x, holder):
    made = x - 1
    watch(made)
    made = None  # noqa: F841
    return held[0]() is None


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("function", [watched_by_python, watched_by_a_reference, watched_and_bound_again])
def test_a_tensor_lives_as_long_as_its_local(function, backend: str) -> None:
    x = torch.ones(3)
    captured = capture.compile(function, backend=backend)
    assert captured(x, Holder()) == function(x, Holder())
