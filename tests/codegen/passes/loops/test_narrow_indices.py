"""Positions in narrow integers: their types, and values against eager's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import capture
from codegen.kernel import ir
from codegen.passes.loops.narrow_indices import expression_range, narrow_indices
from tests.codegen.lowering_check import check

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int64,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)


def data(dtype: torch.dtype, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return (torch.randn(shape, generator=generator) * 3).to(dtype)


def types_of_positions(function: Callable[..., Any], *inputs: Tensor) -> set[str]:
    found: set[str] = set()

    def walk(body: list[ir.Stmt]) -> None:
        for statement in body:
            if isinstance(statement, ir.IndexOp):
                found.add(statement.dtype)
            elif isinstance(statement, ir.Loop):
                walk(statement.body)

    for step in check(function, *inputs).steps:
        walk(step.kernel.body)  # type: ignore[union-attr]
    return found


def padded(x: Tensor) -> Tensor:
    return F.pad(x, (1, 2))


@pytest.mark.parametrize(
    ("dtype", "width", "expected"),
    [
        (torch.bool, 40, "i8"),
        (torch.bool, 126, "i8"),  # positions up to 127
        (torch.bool, 127, "i16"),
        (torch.uint8, 300, "i16"),
        (torch.bfloat16, 40, "i16"),
        (torch.float32, 40, "i32"),
        (torch.float64, 40, "i64"),
        (torch.int64, 40, "i64"),
        (torch.int16, 40000, "i32"),
    ],
)
def test_no_narrower_than_the_data_and_wide_enough(dtype: torch.dtype, width: int, expected: str) -> None:
    assert types_of_positions(padded, data(dtype, 3, width)) == {expected}


def test_what_is_stored_or_gathered_stays_wide() -> None:
    assert types_of_positions(lambda x: torch.arange(20) + x, data(torch.int64, 20)) == {"i64"}
    assert types_of_positions(
        lambda x, y: x[(torch.arange(8) * 3) % 20] * y, data(torch.float32, 20), data(torch.float32, 8)
    ) == {"i64"}


def test_positions_beside_loaded_integers_stay_wide() -> None:
    lengths = torch.tensor([3, 1 << 40, -1])
    assert types_of_positions(
        lambda x, n: x.masked_fill(torch.arange(5) < n[:, None], 0), data(torch.float32, 3, 5), lengths
    ) == {"i64"}


def test_a_product_that_needs_more_stays_wide() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.where(torch.arange(6) * (1 << 30) > (1 << 32), x, 0)

    assert types_of_positions(function, data(torch.float32, 6)) == {"i64"}


def test_comparisons_that_hold_everywhere_are_decided() -> None:
    (step,) = check(lambda x: torch.where(torch.arange(6) >= 0, x, 0), data(torch.float32, 6)).steps
    loop = step.kernel.body[-1]  # type: ignore[union-attr]
    assert isinstance(loop, ir.Loop)
    assert not any(isinstance(s, ir.IndexOp) or (isinstance(s, ir.Op) and s.name == "ge") for s in loop.body)


def test_ranges() -> None:
    i, n = ir.AxisVar("i"), ir.Sym("n")
    extents = {"i": (0, 9)}
    assert expression_range(ir.add(ir.mul(i, ir.Const(-3)), ir.Const(2)), extents) == (-25, 2)
    assert expression_range(ir.floordiv(i, ir.Const(4)), extents) == (0, 2)
    assert expression_range(ir.mod(ir.add(i, ir.Const(-1)), ir.Const(4)), extents) == (0, 3)
    assert expression_range(ir.mod(i, ir.Const(16)), extents) == (0, 9)
    assert expression_range(ir.Binary("min", ir.Const(8), n), extents) == (0, 8)
    assert expression_range(ir.Binary("max", i, ir.Const(3)), extents) == (3, 9)
    for unknown in (n, ir.AxisVar("j"), ir.floordiv(i, n), ir.mul(i, ir.Const(1 << 31)), ir.Indirect(3)):
        assert expression_range(unknown, extents) is None


def test_a_constant_of_two_types_stays_for_the_wide_one() -> None:
    body: list[ir.Stmt] = [
        ir.ConstOp(0, 3, "i64"),
        ir.Loop("i", ir.Const(8), [
            ir.IndexOp(1, ir.AxisVar("i")), ir.Op(2, "lt", (1, 0), "b8"),
            ir.Load(3, "x", ir.AxisVar("i"), "i64"),
            ir.Op(4, "lt", (3, 0), "b8"), ir.Op(5, "and", (2, 4), "b8"),
            ir.Load(6, "y", ir.AxisVar("i"), "f32"),
            ir.ConstOp(7, 0.0, "f32"), ir.Op(8, "where", (5, 6, 7), "f32"), ir.Store("z", ir.AxisVar("i"), 8),
        ], parallel=True, vector=True),
    ]  # fmt: skip
    wide, narrow, loop = narrow_indices(body)
    assert wide == ir.ConstOp(0, 3, "i64")
    assert isinstance(narrow, ir.ConstOp) and (narrow.value, narrow.dtype) == (3, "i32")
    assert isinstance(loop, ir.Loop)
    assert loop.body[:2] == [ir.IndexOp(1, ir.AxisVar("i"), "i32"), ir.Op(2, "lt", (1, narrow.number), "b8")]
    assert ir.Op(4, "lt", (3, 0), "b8") in loop.body


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [3, 31, 127, 129, 300])
def test_values(dtype: torch.dtype, width: int) -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        return (
            F.pad(x, (2, 1, 1, 0)), torch.diagonal_scatter(x, y), torch.select_scatter(x, y, 1, 2),
            torch.slice_scatter(x, y[:, None], 1, 1, 2), x.tril(-1), torch.diag_embed(y),
        )  # fmt: skip

    capture.reset()
    x, y = data(dtype, 3, width), data(dtype, 3)
    for got, expected in zip(capture.compile(function, fullgraph=True)(x, y), function(x, y), strict=True):
        assert torch.equal(got, expected)
