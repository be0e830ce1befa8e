"""Offsets that count from the start of a memory: another call may give an input that begins elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import capture

Program = Callable[[torch.Tensor], torch.Tensor]


def returned_view(x: torch.Tensor) -> torch.Tensor:
    return x.as_strided((2, 2), (1, 2), 8)


def by_keyword(x: torch.Tensor) -> torch.Tensor:
    return x[1:].as_strided((2, 2), (1, 2), storage_offset=8)


def of_a_part(x: torch.Tensor) -> torch.Tensor:
    return x[2:].as_strided((2, 2), (1, 2), x.storage_offset())


def behind_a_write(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return torch.as_strided_copy(x, (2, 2), (1, 2), 8)


def written(x: torch.Tensor) -> torch.Tensor:
    x.as_strided((2,), (1,), 8).mul_(2)
    return x + 1


def relaid(x: torch.Tensor) -> torch.Tensor:
    return x.detach().as_strided_((2, 2), (1, 2), 8)


def with_another_part(x: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return torch.as_strided_scatter(x, torch.ones(2), (2,), (1,), 8)


PROGRAMS = [returned_view, by_keyword, of_a_part, behind_a_write, written, relaid, with_another_part]


@pytest.mark.parametrize("backend", ["llvm", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_input_begins_elsewhere(program: Program, dynamic: bool | None, backend: str) -> None:
    compiled = capture.compile(program, backend=backend, dynamic=dynamic)
    for start, count in ((5, 20), (0, 20), (7, 20), (2, 22), (8, 24)):
        ours, theirs = torch.arange(40.0), torch.arange(40.0)
        found, expected = compiled(ours[start : start + count]), program(theirs[start : start + count])
        assert torch.equal(found, expected) and found.storage_offset() == expected.storage_offset()
        assert torch.equal(ours, theirs)
