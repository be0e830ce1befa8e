"""Sums down columns in the kernel that works on the rows.

Values against eager's; graphs that have one pass over the rows, and graphs that have not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import capture
from capture.report.config import config
from codegen.kernel import grain
from codegen.kernel.ir import Kernel, Load, Loop, Stmt
from codegen.kernel.program import Program
from codegen.launch import assembly
from codegen.passes import pipeline
from codegen.passes.group import fuse
from tests.codegen.lowering_check import check, kernels, lowered
from tests.codegen.native_programs import run_native

aten = torch.ops.aten
_PART = re.compile(r"t\d+_part")


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(assembly, "strict", True)
    monkeypatch.setattr(pipeline, "VERIFY", True)
    capture.reset()
    yield
    capture.reset()


def with_parts(program: Program) -> list[Kernel]:
    """The kernels that add columns while they work on rows."""
    return [k for k in kernels(program) if any(b.writable and _PART.fullmatch(b.name) for b in k.buffers)]


def readers(program: Program, name: str) -> int:
    """How many kernels read the buffer."""
    return sum(any(load.buffer == name for load in loads(kernel.body)) for kernel in kernels(program))


def loads(body: list[Stmt]) -> Iterator[Load]:
    for statement in body:
        if isinstance(statement, Loop):
            yield from loads(statement.body)
        elif isinstance(statement, Load):
            yield statement


def layer_norm_backward(g: Tensor, x: Tensor, w: Tensor, mean: Tensor, rstd: Tensor) -> Any:
    return aten.native_layer_norm_backward(g, x, w.shape, mean, rstd, w, w, [True, True, True])


def layer_norm_inputs(*shape: int, dtype: torch.dtype = torch.float32, normalized: int = 1) -> list[Tensor]:
    torch.manual_seed(0)
    g, x, w = (torch.randn(size).to(dtype) for size in (shape, shape, shape[-normalized:]))
    _, mean, rstd = aten.native_layer_norm(x, w.shape, w, None, 1e-5)
    return [g, x, w, mean, rstd]


SHAPES = [
    (32, 32),
    (64, 48),
    (97, 65),  # a prime number of rows: the last part is shorter
    (1009, 33),
    (128, 100),
    (3, 50, 40),
    (128, 49, 32),
    (7, 11, 13, 64),
    (2, 300, 36),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layer_norm_backward_reads_memory_once(shape: tuple[int, ...]) -> None:
    program = check(layer_norm_backward, *layer_norm_inputs(*shape, dtype=torch.float64))
    assert len(with_parts(program)) == 1
    assert readers(program, program.inputs[0]) == readers(program, program.inputs[1]) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_sums_of_short_floats_are_kept_in_float32(dtype: torch.dtype) -> None:
    """Eager accumulates in the short type."""
    inputs = layer_norm_inputs(200, 72, dtype=dtype)
    program, eager = lowered(layer_norm_backward, *inputs)
    assert len(with_parts(program)) == 1
    exact = layer_norm_backward(*(value.double() for value in inputs))
    for ours, theirs, truth in list(zip(run_native(program, inputs), eager, exact, strict=True))[1:]:
        assert ours.dtype == theirs.dtype == dtype
        bound = 2 * torch.finfo(dtype).eps * truth.abs().max()
        assert (ours.double() - truth).abs().max() <= bound


def test_rows_of_several_dims() -> None:
    program = check(layer_norm_backward, *layer_norm_inputs(50, 6, 40, dtype=torch.float64, normalized=2))
    assert len(with_parts(program)) == 1


@pytest.mark.parametrize("shape", [(0, 64), (1, 64), (2, 64), (64, 1), (64, 0), (40, 7)], ids=str)
def test_few_rows_and_narrow_ones(shape: tuple[int, int]) -> None:
    assert not with_parts(check(layer_norm_backward, *layer_norm_inputs(*shape, dtype=torch.float64)))


def test_what_is_no_number() -> None:
    x = torch.randn(130, 64, dtype=torch.float64)
    x[3, 5], x[64, 6], x[129, 7], x[0, 8], x[1, 8] = (float(n) for n in ("nan", "inf", "-inf", "inf", "-inf"))
    assert with_parts(check(lambda x: (x.softmax(1), x.sum(0)), x))


# name -> function of (80, 64) tensors, kernels, those with parts
BESIDE: dict[str, tuple[Callable[..., Any], int, int]] = {
    "an elementwise kernel": (lambda x, y: (z := torch.where(y > 0, x, 0), z.sum(0)), 2, 1),
    "a view of the rows": (lambda x, y: (z := x * y, z.view(8, 10, 64).sum((0, 1))), 2, 1),
    "rows of a view": (lambda x, y: (z := (x * y).view(8, 10, 64), z.view(80, 64).sum(0)), 2, 1),
    "several sums": (lambda x, y: (x.softmax(1), x.sum(0), (x * y).sum(0), y.exp().sum(0)), 2, 1),
    "sums of rows and of columns": (lambda x, y: (x.sum(0), x.sum(1)), 2, 1),
    "what is made of the sums": (lambda x, y: (x.softmax(1), x.mean(0).sqrt() * 2), 2, 1),
    "a sum of what the row gives": (lambda x, y: (z := x.softmax(1) * y, z.sum(0)), 2, 1),
    "computed places": (lambda x, y: (z := y.softmax(1), (z + x[y.long() % 80, 3]).sum(0)), 2, 1),
    "a sum that needs another": (lambda x, y: (x.exp(), (x - x.mean(0)).pow(2).sum(0)), 2, 0),
    "rows that need the sum": (lambda x, y: (x / x.sum(0)).softmax(1), 2, 0),
    "a maximum": (lambda x, y: (x.softmax(1), x.amax(0)), 2, 0),
    "integers": (lambda x, y: (x.long().sum(1), x.long().sum(0)), 2, 0),
    "transposed rows": (lambda x, y: (x.t().softmax(1), x.t().sum(0)), 2, 0),
}


@pytest.mark.parametrize("name", BESIDE)
def test_beside(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse, "ALONE", 1000)
    function, count, parts = BESIDE[name]
    torch.manual_seed(0)
    x, y = torch.rand(2, 80, 64, dtype=torch.float64)
    program = check(function, x, y)
    assert (len(kernels(program)), len(with_parts(program))) == (count, parts)


@pytest.mark.parametrize(("rows", "parts"), [(120, 1), (50, 0)])
def test_short_columns_are_walked_down_only_where_they_stay_near(
    rows: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse, "ALONE", 4000)
    program = check(lambda x, y: (z := torch.where(y > 0, x, 0), z.sum(0)), *torch.randn(2, rows, 40))
    assert (len(kernels(program)), len(with_parts(program))) == (1 + parts, parts)


def test_a_product_between() -> None:
    """The sum needs the product, which needs the rows."""

    def function(x: Tensor, w: Tensor) -> Any:
        y = x.softmax(1)
        return y, (x + y @ w).sum(0)

    program = check(function, torch.rand(80, 64), torch.rand(64, 64), no_calls=False)
    assert not with_parts(program)


def test_a_product_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear layer's backward: products use the activation's gradient, and its column sums are the bias's
    gradient.
    """
    monkeypatch.setattr(fuse, "ALONE", 1000)

    def function(g: Tensor, y: Tensor, w: Tensor, x: Tensor) -> Any:
        d = torch.where(y > 0, g, 0)
        return d @ w, d.t() @ x, d.sum(0)

    program = check(
        function,
        *(torch.randn(80, 64) for _ in range(2)),
        torch.randn(64, 48),
        torch.randn(80, 48),
        no_calls=False,
    )
    assert len(with_parts(program)) == 1


