"""Writes to tensors that have elements of their operands in other places: they are left to eager."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import fx

import capture
from codegen.fake.fake import fake_mode
from codegen.kernel.errors import UntraceableError
from codegen.trace.trace import trace
from codegen.trace.write_checks import _may_share, _same_places

Program = Callable[[torch.Tensor], torch.Tensor]


def shifted(x: torch.Tensor) -> torch.Tensor:
    part = x[:, ::2]
    part[:, 1:].add_(part[:, :-1])
    return x * 2


def turned(x: torch.Tensor) -> torch.Tensor:
    x[:4, :4].transpose(0, 1).add_(x[:4, :4])
    return x * 2


def copied(x: torch.Tensor) -> torch.Tensor:
    x[:, 1:].copy_(x[:, :-1])
    return x * 2


def halves(x: torch.Tensor) -> torch.Tensor:
    x[:, :4].add_(x[:, 4:8])
    return x * 2


def interleaved(x: torch.Tensor) -> torch.Tensor:
    x[:, ::2].mul_(x[:, 1::2])
    return x * 2


def by_a_column(x: torch.Tensor) -> torch.Tensor:
    x[:, 1:].sub_(x[:, :1])
    return x * 2


def by_itself(x: torch.Tensor) -> torch.Tensor:
    x[:, 1:].mul_(x[:, 1:])
    return x * 2


def windows(x: torch.Tensor) -> torch.Tensor:
    """Eager adds to an element once for each window that has it."""
    x.as_strided((4, 3), (2, 1)).add_(1)
    return x * 2


def rows_of_a_part(x: torch.Tensor) -> torch.Tensor:
    x.as_strided((4, 3), (3, 1)).add_(1)
    return x * 2


def table() -> torch.Tensor:
    return torch.arange(80.0).reshape(8, 10) / 7


@pytest.mark.parametrize(
    "program", [shifted, turned, copied, halves, interleaved, by_a_column, by_itself, windows, rows_of_a_part]
)
def test_as_eager(program: Program) -> None:
    ours, theirs = table(), table()
    found, expected = capture.compile(program, backend="aot_eager")(ours), program(theirs)
    assert torch.equal(found, expected) and torch.equal(ours, theirs)


VIEWS: list[Program] = [
    *(lambda x, n=n, m=m: x[:, n:m] for n, m in [(0, 4), (4, 8), (1, 2), (0, 1), (2, 10)]),
    *(lambda x, n=n: x[:, n::2] for n in (0, 1, 3)),
    *(lambda x, n=n: x[n::3] for n in (0, 1)),
    lambda x: x[:4, :4].t(),
    lambda x: x[2:6, 3:7],
    lambda x: x[5],
    lambda x: x[:, 3],
    lambda x: x[0, :8].as_strided((3, 3), (2, 1)),  # it shares elements with itself
    lambda x: x[:, :1].expand(8, 3),
]


def places(view: torch.Tensor) -> list[int]:
    return view.flatten().tolist()  # type: ignore[no-any-return]


def test_no_shared_element_is_overlooked() -> None:
    x = torch.arange(80).reshape(8, 10)
    told_apart = 0
    for one, other in itertools.product([make(x) for make in VIEWS], repeat=2):
        if not _may_share(one, other):
            assert not set(places(one)) & set(places(other)), (one, other)
            told_apart += 1
        same = one.shape == other.shape and places(one) == places(other)
        assert _same_places(one, other) == same
    assert told_apart >= 30


@pytest.mark.parametrize("program", [halves, interleaved, by_a_column, by_itself, rows_of_a_part])
def test_what_shares_nothing_is_traced(program: Program) -> None:
    x = table()
    trace(fx.symbolic_trace(program), [x], fake_mode())


@pytest.mark.parametrize("program", [shifted, turned, copied])
def test_what_shares_elements_is_not(program: Program) -> None:
    with pytest.raises(UntraceableError, match="writes to a part of one of its operands"):
        trace(fx.symbolic_trace(program), [table()], fake_mode())


def test_what_shares_elements_with_itself_is_not() -> None:
    with pytest.raises(UntraceableError, match="elements share places"):
        trace(fx.symbolic_trace(windows), [table()], fake_mode())
