"""A break at the end of a chain of calls: each frame of the chain breaks, and is translated once."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.interpret.budget import Budget
from capture.report.config import config

BOTTOM = """
def step_0(x, stop):
    y = x + 1
    if stop:
        capture.graph_break()
    return y * 2
"""
LINK = """
def step_{index}(x, stop):
    for i in range(10):
        x = x + i
    return step_{below}(x, stop) - 1
"""


def chain(length: int) -> Any:
    """The outermost of `length` functions, each of which calls the next one."""
    namespace: dict[str, Any] = {"capture": capture}
    links = [LINK.format(index=index, below=index - 1) for index in range(1, length)]
    exec(compile(BOTTOM + "".join(links), __file__, "exec"), namespace)
    return namespace[f"step_{length - 1}"]


def graphs_and_instructions(monkeypatch: pytest.MonkeyPatch, length: int) -> tuple[int, int]:
    graphs, instructions = 0, 0
    count_one = Budget.count_instruction

    def count(self: Budget, is_limited: bool) -> None:
        nonlocal instructions
        instructions += 1
        count_one(self, is_limited)

    def backend(module, inputs):
        nonlocal graphs
        graphs += 1
        return module.forward

    function, x = chain(length), torch.ones(3)
    with config.patch(raise_on_error=True), monkeypatch.context() as patch:
        patch.setattr(Budget, "count_instruction", count)
        got = capture.compile(function, backend=backend)(x, True)
    assert torch.equal(got, function(x, True))
    return graphs, instructions


def test_work_grows_with_the_length_of_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    (few, some), (more, all_) = (graphs_and_instructions(monkeypatch, length) for length in (5, 20))
    assert (few, more) == (10, 40)
    assert all_ < 6 * some, "the chain is translated anew for each of its frames"


def test_another_way_at_the_next_call() -> None:
    """An expectation from one call does not hold for the next one."""
    function, x = chain(4), torch.ones(3)
    compiled = capture.compile(function, backend="eager")
    with config.patch(raise_on_error=True):
        for stop in (True, False, True, False):
            assert torch.equal(compiled(x, stop), function(x, stop))
