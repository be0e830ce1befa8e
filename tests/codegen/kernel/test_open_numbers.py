"""Open numbers against ints: their results, their records, their refusals."""

from __future__ import annotations

import random
from typing import Any

import _capture
import pytest
import torch

from codegen.dynamic.symbolic_graph import packed
from codegen.kernel.open_numbers import NumberRecorder, OpenNumber, closed, maximum
from codegen.launch.compiled import calibrate


def program(choices: random.Random, a: Any, b: Any) -> list[Any]:
    """Arithmetic and decisions. They are the same for the same `choices` as long as all comparisons have the
    same results.
    """
    numbers = [a, b, 1, 2, 64]
    for _ in range(12):
        left, right = choices.choice(numbers), choices.choice(numbers)
        operation = choices.randrange(9)
        if operation == 0:
            numbers.append(left + right)
        elif operation == 1:
            numbers.append(left - right)
        elif operation == 2:
            numbers.append(left * right)
        elif operation == 3:
            numbers.append(left // right if right else left)
        elif operation == 4:
            numbers.append(left % right if right != 0 else -left)
        elif operation == 5:
            numbers.append(max(left, right))
        elif operation == 6:
            numbers.extend(sorted([left, right, 7]))
        elif operation == 7:
            numbers.append(maximum(left, right))
        else:
            numbers.append(3 if left == right else 4 if left < right else left)
    return numbers


@pytest.mark.parametrize("seed", range(60))
def test_filled_numbers_are_those_of_ints(seed: int) -> None:
    choices = random.Random(seed)
    recorder = NumberRecorder([choices.randrange(-20, 100), choices.randrange(1, 100)])
    results = program(random.Random(seed), *recorder.inputs)
    assert list(map(closed, results)) == program(random.Random(seed), *map(closed, recorder.inputs))
    opened = [(place, number) for place, number in enumerate(results) if isinstance(number, OpenNumber)]
    rows, places = recorder.needed(number for _, number in opened)
    conditions = [(kind, places[one], places[other]) for kind, one, other in recorder.conditions]
    filled = [(place, places[number.position]) for place, number in opened]
    template = _capture.PlanTemplate(
        graph_without_steps(),
        2,
        packed(rows),
        packed(conditions),
        b"",
        packed([(0, row) for _, row in filled[:1]]),
    )
    fits = 0
    for _ in range(40):
        a, b = choices.randrange(-30, 200), choices.randrange(-30, 200)
        graph = template.graph(a, b)
        if graph is not None and opened:
            fits += 1
            assert graph.objects == (program(random.Random(seed), a, b)[opened[0][0]],)
    assert not opened or template.graph(*map(closed, recorder.inputs)) is not None


def graph_without_steps() -> Any:
    calibrate()
    return _capture.CompiledGraph(packed([(_capture.plan_version, 0, 0, 0, 0, 0, 0)]), (0,))


def test_equal_histories_are_one_number_and_no_condition() -> None:
    recorder = NumberRecorder([5])
    [n] = recorder.inputs
    assert n + 1 == 1 + n and hash(n * 2) == hash(2 * n) and len({n + 1, 1 + n}) == 1
    assert not recorder.conditions
    assert n == 5 and recorder.conditions


def test_a_maximum_is_no_condition() -> None:
    recorder = NumberRecorder([5, 9])
    n, m = recorder.inputs
    assert [closed(maximum(*pair)) for pair in ((n, m), (m, n), (n, 7), (2, m), (2, 3))] == [9, 9, 7, 9, 3]
    assert maximum(n, n) is n and not recorder.conditions


@pytest.mark.parametrize("lose", [range, hex, lambda n: [0][n], lambda n: n / 2, lambda n: f"{n:3d}"])
def test_what_would_lose_the_history_is_an_error(lose: Any) -> None:
    with pytest.raises(TypeError):
        lose(NumberRecorder([5]).inputs[0])


@pytest.mark.parametrize(
    "rows", [[(0, 0, 0), (4, 0, 0)], [(0, 0, 0), (1, 0, 0), (5, 0, 1)], [(0, 0, 0), (1, 0, 0), (6, 0, 1)]]
)
def test_numbers_that_are_none_of_64_bits_do_not_fit(rows: Any) -> None:
    template = _capture.PlanTemplate(graph_without_steps(), 1, packed(rows), b"", b"", b"")
    assert template.graph(2**62) is None


def test_bad_arguments() -> None:
    template = _capture.PlanTemplate(graph_without_steps(), 1, b"", b"", b"", b"")
    with pytest.raises(TypeError, match="takes 1 ints, got 2"):
        template.graph(1, 2)
    with pytest.raises(OverflowError):
        template.graph(2**80)
    with pytest.raises(TypeError, match="CompiledGraph"):
        _capture.PlanTemplate(torch, 1, b"", b"", b"", b"")
    sized = _capture.SizedGraph((0, 1), 2, lambda *args: None)
    with pytest.raises(TypeError, match="PlanTemplate of 2 ints"):
        sized.add_template(template)
