"""Random programs whose gradients are differentiated again, against eager."""

from __future__ import annotations

import pytest

import capture
from tests.random_derivatives import RandomDerivatives, observed
from tests.test_random_errors import same

FAST, SLOW, BATCH = 1, 20, 10  # batches of programs


@pytest.mark.parametrize(
    "batch", [*range(FAST), *(pytest.param(i, marks=pytest.mark.sweep) for i in range(FAST, SLOW))]
)
def test_as_eager(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(seed, "llvm")


def check(seed: int, backend: str) -> None:
    program = RandomDerivatives(seed)
    captured = capture.compile(program.function(), backend=backend)
    for call in range(2):
        expected, found = observed(program.function(), program), observed(captured, program)
        about = f"seed {seed}, call {call}, {vars(program)}\n{program.source}"
        assert same(expected, found), f"{expected} eager\n{found} captured: {about}"
