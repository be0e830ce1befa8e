"""Convolutions and pooling with TensorFlow's padding.

In:  images in the layout "NHWC" or "NCHW"; kernels in torch's layout; padding "SAME", "VALID", or the amounts
     before and after each of the four dimensions.
Out: images in the same layout.

SAME gives size / stride windows, rounded up. If the padding is an odd number, one more goes behind.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

Pair = list[int]


def _channels_first(x: torch.Tensor, layout: str) -> torch.Tensor:
    return x.permute(0, 3, 1, 2) if layout == "NHWC" else x


def _back(x: torch.Tensor, layout: str) -> torch.Tensor:
    return x.permute(0, 2, 3, 1) if layout == "NHWC" else x


def _amounts(
    size: int, kernel: int, stride: int, dilation: int, padding: str | list[int], place: int
) -> tuple[int, int]:
    """The padding before and behind one dimension; `place` is its number in an explicit padding."""
    if padding == "VALID":
        return 0, 0
    if padding != "SAME":
        return int(padding[place]), int(padding[place + 1])
    reach = (kernel - 1) * dilation + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def _around(
    x: torch.Tensor, kernel: Pair, strides: Pair, dilations: Pair, padding: str | list[int], layout: str
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The padding of the rows and of the columns of images with the channels first."""
    first = 2 if layout == "NHWC" else 4
    rows = _amounts(x.shape[2], kernel[0], strides[0], dilations[0], padding, first)
    columns = _amounts(x.shape[3], kernel[1], strides[1], dilations[1], padding, first + 2)
    return rows, columns


def conv2d(
    x: torch.Tensor,
    kernel: torch.Tensor,
    strides: Pair,
    padding: str | list[int],
    dilations: Pair,
    layout: str,
    groups: int = 1,
) -> torch.Tensor:
    x = _channels_first(x, layout)
    rows, columns = _around(x, list(kernel.shape[2:]), strides, dilations, padding, layout)
    even = (0, 0)
    if rows[0] == rows[1] and columns[0] == columns[1]:
        even = (rows[0], columns[0])
    else:
        x = F.pad(x, [*columns, *rows])
    return _back(F.conv2d(x, kernel, None, strides, even, dilations, groups), layout)


def depthwise_conv2d(
    x: torch.Tensor,
    kernel: torch.Tensor,
    strides: Pair,
    padding: str | list[int],
    dilations: Pair,
    layout: str,
) -> torch.Tensor:
    """A kernel (channels, multiplier, height, width)."""
    channels = kernel.shape[0]
    each = kernel.reshape(channels * kernel.shape[1], 1, *kernel.shape[2:])
    return conv2d(x, each, strides, padding, dilations, layout, channels)


def max_pool(
    x: torch.Tensor, size: Pair, strides: Pair, padding: str | list[int], layout: str
) -> torch.Tensor:
    x = _channels_first(x, layout)
    rows, columns = _around(x, size, strides, [1, 1], padding, layout)
    if rows != (0, 0) or columns != (0, 0):
        least = float("-inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
        x = F.pad(x, [*columns, *rows], value=least)
    return _back(F.max_pool2d(x, size, strides), layout)


def avg_pool(x: torch.Tensor, size: Pair, strides: Pair, padding: str, layout: str) -> torch.Tensor:
    """What is padded does not count."""
    x = _channels_first(x, layout)
    rows, columns = _around(x, size, strides, [1, 1], padding, layout)
    if rows[0] == rows[1] and columns[0] == columns[1]:
        even = (rows[0], columns[0])
        return _back(F.avg_pool2d(x, size, strides, even, count_include_pad=False), layout)
    inside = F.pad(torch.ones_like(x[:1, :1]), [*columns, *rows])
    means = F.avg_pool2d(F.pad(x, [*columns, *rows]), size, strides)
    return _back(means / F.avg_pool2d(inside, size, strides), layout)


def bias_add_channels_first(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return x + bias.reshape(-1, *[1] * (x.dim() - 2))


def normalised(
    x: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    epsilon: float,
    layout: str,
) -> torch.Tensor:
    """The batch norm of inference."""
    x = _channels_first(x, layout)
    return _back(F.batch_norm(x, mean, variance, scale, offset, False, 0.0, epsilon), layout)


def moments(x: torch.Tensor, layout: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of each channel: the mean, the variance, and the variance divided by one sample less."""
    x = _channels_first(x, layout).float()
    mean = x.mean((0, 2, 3))
    variance = x.var((0, 2, 3), unbiased=False)
    count = x.numel() // x.shape[1]
    return mean, variance, variance * (count / max(count - 1, 1))
