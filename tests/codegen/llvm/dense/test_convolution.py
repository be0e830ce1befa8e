"""Generated convolutions against eager in float64."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from codegen.llvm.dense.convolution import (
    ConvolutionForm,
    convolution_workspace_bytes,
    emit_convolution,
)
from codegen.llvm.dense.images import Image
from codegen.llvm.target import LEVELS, Target
from tests.codegen.llvm.dense.run import Function, values

HOST = Target.host()
RUNNABLE = list(LEVELS)[: list(LEVELS).index(HOST.cpu) + 1]

#: (channels, height, width, out channels, kernel, stride, padding, dilation, groups)
CASES: dict[str, tuple[Any, ...]] = {
    "one place": (1, 1, 1, 1, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "one by one": (5, 7, 9, 6, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "one by one, groups": (6, 7, 9, 4, (1, 1), (1, 1), (0, 0), (1, 1), 2),
    "one by one, stride": (4, 8, 9, 6, (1, 1), (2, 2), (0, 0), (1, 1), 1),
    "three": (3, 12, 13, 8, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "rows of whole vectors": (4, 6, 32, 5, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "many channels": (40, 9, 9, 17, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "many places": (2, 40, 41, 3, (3, 3), (1, 1), (0, 0), (1, 1), 1),
    "no padding": (3, 9, 10, 4, (3, 2), (1, 1), (0, 0), (1, 1), 1),
    "stride": (3, 15, 17, 4, (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "two strides": (3, 15, 31, 4, (5, 4), (2, 3), (1, 2), (1, 1), 1),
    "dilation": (3, 15, 17, 4, (3, 3), (1, 1), (2, 2), (2, 2), 1),
    "dilation and stride": (3, 20, 23, 4, (3, 3), (2, 2), (2, 3), (2, 3), 1),
    "wide padding": (2, 3, 4, 3, (2, 2), (1, 1), (5, 6), (1, 1), 1),
    "stride over the image": (2, 3, 4, 3, (1, 1), (3, 7), (0, 0), (1, 1), 1),
    "groups": (6, 9, 10, 9, (3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise": (5, 9, 37, 5, (3, 3), (1, 1), (1, 1), (1, 1), 5),
    "depthwise, twice": (4, 9, 10, 8, (3, 3), (1, 1), (1, 1), (1, 1), 4),
    "depthwise, stride": (4, 19, 20, 4, (5, 5), (2, 2), (2, 2), (1, 1), 4),
    "one row": (3, 1, 50, 4, (1, 7), (1, 2), (0, 3), (1, 1), 1),
    "one column": (3, 50, 1, 4, (7, 1), (2, 1), (3, 0), (1, 1), 1),
}


def form_of(case: str, dtype: str, **others: Any) -> ConvolutionForm:
    channels, height, width, out, kernel, stride, padding, dilation, groups = CASES[case]
    image = Image(channels, height, width, kernel, stride, padding, dilation)
    return ConvolutionForm(dtype, image, out, groups=groups, **others)


def function_of(form: ConvolutionForm, target: Target) -> Function:
    return Function(
        form, emit_convolution(form, target, "function"), convolution_workspace_bytes(form, target), target
    )


def inputs_of(case: str, dtype: str, batch: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    channels, height, width, out, kernel, _, _, _, groups = CASES[case]
    return (
        values((batch, channels, height, width), dtype, 1),
        values((out, channels // groups, *kernel), dtype, 2),
        values((out,), dtype, 3),
    )


def expected(case: str, image: Tensor, kernel: Tensor, bias: Tensor | None) -> Tensor:
    _, _, _, _, _, stride, padding, dilation, groups = CASES[case]
    wide = [tensor if tensor is None else tensor.double() for tensor in (image, kernel, bias)]
    return F.conv2d(wide[0], wide[1], wide[2], stride, padding, dilation, groups)


def assert_close(found: Tensor, truth: Tensor) -> None:
    """Compares inside of a band that must not change."""
    exact = {torch.float64: 1e-13, torch.float32: 1e-5, torch.bfloat16: 1e-2, torch.float16: 2e-3}
    error = (found.double() - truth).abs().max()
    assert float(error) <= exact[found.dtype] * max(1.0, float(truth.abs().max()))


def output_in_band(truth: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    around = torch.full((truth.numel() + 64,), 77.0, dtype=dtype)
    return around, around[32:-32].view(truth.shape)


@pytest.mark.parametrize("case", CASES)
def test_against_eager(case: str) -> None:
    image, kernel, bias = inputs_of(case, "f32")
    truth = expected(case, image, kernel, bias)
    for level in RUNNABLE:
        around, output = output_in_band(truth, torch.float32)
        function_of(form_of(case, "f32", bias=True), Target.level(level))(output, kernel, image, bias)
        assert_close(output, truth)
        assert bool((around[:32] == 77).all()) and bool((around[-32:] == 77).all())


@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16"])
def test_element_types(dtype: str) -> None:
    for case in ("three", "two strides", "groups", "depthwise", "one by one"):
        image, kernel, _ = inputs_of(case, dtype)
        truth = expected(case, image, kernel, None)
        _, output = output_in_band(truth, image.dtype)
        function_of(form_of(case, dtype), HOST)(output, kernel, image)
        assert_close(output, truth)


def test_open_batch() -> None:
    for case, batch in itertools.product(("three", "one by one", "depthwise"), (0, 1, 3)):
        image, kernel, bias = inputs_of(case, "f32", batch)
        truth = expected(case, image, kernel, bias)
        _, output = output_in_band(truth, torch.float32)
        form = form_of(case, "f32", batch=None, bias=True)
        function_of(form, HOST)(output, kernel, image, bias, batch=batch)
        if batch:
            assert_close(output, truth)


def test_padding_does_not_hide_nan() -> None:
    """A NaN of the image reaches the places that see it, and no other."""
    image, kernel, _ = inputs_of("three", "f32")
    image[0, 1, 0, 12] = float("nan")
    truth = expected("three", image, kernel, None)
    _, output = output_in_band(truth, torch.float32)
    function_of(form_of("three", "f32"), HOST)(output, kernel, image)
    assert torch.equal(output.isnan(), truth.isnan())


def test_errors() -> None:
    image = Image(4, 5, 5, (3, 3), (1, 1), (0, 0), (1, 1))
    with pytest.raises(ValueError, match="3 groups do not divide 4 and 6 channels"):
        ConvolutionForm("f32", image, 6, groups=3)
    with pytest.raises(ValueError, match="larger than the padded image"):
        ConvolutionForm("f32", Image(4, 2, 2, (3, 3), (1, 1), (0, 0), (1, 1)), 6)
    with pytest.raises(ValueError, match=r"stride is \(0, 1\)"):
        ConvolutionForm("f32", Image(4, 5, 5, (3, 3), (0, 1), (0, 0), (1, 1)), 6)
