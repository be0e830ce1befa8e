"""Places in the workspace: buffers that live at the same time lie apart, for all sizes of one plan."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from codegen.compile_fx import compile_fx
from codegen.kernel.open_numbers import NumberRecorder, OpenNumber, closed, maximum
from codegen.launch import plan
from codegen.launch.workspace import ALIGNMENT, places

STEPS = 12


def random_lives(choices: random.Random) -> dict[str, tuple[int, int]]:
    births = {f"b{i}": choices.randrange(STEPS) for i in range(choices.randrange(1, 20))}
    return {name: (birth, choices.randrange(birth, STEPS)) for name, birth in births.items()}


def bytes_of(choices: random.Random, names: Any, n: Any, m: Any) -> dict[str, Any]:
    """Of each buffer, as numbers that depend on two sizes."""
    forms = [lambda: 4 * n, lambda: n * m, lambda: 4 * m * 7 + n, lambda: 256, lambda: 0, lambda: n // 3]
    return {name: choices.choice(forms)() for name in names}


def value_of(recorder: NumberRecorder, number: Any, n: int, m: int) -> int:
    """The number for other sizes."""
    if not isinstance(number, OpenNumber):
        return int(number)
    other = NumberRecorder([n, m])
    values: list[Any] = []
    for operation, left, right in recorder.rows[: number.position + 1]:
        if operation < 2:
            values.append(other.inputs[left] if operation == 0 else left)
        else:
            values.append(other.compute(operation, values[left], values[right]))
    return int(closed(values[-1]))


def check(needed: dict[str, int], lives: Any, offsets: dict[str, int], total: int) -> None:
    for name, offset in offsets.items():
        assert offset % ALIGNMENT == 0 and 0 <= offset and offset + max(needed[name], 1) <= total
        for other, begin in offsets.items():
            meet = lives[name][0] <= lives[other][1] and lives[other][0] <= lives[name][1]
            if name < other and meet:
                assert offset + needed[name] <= begin or begin + needed[other] <= offset, (name, other)


@pytest.mark.parametrize("seed", range(100))
def test_buffers_that_meet_lie_apart(seed: int) -> None:
    choices = random.Random(seed)
    lives = random_lives(choices)
    n, m = choices.randrange(1, 50), choices.randrange(1, 50)
    needed = bytes_of(choices, lives, n, m)
    check(needed, lives, *places(needed, lives))


@pytest.mark.parametrize("seed", range(100))
def test_for_all_sizes_of_a_plan(seed: int) -> None:
    choices = random.Random(seed)
    lives = random_lives(choices)
    recorder = NumberRecorder([choices.randrange(1, 50), choices.randrange(1, 50)])
    state = choices.getstate()
    offsets, total = places(bytes_of(choices, lives, *recorder.inputs), lives)
    assert not recorder.conditions  # so the plan serves all sizes
    for turn in range(20):
        n, m = random.Random(seed + turn).sample(range(1, 400), 2)
        choices.setstate(state)
        needed = bytes_of(choices, lives, n, m)
        values = {name: value_of(recorder, offset, n, m) for name, offset in offsets.items()}
        check(needed, lives, values, value_of(recorder, total, n, m))


def test_places_are_used_again() -> None:
    needed, lives = {"a": 64, "b": 64, "c": 128}, {"a": (0, 1), "b": (1, 2), "c": (2, 3)}
    assert places(needed, lives) == ({"c": 0, "b": 128, "a": 0}, 192)
    [n] = NumberRecorder([64]).inputs
    offsets, total = places({name: maximum(size, n) for name, size in needed.items()}, lives)
    assert closed(total) == 192 and closed(offsets["a"]) == closed(offsets["c"]) == 0


def of_several_buffers(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.mm(torch.mm(x, w).relu(), w).view(-1).cumsum(0)


def test_buffers_in_blocks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [torch.randn(16, 16), torch.randn(16, 16)]
    graph = torch.fx.symbolic_trace(of_several_buffers)
    shared: Any = compile_fx(graph, inputs)
    monkeypatch.setattr(plan, "SEPARATE", True)
    separate: Any = compile_fx(graph, inputs)
    assert shared.workspace_size > 0 and separate.workspace_size == 0
    torch.testing.assert_close(separate(*inputs), shared(*inputs), rtol=0, atol=0)
