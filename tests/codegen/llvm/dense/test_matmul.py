"""Generated matrix products against sums in float64, on every processor level that this machine has."""

from __future__ import annotations

import itertools
import re

import pytest
import torch

from codegen.llvm.compiler import compiler_of
from codegen.llvm.dense.forms import MatmulForm, Strides
from codegen.llvm.dense.matmul import emit_matmul, workspace_bytes
from codegen.llvm.dense.writer import Number
from codegen.llvm.function_text import module_of
from codegen.llvm.target import LEVELS, Target
from codegen.llvm.values import Code
from tests.codegen.llvm.dense.run import (
    Product,
    assert_as_exact_as_eager,
    border_is_whole,
    inside,
    values,
)

HOST = Target.host()
RUNNABLE = list(LEVELS)[: list(LEVELS).index(HOST.cpu) + 1]
SIZES = [
    (1, 1, 1),
    (3, 5, 7),
    (7, 130, 33),
    (33, 17, 9),
    (32, 64, 64),
    (1, 100, 40),
    (40, 1, 100),
    (5, 2, 40),
    (6, 9, 3),
    (13, 6, 300),
    (2, 3, 700),  # the sums of several blocks of k
    (150, 530, 40),  # several blocks of rows and of columns
]
ORDERS = {"rows": (0, 1), "columns": (1, 0)}


def strides(tensor: torch.Tensor) -> Strides:
    steps = tensor.stride()
    return Strides(steps[0] if tensor.dim() == 3 else 0, *steps[-2:])


def in_order(tensor: torch.Tensor, order: str) -> torch.Tensor:
    """The same elements; those of a row, or of a column, lie side by side."""
    return tensor if order == "rows" else tensor.mT.contiguous().mT


def test_sizes_and_layouts() -> None:
    for level, (m, n, k) in itertools.product(RUNNABLE, SIZES):
        orders = [("rows", "rows"), ("rows", "columns"), ("columns", "rows")]
        for first, second in orders if level == HOST.cpu else orders[:2]:
            left = inside(in_order(values((m, k), "f32", 1), first))[1]
            right = in_order(values((k, n), "f32", 2), second)
            around, output = inside(values((m, n), "f32"))
            form = MatmulForm("f32", m, n, k, 1, strides(output), strides(left), strides(right))
            Product(form, Target.level(level))(output, left, right)
            assert_as_exact_as_eager(output, left, right)
            assert border_is_whole(around), (level, m, n, k)


@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16", "i64", "i32", "i16", "i8", "u8"])
def test_element_types(dtype: str) -> None:
    for level, (m, n, k), order in itertools.product(
        {RUNNABLE[0], HOST.cpu}, [(3, 5, 7), (33, 40, 70), (9, 20, 1100)], ORDERS
    ):
        left, right = values((m, k), dtype, 1), in_order(values((k, n), dtype, 2), order)
        around, output = inside(values((m, n), dtype))
        form = MatmulForm(dtype, m, n, k, 1, strides(output), strides(left), strides(right))
        Product(form, Target.level(level))(output, left, right)
        assert_as_exact_as_eager(output, left, right)
        assert border_is_whole(around)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_open_sizes_and_strides(dtype: str) -> None:
    """One function for all sizes, those of 0 included."""
    open_strides = Strides(None, None, None)
    form = MatmulForm(
        dtype, None, None, None, None, open_strides, open_strides, open_strides, Strides(0, 0, None)
    )
    product = Product(form, HOST)
    empty = [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)]
    for (m, n, k), order, batch in itertools.product([*SIZES, *empty], ORDERS, (0, 1, 3)):
        left, right = values((batch, m, k), dtype, 1), in_order(values((batch, k, n), dtype, 2), order)
        bias = values((n,), dtype, 3)
        around, output = inside(values((batch, m, n), dtype))
        numbers = {"batch": batch, "rows": m, "columns": n, "inner": k, "bias_column": 1}
        for name, tensor in (("output", output), ("left", left), ("right", right)):
            steps = tensor.stride()
            numbers |= {f"{name}_batch": steps[0], f"{name}_row": steps[1], f"{name}_column": steps[2]}
        product(output, left, right, bias, **numbers)
        assert_as_exact_as_eager(output, left, right, bias)
        assert border_is_whole(around)


def test_output_in_any_order() -> None:
    left, right = values((20, 30), "f32", 1), values((30, 40), "f32", 2)
    around, turned = inside(values((40, 20), "f32"))
    output = turned.mT
    form = MatmulForm("f32", 20, 40, 30, 1, strides(output))
    Product(form, HOST)(output, left, right)
    assert_as_exact_as_eager(output, left, right)
    assert border_is_whole(around)