def test_writes_in_place() -> None:
    """The rows are written to the buffer from which the columns would be read."""

    def step(x: Tensor) -> tuple[Tensor, Tensor]:
        total = x.sum(0)
        return x.copy_(x.softmax(1)), total

    x = torch.randn(1200, 64, dtype=torch.float64)
    expected = x.clone()
    actual = capture.compile(step)(x)
    torch.testing.assert_close(actual, step(expected))
    torch.testing.assert_close(x, expected)


def test_rounding_errors_of_many_rows() -> None:
    torch.manual_seed(0)
    x = torch.rand(100_003, 32)
    fast = capture.compile(lambda x: (x.sum(1), x.sum(0)))
    exact = x.double().sum(0)
    assert (fast(x)[1].double() - exact).abs().max() < 4e-7 * exact.max()


def training_step(x: Tensor, w: Tensor, b: Tensor, r: Tensor) -> Tensor:
    return F.layer_norm(F.gelu(x + b) + r, w.shape, w, b)


def gradients(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
    result = function(*inputs)
    seed = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view(result.shape)
    return (result, *torch.autograd.grad(result, inputs, seed))


def inputs_of(rows: int, width: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    torch.manual_seed(rows)
    shapes = [(rows, width), (width,), (width,), (rows, width)]
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_threads_take_parts(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grain, "PART", 10_000)
    inputs, before = inputs_of(1000, 100), torch.get_num_threads()
    expected = gradients(training_step, *inputs)
    try:
        torch.set_num_threads(number)
        actual = gradients(capture.compile(training_step), *inputs)
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(actual, expected)


def test_one_kernel_for_all_sizes() -> None:
    with config.patch(dynamic=True):
        fast = capture.compile(training_step)
        for rows, width in ((100, 64), (63, 64), (64, 64), (65, 40), (2, 64), (700, 33), (17, 3)):
            inputs = inputs_of(rows, width)
            torch.testing.assert_close(gradients(fast, *inputs), gradients(training_step, *inputs))


def test_sequences_of_all_sizes() -> None:
    norm = nn.LayerNorm(48).double()
    with config.patch(dynamic=True):
        fast = capture.compile(lambda x: norm(x * 2))
        for batch, length in ((2, 40), (3, 64), (64, 3), (5, 128), (1, 70)):
            x = torch.randn(batch, length, 48, dtype=torch.float64)
            actual, expected = (
                torch.autograd.grad(f(x).square().sum(), norm.parameters())
                for f in (fast, lambda x: norm(x * 2))
            )
            torch.testing.assert_close(actual, expected)
