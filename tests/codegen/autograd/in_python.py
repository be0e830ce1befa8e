"""Nodes of autograd's graph that are made in Python, in place of those that are built in C.

In:  `on`.
Out: in the block, graphs are compiled to callables whose nodes `codegen/autograd/python_nodes.py` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

import capture
from codegen.autograd.python_nodes import nodes_in_python


class FunctionInPython:
    def __init__(self, forward: Callable[..., Any], wrap: Callable[..., Any]) -> None:
        self.forward = forward
        self.wrap = wrap

    @capture.disable
    def __call__(self, *args: Any) -> Any:
        return self.wrap(self.forward(*args), *args)


def make_function(parts: Any, forward: Any, segments: Sequence[Any], views: Sequence[Any]) -> Any:
    return FunctionInPython(forward, nodes_in_python(parts.result_count, segments, views))


@contextmanager
def python_nodes(on: bool = True) -> Iterator[None]:
    capture.reset()  # an entry of an earlier test may have the other kind
    with pytest.MonkeyPatch.context() as patch:
        if on:
            patch.setattr("codegen.autograd.training.make_function", make_function)
        yield
