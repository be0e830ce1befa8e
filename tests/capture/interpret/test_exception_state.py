"""The handled exception (`sys.exc_info`) is the same before and after a captured frame, however it ends."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest
import torch

import capture


class Delegates(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)


def test_an_except_block_that_raises_leaves_nothing_behind() -> None:
    module = Delegates()
    with capture.enable(backend="eager"):
        assert module.in_features == 4
        with pytest.raises(AttributeError):
            _ = module.nothing
        assert not hasattr(module, "nothing_either")
    assert sys.exc_info() == (None, None, None)


def test_inside_of_an_except_block_the_outer_exception_is_handled_again() -> None:
    module = Delegates()
    try:
        raise KeyError("outer")
    except KeyError as outer:
        with capture.enable(backend="eager"):
            hasattr(module, "nothing")
            assert sys.exc_info()[1] is outer


def breaks_and_raises(x):
    try:
        print("first")
        raise ValueError("one")
    except ValueError:
        y = x + 1
        print("second")
        raise KeyError("two")
    finally:
        print("last")
    return y


def test_a_break_in_each_part_of_a_try_statement(capsys: pytest.CaptureFixture[str]) -> None:
    with capture.enable(backend="eager"), pytest.raises(KeyError) as caught:
        breaks_and_raises(torch.ones(2))
    assert isinstance(caught.value.__context__, ValueError)
    assert capsys.readouterr().out.split() == ["first", "second", "last"]
    assert sys.exc_info() == (None, None, None)


def looks_up(x, table):
    table.append(1)
    return x[table[0] * 9 :].sum() + torch.ones(3)[torch.tensor(len(table) * 9)]


def test_a_graph_that_raises_after_a_reset_still_gives_way_to_python() -> None:
    for _ in range(2):
        with capture.enable(), pytest.raises(IndexError):
            looks_up(torch.ones(20), [])
        capture.reset()


def context_of_what_it_raises(x):
    try:
        raise ValueError
    except ValueError as error:
        return type(error.__context__), sys.exc_info()[1] is error, x + 1


def test_what_the_caller_handles_is_guarded():
    captured = capture.compile(context_of_what_it_raises, backend="eager")

    def calls(function):
        results = [function(torch.ones(2))[:2]]
        try:
            raise KeyError
        except KeyError:
            results.append(function(torch.ones(2))[:2])
        return [*results, function(torch.ones(2))[:2]]

    assert calls(captured) == calls(context_of_what_it_raises)


def test_an_exception_that_the_caller_handles_dies_when_it_has_been_handled():
    class Swallows:
        def __enter__(self):
            return self

        def __exit__(self, *exception):
            return True

    def dies():
        held = Holder()
        reference = weakref.ref(held)
        with Swallows():
            raise LookupError(held)
        del held
        return reference() is None

    gc.disable()
    try:
        with capture.enable(backend="eager"):
            assert dies()
    finally:
        gc.enable()


class Holder:
    pass


@pytest.mark.parametrize("breaks", [lambda x: print(end=""), lambda x: print(x.sum(), end="")])
def test_what_a_handler_handles_keeps_its_traceback(breaks, capsys):
    """A function that a handler calls is translated during the handling: translation's own errors get the
    program's exception as their context.
    """
    import traceback

    captured = capture.compile(breaks, backend="eager")
    for _ in range(2):
        try:
            raise ValueError("mine")
        except ValueError as error:
            captured(torch.ones(2))
            assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == [
                "test_what_a_handler_handles_keeps_its_traceback"
            ]
