"""A tensor of a module that gets another size from time to time: a table of rotations, a replaced buffer."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import capture
from capture.sizes.policy import Seen, SizePolicy
from guards.sources import AttrSource, LocalSource


class Table(nn.Module):
    """It grows with the longest sequence, between calls that only read it."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.dtype = dtype
        self.table: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        if self.table is None or len(self.table) < length:
            self.table = torch.outer(torch.arange(length) + 1.0, torch.ones(8)).cos().to(self.dtype)
        return self.linear((x * self.table[:length]).abs())


def lengths(model: nn.Module, steps: int) -> None:
    compiled = capture.compile(model)
    for step in range(steps):
        x = torch.randn(2, 3 + step // 3, 8)
        torch.testing.assert_close(compiled(x), model(x))


def recompiles() -> int:
    return sum(capture.counters["recompiles"].values())


def test_a_table_that_grows_between_calls() -> None:
    lengths(Table(torch.float32), steps=36)
    assert recompiles() <= 4


def test_a_table_of_complex_numbers() -> None:
    lengths(Table(torch.complex64), steps=36)
    assert recompiles() <= 4


class Scaled(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.rand(width))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.scale).sum(-1)  # type: ignore[operator]


def test_buffers_of_other_modules_are_no_change() -> None:
    for width in (4, 6):
        model = Scaled(width)
        compiled = capture.compile(model)
        for rows in (2, 3, 5):
            x = torch.randn(rows, width)
            torch.testing.assert_close(compiled(x), model(x))


@pytest.mark.parametrize("owned", [False, True])
def test_only_changes_in_the_same_module_count(owned: bool) -> None:
    place, found = AttrSource(LocalSource("self"), "scale"), {}
    seen = Seen(owned=owned)
    for width in (4, 6):
        found = SizePolicy(None, seen).dynamic_dims(torch.rand(width), place, lambda source: True)
    assert list(found) == ([0] if owned else [])


def test_a_buffer_that_is_replaced_by_hand() -> None:
    model = Scaled(4)
    compiled = capture.compile(model)
    for width in range(4, 16):
        model.scale = torch.rand(width)
        x = torch.randn(3, width)
        torch.testing.assert_close(compiled(x), model(x))
    assert recompiles() <= 2
