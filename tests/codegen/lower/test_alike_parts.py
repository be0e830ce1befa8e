"""Parts of a graph that do the same on different memory are lowered once, and the kernels repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from codegen.kernel.program import KernelStep
from codegen.lower import ordered_writes
from codegen.lower.alike_parts import NotAlike, Part, alike_parts
from codegen.lower.sums_of_parts import sums_of_parts
from codegen.passes import pipeline
from codegen.passes.steps import placed_kernels
from tests.codegen.aten_graphs import record
from tests.codegen.lowering_check import check, check_fails

COUNT = 6


def parts_of(function: Callable[..., Any], *inputs: Tensor) -> list[Part]:
    graph, _ = record(function, inputs)
    return list(alike_parts(graph, sums_of_parts(graph)).parts)


def twins(function: Callable[..., Any], *inputs: Tensor) -> list[int]:
    return [len(part.twins) for part in parts_of(function, *inputs)]


def vectors(*shape: int, count: int = COUNT) -> list[Tensor]:
    return [torch.randn(shape) for _ in range(count)]


def halves(tensors: tuple[Tensor, ...]) -> zip[tuple[Tensor, Tensor]]:
    middle = len(tensors) // 2
    return zip(tensors[:middle], tensors[middle : 2 * middle], strict=True)


def momentum(*tensors: Tensor) -> None:
    for p, g in halves(tensors):
        p.copy_(p * 0.9 + g)


def with_rate(rate: Tensor, *tensors: Tensor) -> None:
    step = -rate.double()
    for p, g in halves(tensors):
        p.copy_(p + step.float() * g)


def turned(*tensors: Tensor) -> None:
    for p, g in halves(tensors):
        p.copy_(p.flip(0) + g.softmax(0))


def running(*tensors: Tensor) -> None:
    for p, g in halves(tensors):
        p.copy_((g.cumsum(0) + p).cumsum(0))


CASES: dict[str, tuple[Callable[..., Any], list[Tensor], list[int]]] = {
    "a loop": (momentum, vectors(7, count=2 * COUNT), [COUNT - 1]),
    "of two sizes": (
        momentum,
        [*vectors(7), *vectors(3, 2)] * 2,
        [COUNT - 1, COUNT - 1],
    ),
    "with a hub": (with_rate, [torch.tensor(0.5), *vectors(7, count=2 * COUNT)], [COUNT - 1]),
    "with temporaries": (turned, vectors(9, count=2 * COUNT), [COUNT - 1]),
    "with running sums": (running, vectors(9, count=2 * COUNT), [COUNT - 1]),
    "of one element": (momentum, vectors(count=2 * COUNT), [COUNT - 1]),
    "of half precision": (momentum, [v.bfloat16() for v in vectors(33, count=2 * COUNT)], [COUNT - 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_parts_do_what_eager_does(name):
    function, inputs, expected = CASES[name]
    assert twins(function, *inputs) == expected
    check(function, *inputs)


def one_by_one(monkeypatch: Any) -> None:
    monkeypatch.setattr(pipeline, "Wishes", lambda: ordered_writes.Wishes(twins=False))


@pytest.mark.parametrize("name", CASES)
def test_the_program_is_that_of_a_lowering_part_by_part(name, monkeypatch):
    function, inputs, _ = CASES[name]
    work, drafts = work_and_drafts(function, inputs, monkeypatch)
    one_by_one(monkeypatch)
    other, more_drafts = work_and_drafts(function, inputs, monkeypatch)
    assert (work, drafts < more_drafts) == (other, True)


def work_and_drafts(
    function: Callable[..., Any], inputs: list[Tensor], monkeypatch: Any
) -> tuple[list[Any], int]:
    """The kernels of the program, and how many drafts were made for them."""
    made: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "open_draft", made.append)
        program = pipeline.lower_graph(record(function, tuple(inputs))[0])
    steps = [step for step in program.steps if isinstance(step, KernelStep)]
    return sorted((step.rows, step.kernel.sizes, len(step.kernel.buffers)) for step in steps), len(made)


def test_memory_of_twins_is_apart():
    """One tensor with many elements is read by all: they stay one part, which reads it once."""
    assert twins(lambda x, *more: [y.copy_(y * x) for y in more] and None, *vectors(50)) == []


def test_a_written_element_is_no_hub():
    def function(rate: Tensor, *more: Tensor) -> None:
        for y in more:
            y.copy_(y * rate)
        rate.copy_(rate * 0.5)

    inputs = [torch.tensor(0.5), *vectors(7)]
    assert twins(function, *inputs) == []
    check(function, *inputs)


def test_a_part_with_a_hub_of_others_has_no_twins():
    def function(*tensors: Tensor) -> None:
        sums = [x.sum() for x in tensors[:COUNT]]
        for y in tensors[COUNT:]:
            new = y
            for s in sums:
                new = new * s
            y.copy_(new)

    inputs = vectors(7, count=2 * COUNT)
    assert twins(function, *inputs) == [COUNT - 1]  # the writes; all of them need the six sums
    check(function, *inputs)


def test_results_have_memory_of_their_own():
    assert twins(lambda *xs: [x * 2 for x in xs], *vectors(7)) == []


def test_other_numbers_are_other_parts():
    assert twins(lambda *xs: [x.copy_(x * i) for i, x in enumerate(xs)] and None, *vectors(7)) == []
    function = lambda *xs: [x.copy_(x * (0.0, -0.0)[i % 2]) for i, x in enumerate(xs)] and None  # noqa: E731
    assert twins(function, *vectors(7, count=8)) == [3, 3]


def test_a_check_of_a_twin_fails_before_any_write():
    def function(*tensors: Tensor) -> None:
        for p, i in halves(tensors):
            p.copy_(p[i] * 2)

    def inputs(last: int) -> list[Tensor]:
        return [*vectors(5), *(torch.tensor([0, 1, 2, 3, last]) for _ in range(COUNT))]

    good, bad = inputs(4), inputs(4)
    bad[-1][2] = 7
    assert twins(function, *good) == [COUNT - 1]
    check(function, *good)
    check_fails(function, good, *bad)


def test_kernels_that_cannot_be_repeated_are_made_one_by_one(monkeypatch):
    """If the passes mix the parts, the graph is lowered anew."""
    tried: list[bool] = []

    def refuse(lowering: Any, *_: Any) -> dict[int, list[int]]:
        tried.append(bool(lowering.alike.parts))
        if lowering.alike.parts:
            raise NotAlike("mixed")
        return {}

    monkeypatch.setattr(placed_kernels, "repeat_parts", refuse)
    check(momentum, *vectors(7, count=2 * COUNT))
    assert tried == [True, False]
