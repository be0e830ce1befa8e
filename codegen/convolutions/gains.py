"""What a memory layout gains and costs, in nanoseconds.

In:  a convolution or its backward, as a node of a functional ATen graph.
Out: `gain_of`: what it gains where its images are channels-last; None where it has to stay as it is.

    convolution(f32[16, 16, 32, 32], f32[32, 16, 3, 3])   ->   about 70000

oneDNN computes on blocks of channels. Its kernels take channels-last images as they are; it copies row-major
images into blocks, and the result back. So the gain grows with the images, and not with the work. The weights
cost more: they are copied once more. All numbers are on the low side of what is measured on one thread of a
machine with AVX-512 (with AVX2 the gains are larger).
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import fx

from capture_records import dataclass
from codegen.convolutions import FORWARD
from codegen.fake.shapes.spec import row_major
from codegen.kernel.hints import are_numbers, hint_of

aten = torch.ops.aten
COPY = 0.7  # to copy an element of an image into the other layout
OF_WEIGHTS = 0.5  # the same for weights
CALL, PIXEL = 6000.0, 0.15  # gain of a call, and of an element of its images
#: channels that a kernel of one pixel takes at once: with others it is slow, or even writes outside
BLOCK = 16
#: a convolution of our own starts so much earlier, and takes longer for each multiplication
START, MULTIPLICATION = 40000.0, 0.002
#: the most multiplications that it has, unless it has few weights and elements of an image: caches hold these
MOST, FEW_WEIGHTS, FEW_ELEMENTS = 1e8, 150_000, 400_000
FEW = 4  # channels of a group
#: our code reads the weights anew for each image: what a weight takes, once and for each image
WEIGHT, WEIGHT_OF_IMAGE = 0.1, 0.05


@dataclass(frozen=True, slots=True)
class Call:
    """A convolution, or the `parts` of its backward."""

    image: fx.Node
    weight: fx.Node
    result: Any
    transposed: bool
    stride: Any
    groups: int
    parts: int


def call_of(node: fx.Node) -> Call:
    arguments: tuple[Any, ...] = node.args
    if node.target is FORWARD:
        image, weight, _, stride, _, _, transposed, _, groups = arguments
        return Call(image, weight, node.meta["val"], transposed, stride, groups, 1)
    gradient, image, weight, _, stride, _, _, transposed, _, groups, mask = arguments
    return Call(image, weight, gradient.meta["val"], transposed, stride, groups, sum(mask[:2]))


def is_plain(value: Any, dims: tuple[int, ...] = (4,)) -> bool:
    """So many dims of known sizes, none of them 0."""
    if not isinstance(value, torch.Tensor) or value.dim() not in dims:
        return False
    return all(type(size) is int and size > 0 for size in value.shape)


def is_row_major(value: torch.Tensor) -> bool:
    return value.stride() == row_major(value.shape)


def results_of(node: fx.Node) -> list[torch.Tensor]:
    """The results that have a layout."""
    value = node.meta["val"]
    found = value if isinstance(value, tuple) else (value,)
    return [item for item in found if item is not None and item.dim() > 1]


def gain_of(node: fx.Node) -> float | None:
    if node.kwargs:
        return None
    call = call_of(node)
    tensors = (call.image.meta["val"], call.weight.meta["val"], call.result)
    if not all(is_plain(value) and value.dtype is torch.float32 for value in tensors):
        return None
    image, weight, result = tensors
    batch, channels, *pixels = image.shape
    if batch == 1 or [channels, *pixels] == [1, 1, 1] or call.parts == 0:
        return None
    if not all(map(is_row_major, results_of(node))):  # eager has channels-last tensors
        return None
    factor = factor_of(call, image, weight, result)
    if factor is None:
        return None
    moved = factor * (CALL + PIXEL * (image.numel() + result.numel()))
    gain = moved - OF_WEIGHTS * weight.numel()
    if is_ours(node, call):
        gain = min(gain, MULTIPLICATION * multiplications(call) - START)
    return call.parts * gain


def factor_of(call: Call, image: torch.Tensor, weight: torch.Tensor, result: torch.Tensor) -> float | None:
    strided = any(step != 1 for step in call.stride)
    if tuple(weight.shape[2:]) == (1, 1):
        if call.transposed or call.groups != 1 or weight.shape[0] % BLOCK or weight.shape[1] % BLOCK:
            return None
        return 2.0 if strided else 0.0
    if call.groups > 1:
        return 2.0 if call.groups == image.shape[1] == result.shape[1] else 0.0
    return 2.0 if strided and not call.transposed else 1.0


# --- our own ------------------------------------------------------------------------------------------------


def multiplications(call: Call) -> float:
    weight, source = call.weight.meta["val"], call.image.meta["val"]
    batch, _, *places = map(hint_of, source.shape if call.transposed else call.result.shape)
    return float(weight.numel() * batch * prod(places))


def fills_vectors(node: fx.Node, call: Call) -> bool:
    """Whether each of its results has some channels in a group: these are the elements of a vector."""
    results, channels = map(hint_of, call.weight.meta["val"].shape[:2])
    sides = (channels, results // call.groups) if call.transposed else (results // call.groups, channels)
    if node.target is FORWARD:
        return sides[0] >= FEW
    wanted: Any = node.args[-1]
    return (not wanted[0] or sides[1] >= FEW) and (not wanted[1] or results // call.groups >= FEW)


def is_ours(node: fx.Node, call: Call) -> bool:
    """Whether our code computes it where its images are row-major."""
    tensors = (call.image.meta["val"], call.weight.meta["val"], call.result)
    return (
        all(is_plain(value, (3, 4)) and value.dtype is torch.float32 for value in tensors)
        and all(map(is_row_major, results_of(node)))
        and _suits_us(node, call)
    )


def _suits_us(node: fx.Node, call: Call) -> bool:
    full = call.groups == 1 or fills_vectors(node, call)
    few = multiplications(call) <= MOST or _stays_in_caches(call)
    return full and call.parts > 0 and few and _images_outweigh_weights(call)


def _images_outweigh_weights(call: Call) -> bool:
    """Whether oneDNN's start and its copies of the images take longer than our reads of the weights: many
    weights on few pixels are faster there.
    """
    image, result = call.image.meta["val"].shape, call.result.shape
    ours = _elements(call.weight.meta["val"].shape) * (WEIGHT + WEIGHT_OF_IMAGE * hint_of(image[0]))
    return ours <= START + COPY * (_elements(image) + _elements(result))


def _stays_in_caches(call: Call) -> bool:
    weights = _elements(call.weight.meta["val"].shape)
    images = (call.image.meta["val"], call.result)
    return weights <= FEW_WEIGHTS and all(_elements(image.shape[1:]) <= FEW_ELEMENTS for image in images)


def _elements(sizes: Any) -> int:
    return prod(map(hint_of, sizes))


def is_ours_for_all_sizes(node: fx.Node, call: Call) -> bool:
    """Whether our code computes it for the present sizes, and gives what eager gives for all of them."""
    tensors = [item.meta["val"] for item in node.all_input_nodes] + results_of(node)
    images = (call.image.meta["val"], call.weight.meta["val"], call.result)
    return (
        all(value.dim() in (3, 4) and value.dtype is torch.float32 for value in images)
        and all(map(is_full_in_rows, (*tensors, call.result)))
        and _suits_us(node, call)
    )


def is_full_in_rows(value: torch.Tensor) -> bool:
    """Whether it is known to be row-major, and never to be empty: the answer is no condition on the sizes."""

    def is_so() -> bool:
        return all(size > 0 for size in value.shape) and is_row_major(value)

    if are_numbers(*value.shape, *value.stride()):
        return is_so()
    env: Any = value.fake_mode.shape_env  # type: ignore[attr-defined]
    return bool(env.knows(is_so))