@pytest.mark.parametrize("steps", [(0, 1), (1, 0), (0, 0), (40, 1), (1, 20)])
def test_bias(steps: tuple[int, int]) -> None:
    left, right = values((20, 30), "f32", 1), values((30, 40), "f32", 2)
    bias = values((800,), "f32", 3)
    output = torch.empty(20, 40)
    form = MatmulForm("f32", 20, 40, 30, bias=Strides(0, *steps))
    Product(form, HOST)(output, left, right, bias)
    assert_as_exact_as_eager(output, left, right, bias.as_strided((20, 40), steps))


def test_same_right_factor_for_the_whole_batch() -> None:
    left, right = values((5, 6, 30), "f32", 1), values((30, 40), "f32", 2)
    output = torch.empty(5, 6, 40)
    form = MatmulForm("f32", 6, 40, 30, 5, right=Strides(0, 40, 1))
    Product(form, HOST)(output, left, right)
    assert_as_exact_as_eager(output, left, right)


def test_epilogue() -> None:
    """Adds a second matrix, and leaves no negative number."""

    def epilogue(code: Code, value: str, batch: Number, row: Number, column: Number) -> str:
        place = code.define(f"add i64 {code.define(f'mul i64 {row}, 40')}, {column}")
        pointer = code.define(f"getelementptr float, ptr %operand0, i64 {place}")
        other = code.define(f"load {code.type('f32')}, ptr {pointer}, align 4")
        total = code.binary("fadd", "f32", value, other)
        positive = code.compare("fcmp ogt", "f32", total, code.constant("f32", 0))
        return code.select(positive, "f32", total, code.constant("f32", 0))

    left, right, other = values((20, 600), "f32", 1), values((600, 40), "f32", 2), values((20, 40), "f32", 3)
    output = torch.empty(20, 40)
    form = MatmulForm("f32", 20, 40, 600, operands=1, epilogue=epilogue)
    Product(form, HOST)(output, left, right, None, other)
    torch.testing.assert_close(output, (left @ right + other).relu(), rtol=1e-5, atol=1e-4)


def test_infinity_and_nan_reach_their_sums_alone() -> None:
    left, right = values((19, 50), "f32", 1), values((50, 37), "f32", 2)
    left[3, 7], left[18, 49], right[11, 36] = float("nan"), float("inf"), float("-inf")
    output = torch.empty(19, 37)
    Product(MatmulForm("f32", 19, 37, 50), HOST)(output, left, right)
    expected = left @ right
    assert torch.equal(output.isnan(), expected.isnan())
    assert torch.equal(output.isinf(), expected.isinf())
    assert torch.equal(output[output.isinf()], expected[expected.isinf()])


def test_as_exact_as_the_library() -> None:
    """The mean error over many elements is not above that of torch.mm by more than a tenth."""
    left, right = values((64, 512), "f32", 1), values((512, 64), "f32", 2)
    output = torch.empty(64, 64)
    Product(MatmulForm("f32", 64, 64, 512), HOST)(output, left, right)
    truth = left.double() @ right.double()
    assert (output - truth).abs().mean() <= 1.1 * ((left @ right) - truth).abs().mean()


@pytest.mark.parametrize("level", list(LEVELS))
def test_every_level_is_assembled_without_foreign_functions(level: str) -> None:
    target = Target.level(level)
    for dtype in ("f32", "bf16", "f16", "i64"):
        declarations, text = emit_matmul(MatmulForm(dtype, 33, None, 40), target, "product")
        assert all(name.startswith("@llvm.") for name in declarations)
        assembly = compiler_of(target).assembly(module_of([(declarations, text)]), is_scheduled=True)
        assert not re.search(r"^\s+(callq?|bl)\s", assembly, re.MULTILINE)


def test_errors() -> None:
    with pytest.raises(ValueError, match="no matrix product of b8"):
        MatmulForm("b8", 1, 1, 1)
    with pytest.raises(ValueError, match="rows is -1"):
        MatmulForm("f32", -1, 1, 1)
    with pytest.raises(KeyError, match="rows"):
        workspace_bytes(MatmulForm("f32", None, 1, 1), HOST)
    assert MatmulForm("f32", None, 4, 4, operands=1).signature("f") == (
        "void f(void *output, const void *left, const void *right, const void *bias, void *workspace, "
        "const void *operand0, int64_t rows)"
    )
