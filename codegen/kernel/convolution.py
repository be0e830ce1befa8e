"""Operators of our own: convolutions of row-major float32 images, and their gradients.

In:  images [batch, channels, height, width] or [batch, channels, width], and a weight as that of
     `torch.conv2d` or `torch.conv1d`. No tensor is empty.
Out: `torch.ops._capture.convolution` and its like, by `native/convolution/`.

    convolution(f32[8, 16, 28, 28], f32[32, 16, 3, 3], None, [1, 1], [1, 1], [1, 1])   ->   f32[8, 32, 28, 28]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import _capture
import torch

from codegen.kernel.own_operators import addresses, defined

Tensor = torch.Tensor
Sizes = Sequence[int]
#: a sequence has one row: its image, result, kernel, stride, padding and dilation
OF_ONE_ROW = (1, 1, 1, 1, 0, 1)


def run_by(
    native: Callable[..., None], shapes: Sequence[Sizes], places: Sequence[Sizes], *tensors: Tensor | None
) -> Callable[[], None]:
    """`shapes`: those of image, result and weight; `places`: stride, padding, dilation."""
    image, result, weight = shapes
    groups = image[1] // weight[1]
    sizes = [image[0], groups, weight[1], weight[0] // groups]
    sides = (image[2:], result[2:], weight[2:], *places)
    if len(image) == 4:
        for side in sides:
            sizes += side
    else:
        for one, side in zip(OF_ONE_ROW, sides, strict=True):
            sizes += (one, *side)
    return lambda: native(tuple(sizes), addresses(*tensors))


@defined(
    "convolution(Tensor image, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
    "int[] size) -> Tensor"
)
def convolution(
    image: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    size: Sizes,
) -> Any:
    """`size`: height and width of the result."""
    result = image.new_empty((image.shape[0], weight.shape[0], *size))
    shapes = (image.shape, result.shape, weight.shape)
    return result, run_by(_capture.convolve, shapes, (stride, padding, dilation), image, weight, bias, result)


@defined(
    "convolution_image(Tensor gradient, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
    "int[] dilation, int[] size, int groups) -> Tensor"
)
def convolution_image(
    gradient: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    size: Sizes,
    groups: int,
) -> Any:
    """The gradient of an image of that height and width: also a transposed convolution, with its bias."""
    image = gradient.new_empty((gradient.shape[0], weight.shape[1] * groups, *size))
    shapes = (image.shape, gradient.shape, weight.shape)
    return image, run_by(
        _capture.convolution_image, shapes, (stride, padding, dilation), gradient, weight, bias, image
    )


@defined(
    "convolution_weight(Tensor gradient, Tensor image, bool has_bias, int[] stride, int[] padding, "
    "int[] dilation, int[] size, int groups) -> (Tensor, Tensor)"
)
def convolution_weight(
    gradient: Tensor,
    image: Tensor,
    has_bias: bool,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    size: Sizes,
    groups: int,
) -> Any:
    """The gradients of a weight whose kernel has that height and width, and of the bias, if there is one."""
    weight = image.new_empty((gradient.shape[1], image.shape[1] // groups, *size))
    bias = image.new_empty(gradient.shape[1] if has_bias else 0)
    shapes, written = (image.shape, gradient.shape, weight.shape), bias if has_bias else None
    places = (stride, padding, dilation)
    run = run_by(_capture.convolution_weight, shapes, places, gradient, image, written, weight)
    return (weight, bias), run
