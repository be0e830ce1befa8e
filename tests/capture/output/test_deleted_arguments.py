"""An argument that the frame has deleted has no value, also in the code behind a graph that has written."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
import torch

import capture


def read(x, e):
    x.add_(1)
    del e
    return x * e


def deleted_again(x, e):
    x.add_(1)
    del e
    del e


def within_finally(x, e):
    try:
        x.add_(1)
        del e
        return x * e
    finally:
        x.mul_(2)


def name_of_a_handler(x, e):
    x.add_(1)
    try:
        raise ValueError
    except ValueError as e:
        pass
    raise RuntimeError("again") from e


def deleted_in_a_loop(x, e):
    x.add_(1)
    for turn in range(2):
        if turn:
            return x + e
        del e


def in_a_callee(x, e):
    def callee(e):
        x.add_(1)
        del e
        return x * e

    return callee(e)


def after_a_break(x, e):
    e = e + 1
    capture.graph_break()
    x.add_(1)
    del e
    return x * e


def the_tensor_itself(x, e):
    x.add_(1)
    del x
    return e * x


PROGRAMS = [
    read, deleted_again, within_finally, name_of_a_handler, deleted_in_a_loop, in_a_callee, after_a_break,
    the_tensor_itself,
]  # fmt: skip


def outcome(function: Any) -> Any:
    x = torch.ones(2)
    with pytest.raises(UnboundLocalError) as caught:
        function(x, 3)
    frames = [f.lineno for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__]
    return str(caught.value), repr(caught.value.__context__), frames[1:], x.tolist()


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_has_no_value(program: Any, backend: str) -> None:
    captured = capture.compile(program, backend=backend)
    for _ in range(2):
        assert outcome(captured) == outcome(program)
