"""Ints that the guard program computes, so that one compilation of a graph serves all of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.backends import sized_graph
from capture.report.config import config

Compiled = list[tuple[int, ...]]


@pytest.fixture
def compiled_alone(monkeypatch: pytest.MonkeyPatch) -> Compiled:
    """The ints for which a graph has no form for all ints."""
    found: Compiled = []
    in_numbers = sized_graph.SizedGraph.in_numbers

    def note(self: Any, key: tuple[int, ...], args: Any) -> Any:
        found.append(key)
        return in_numbers(self, key, args)

    monkeypatch.setattr(sized_graph.SizedGraph, "in_numbers", note)
    return found


PROGRAMS: dict[str, Any] = {
    "a part": lambda x, n: x * int(n * 0.3),
    "an upper bound": lambda x, n: x + math.ceil(n * 0.7) - math.floor(n / 7) * round(n * 0.35),
    "a power": lambda x, n: x * 2 ** (n % 6) + (1 << (n % 5)),
    "a distance": lambda x, n: x * abs(n - 40),
    "within bounds": lambda x, n: x * min(max(n - 20, 0), 60),
    "a remainder below zero": lambda x, n: x * ((20 - n) % 7) + (20 - n) // 3,
    "bits": lambda x, n: x * ((n ^ 5) & 7) + (n >> 2) + n.bit_length(),
    "a root": lambda x, n: x * math.isqrt(n) + int(math.log2(n + 1)),
    "a float of one": lambda x, n: x * (0.5 * max(0, n - 10)),
    "a window": lambda x, n: x[max(0, n - 10) : n + 1].sum(0),
    "the last rows": lambda x, n: x[-int(n * 0.5) :].sum(0),
    "one from the end": lambda x, n: x[-1 - n % 50] + x[-1 - int(n * 0.5)],
    "positions": lambda x, n: torch.arange(max(0, n - 5), n + 1) * 2 + x[0, 0],
    "rows filled up": lambda x, n: F.pad(x[: 1 + n % 100], (0, 0, 0, max(0, 64 - n))),
    "a part of a triangle": lambda x, n: torch.tril(x, n - 20) + torch.triu(x, 20 - n),
    "rolled": lambda x, n: torch.roll(x * 2, int(n * 0.3), 0) + torch.roll(x, -n, 0),
}


@pytest.mark.parametrize("wants_grad", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_compilation(name: str, wants_grad: bool, compiled_alone: Compiled) -> None:
    program = PROGRAMS[name]
    compiled = capture.compile(program, dynamic=True)
    with config.patch(raise_on_error=True, recompile_limit=3):
        for n in (27, 31, 54, 90, 77, 33):
            x = torch.randn(200, 4, dtype=torch.float64, requires_grad=wants_grad)
            found, expected = compiled(x, n), program(x, n)
            torch.testing.assert_close(found, expected)
            if wants_grad:
                slopes = [torch.autograd.grad(result.sum(), x)[0] for result in (found, expected)]
                torch.testing.assert_close(*slopes)
    assert not compiled_alone


def test_writes_of_parts(compiled_alone: Compiled) -> None:
    def program(x: torch.Tensor, n: int) -> torch.Tensor:
        y = x.clone()
        y[-1 - n % 50] = 1
        y[-int(n * 0.5) :] += 1
        y[max(0, n - 3) : n + 1] *= 2
        return y

    compiled = capture.compile(program, dynamic=True)
    for n in (27, 31, 54, 90, 77, 33):
        x = torch.randn(200, 4)
        assert torch.equal(compiled(x, n), program(x, n))
    assert not compiled_alone


def test_numbers_of_any_sign() -> None:
    def program(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * max(n, -3) + abs(n) + x[int(n / 2) :].sum()

    compiled = capture.compile(program, dynamic=True)
    for n in (7, 3, 0, -1, -4, -9, 12, 1, 2):
        x = torch.randn(20)
        torch.testing.assert_close(compiled(x, n), program(x, n))


def test_the_number_is_read_by_python_too() -> None:
    """The program decides on the number, returns it, and on the size of what it has made of it."""

    def program(x: torch.Tensor, n: int) -> Any:
        window = max(1, n - 8)
        part = x[:window] * 2
        return part, window, part.size(0), "long" if part.size(0) > 10 else "short"

    compiled = capture.compile(program, dynamic=True)
    for n in (10, 12, 30, 14, 9, 4):
        x = torch.randn(40)
        found, expected = compiled(x, n), program(x, n)
        assert torch.equal(found[0], expected[0])
        assert found[1:] == expected[1:]


LARGE: dict[str, Any] = {
    "on the way": lambda x, n: x * (2**n % 1000),
    "a factor": lambda x, n: x * max(2**n, n),
    "a factor below zero": lambda x, n: x * min(-(2**n), n),
}


@pytest.mark.parametrize("limit", [62, 63, 64, 100])
@pytest.mark.parametrize("name", LARGE)
def test_what_leaves_64_bits(name: str, limit: int, caplog: pytest.LogCaptureFixture) -> None:
    """The compiler does not see such numbers; torch refuses them as factors."""

    def outcome(function: Any, n: int) -> Any:
        try:
            return function(torch.ones(3, dtype=torch.float64), n).tolist()
        except OverflowError as error:
            return str(error)

    compiled = capture.compile(LARGE[name], dynamic=True)
    for n in (5, 6, limit, limit - 1, limit + 1, 7):
        assert outcome(compiled, n) == outcome(LARGE[name], n), n
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("wants_grad", [False, True])
def test_parts_of_one_row_and_of_many(wants_grad: bool, compiled_alone: Compiled) -> None:
    """Each has a form of its own: what is written to one row is repeated along no dim."""
    weight = torch.randn(6, 4, dtype=torch.float64, requires_grad=wants_grad)

    def program(x: torch.Tensor, start: int, width: int, other: int) -> torch.Tensor:
        y = x.clone()
        y[:, start : start + width] = 0
        y[:, :, other : other + width] = 1
        return (y @ weight).sum(0)

    compiled = capture.compile(program, dynamic=True)
    rows = [(2, 1, 3), (3, 2, 1), (0, 4, 2), (5, 1, 1), (1, 3, 0), (4, 1, 5), (2, 0, 1), (3, 2, 2)]
    with config.patch(raise_on_error=True):
        for row in rows:
            x = torch.randn(3, 8, 6, dtype=torch.float64)
            found, expected = compiled(x, *row), program(x, *row)
            torch.testing.assert_close(found, expected)
            if wants_grad:
                slopes = [torch.autograd.grad(result.sum(), weight)[0] for result in (found, expected)]
                torch.testing.assert_close(*slopes)
    assert not compiled_alone
