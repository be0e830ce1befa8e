"""The operators of convolutions, against torch in float64."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import _capture
import pytest
import torch

from codegen.kernel import convolution  # noqa: F401  defines the operators
from codegen.launch.direct_calls import callable_of, is_direct


class Operators:
    """An operator, and what a launch plan calls for it: they give the same."""

    def __getattr__(self, name: str) -> Any:
        operator = getattr(torch.ops._capture, name).default
        direct = callable_of(operator)
        assert is_direct(direct)

        def call(*args: Any) -> Any:
            found, by_plan = operator(*args), direct(*args)
            torch.testing.assert_close(by_plan, found, rtol=0, atol=0, equal_nan=True)
            return found

        return call


operators: Any = Operators()
aten = torch.ops.aten
pytestmark = pytest.mark.skipif(
    not torch.backends.cpu.get_cpu_capability().startswith("AVX"), reason="needs AVX2"
)

#: image, channels of the result, kernel, stride, padding, dilation, perhaps groups
GEOMETRIES = [
    ((4, 3, 9, 11), 8, (3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 16, 8, 8), 32, (3, 3), (2, 2), (1, 1), (1, 1)),
    ((2, 5, 13, 26), 17, (5, 2), (1, 3), (0, 4), (2, 1)),
    ((1, 2, 30, 30), 1, (4, 4), (2, 2), (1, 1), (1, 1)),
    ((3, 4, 4, 4), 40, (4, 4), (1, 1), (0, 0), (1, 1)),  # one place
    ((2, 3, 5, 5), 9, (1, 1), (3, 3), (0, 0), (1, 1)),  # some places of the image are not read
    ((1, 1, 3, 700), 24, (3, 5), (1, 1), (1, 2), (1, 1)),  # rows in parts
    ((2, 3, 1, 1), 4, (3, 3), (2, 2), (2, 2), (1, 1)),  # mostly padding
    ((2, 7, 120), 33, (3,), (2,), (1,), (2,)),
    ((2, 12, 9, 8), 20, (3, 3), (2, 1), (1, 1), (1, 1), 4),
    ((1, 6, 11, 11), 96, (4, 4), (1, 1), (2, 2), (1, 1), 6),
    ((2, 3, 20, 37), 2, (3, 3), (1, 1), (1, 1), (1, 1)),  # few channels: vectors along the rows
    ((2, 3, 16, 40), 6, (4, 5), (2, 3), (1, 1), (1, 1)),  # the same in an image whose rows have phases
    ((1, 2, 2, 4500), 3, (2, 3), (1, 1), (0, 1), (1, 1)),  # the same in long rows
    ((2, 6, 9, 20), 4, (3, 3), (1, 2), (1, 1), (1, 1), 2),
]


@pytest.fixture(params=[32, 64], ids="{} bytes".format)
def vectors(request: pytest.FixtureRequest) -> Iterator[None]:
    """The vectors of older processors, too."""
    torch.manual_seed(0)
    before = _capture.limit_convolutions(request.param)
    yield
    _capture.limit_convolutions(before)


def same(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert found.dtype is torch.float32 and found.is_contiguous()
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5 * (1 + expected.abs().max()))


def between_nans(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return torch.full((count + 128,), float("nan"))[64:-64].copy_(torch.randn(count)).view(shape)


def check(
    shape: Any, results: int, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1
) -> None:
    places = [list(sizes) for sizes in (stride, padding, dilation)]
    image, weight = between_nans(*shape), between_nans(results, shape[1] // groups, *kernel)
    bias, other = torch.randn(results), torch.randn(shape[1])
    options = (*places, False, [0] * len(kernel), groups)
    expected = aten.convolution(image.double(), weight.double(), bias.double(), *options)
    gradient = between_nans(*expected.shape)
    of_result, size = list(expected.shape[2:]), list(shape[2:])
    ones = [1] * len(kernel)
    same(operators.convolution(image, weight, bias, *places, of_result), expected)
    without = expected - bias.double().view(-1, *ones)
    same(operators.convolution(image, weight, None, *places, of_result), without)
    wide = [tensor.double() for tensor in (gradient, image, weight)]
    of_image, of_weight, _ = aten.convolution_backward(*wide, None, *options, [True, True, False])
    same(operators.convolution_image(gradient, weight, None, *places, size, groups), of_image)
    added = of_image + other.double().view(-1, *ones)
    same(operators.convolution_image(gradient, weight, other, *places, size, groups), added)
    for has_bias in (False, True):
        weights = operators.convolution_weight(gradient, image, has_bias, *places, list(kernel), groups)
        same(weights[0], of_weight)
        if has_bias:
            same(weights[1], gradient.double().sum([0, *range(2, gradient.dim())]))


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_as_exact_as_torch(vectors: None, geometry: Any) -> None:
    check(*geometry)


@pytest.mark.parametrize("seed", range(10))
def test_random_sizes(vectors: None, seed: int) -> None:
    chosen, checked = random.Random(seed), 0
    while checked < 8:
        kernel, stride, dilation = ([chosen.randint(1, most) for _ in range(2)] for most in (5, 4, 3))
        padding, size = ([chosen.randint(least, most) for _ in range(2)] for least, most in ((0, 4), (1, 20)))
        spans = [(kernel[i] - 1) * dilation[i] + 1 for i in range(2)]
        if all(size[i] + 2 * padding[i] >= spans[i] for i in range(2)):
            shape = (chosen.randint(1, 4), chosen.randint(1, 20), *size)
            check(shape, chosen.randint(1, 50), kernel, stride, padding, dilation)
            checked += 1


def test_threads_share_the_work(vectors: None) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        check((6, 40, 30, 30), 70, (3, 3), (1, 1), (1, 1), (1, 1))
        check((2, 40, 60, 60), 33, (3, 3), (2, 2), (1, 1), (1, 1))
    finally:
        torch.set_num_threads(threads)


def test_other_layouts() -> None:
    image, weight = torch.randn(2, 9, 9, 4).permute(0, 3, 1, 2), torch.randn(3, 3, 4, 8).permute(3, 2, 0, 1)
    found = operators.convolution(image, weight, None, [1, 1], [1, 1], [1, 1], [9, 9])
    same(found, aten.convolution(image.double(), weight.double(), None, *[[1, 1]] * 3, False, [0, 0], 1))


def test_special_values() -> None:
    """Zeros around the image are not multiplied with infinities of a place further away."""
    image, weight = torch.ones(1, 2, 6, 6), torch.randn(8, 2, 3, 3)
    image[0, 1, 3, 2] = float("inf")
    image[0, 0, 0, 0] = float("nan")
    places = [[1, 1]] * 3
    expected = aten.convolution(image, weight, None, *places, False, [0, 0], 1)
    torch.testing.assert_close(
        operators.convolution(image, weight, None, *places, [6, 6]),
        expected,
        rtol=1e-5,
        atol=1e-5,
        equal_nan=True,
    )


def test_sizes_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="without elements"):
        _capture.convolve((1, 0, 1, *[1] * 13), (0, 0, 0, 0))
