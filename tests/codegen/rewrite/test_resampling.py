"""Pooling, padding and resampling in tables, against eager: values, indices, gradients, layouts."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.explain import Collector
from capture.report.observe import observing

FUNCTIONS = {
    "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool2d indices": lambda x: F.max_pool2d(x, (2, 3), 1, (1, 0), (2, 1), return_indices=True),
    "max_pool2d ceil": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "max_pool1d": lambda x: F.max_pool1d(x[0], 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "avg_pool2d padded": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "avg_pool2d inside": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "avg_pool2d divisor": lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True),
    "reflect": lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"),
    "replicate": lambda x: F.pad(x, (-1, 2, 3, -2), mode="replicate"),
    "nearest": lambda x: F.interpolate(x, scale_factor=(1.7, 0.6)),
    "nearest-exact": lambda x: F.interpolate(x, size=(11, 5), mode="nearest-exact"),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, scale_factor=(1.7, 2), mode="bicubic"),
    "bicubic corners": lambda x: F.interpolate(x, size=(5, 9), mode="bicubic", align_corners=True),
    "bilinear corners": lambda x: F.interpolate(x, size=(3, 12), mode="bilinear", align_corners=True),
}


def run(function: Any, x: torch.Tensor) -> tuple[Any, torch.Tensor]:
    x = x.detach().clone().requires_grad_()
    result = function(x)
    values = result[0] if isinstance(result, tuple) else result
    (values * torch.arange(values.numel()).view(values.shape)).sum().backward()
    return result, x.grad


def compare(name: str, x: torch.Tensor) -> None:
    function = FUNCTIONS[name]
    capture.reset()
    expected, grad = run(function, x)
    with observing(Collector()):
        actual, own_grad = run(capture.compile(lambda x: function(x)), x)
    torch.testing.assert_close(actual, expected, equal_nan=True, check_stride=True)
    torch.testing.assert_close(own_grad, grad, equal_nan=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name: str) -> None:
    torch.manual_seed(3)
    compare(name, torch.randn(2, 3, 7, 8))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "pad" not in name and "pool1d" not in name])
def test_channels_last(name: str) -> None:
    torch.manual_seed(3)
    x = torch.randn(2, 3, 7, 8).contiguous(memory_format=torch.channels_last)
    values = FUNCTIONS[name](x)
    captured = capture.compile(FUNCTIONS[name])(x)
    torch.testing.assert_close(captured, values, check_stride=True)


@pytest.mark.parametrize("name", ["max_pool2d", "max_pool2d indices", "adaptive_max_pool2d"])
def test_ties_and_infinities(name: str) -> None:
    compare(name, torch.randint(0, 2, (2, 3, 7, 8)).float())
    compare(name, torch.full((1, 2, 7, 8), -math.inf))


@pytest.mark.parametrize("name", ["max_pool2d indices", "adaptive_max_pool2d", "max_pool3d", "max_pool1d"])
def test_the_last_nan_of_a_window_wins(name: str) -> None:
    forms = {
        **FUNCTIONS,
        "max_pool3d": lambda x: F.max_pool3d(x, (1, 2, 3), 2, return_indices=True),
        "max_pool1d": lambda x: F.adaptive_max_pool1d(x[0], 4, return_indices=True),
    }
    x = torch.randn(1, 3, 9, 11)
    x[torch.rand(x.shape) < 0.3] = torch.nan
    expected, found = forms[name](x), capture.compile(forms[name])(x)
    torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.parametrize("name", ["avg_pool2d padded", "adaptive_avg_pool2d", "bilinear"])
def test_infinities_stay_in_their_windows(name: str) -> None:
    x = torch.zeros(1, 1, 7, 8)
    x[0, 0, 0, 0] = math.inf
    function = FUNCTIONS[name]
    torch.testing.assert_close(capture.compile(function)(x), function(x), equal_nan=True)


def test_wrong_arguments_raise_as_in_eager() -> None:
    x = torch.randn(1, 2, 4, 4)
    for wrong in (lambda x: F.max_pool2d(x, 2, padding=3), lambda x: F.pad(x, (4, 0), mode="reflect")):
        with pytest.raises(RuntimeError) as eager:
            wrong(x)
        with pytest.raises(RuntimeError) as captured:
            capture.compile(wrong)(x)
        assert str(captured.value) == str(eager.value)


def test_of_nothing_eager_says_what_is_wrong() -> None:
    x = torch.randn(2, 3, 0, requires_grad=True)
    compiled = capture.compile(lambda x: F.interpolate(x, size=3, mode="linear"))
    with pytest.raises(RuntimeError, match="sizes should be greater than 0"), warnings.catch_warnings():
        warnings.simplefilter("error")  # as a failure of the compiler would give
        compiled(x)


def test_places_of_a_table_are_not_checked(caplog: pytest.LogCaptureFixture) -> None:
    """They are known to be inside."""
    x = torch.randn(2, 3, 40, 40)
    function = lambda x: F.interpolate(x, scale_factor=2)  # noqa: E731
    with caplog.at_level("DEBUG", "capture.loops"):
        assert torch.equal(capture.compile(function, dynamic=False)(x), function(x))
    assert "store" in caplog.text and "check" not in caplog.text


EMPTY = [(0, 2, 4), (2, 0, 4), (2, 2, 0), (0, 2, 0), (1, 0, 4)]
MODES = [("nearest", 1), ("nearest-exact", 1), ("linear", 1), ("nearest", 2), ("nearest-exact", 2),
         ("bilinear", 2), ("bicubic", 2), ("area", 2), ("nearest", 3), ("trilinear", 3)]  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("mode", "rank"), MODES)
def test_resampling_of_nothing(mode: str, rank: int, dynamic: bool) -> None:
    """Without samples there is no result; without channels or pixels eager raises an error."""

    def outcome(function: Any, shape: tuple[int, ...], size: int) -> Any:
        try:
            return function(torch.ones(shape), size).shape
        except RuntimeError as error:
            return str(error)

    def resampled(x: torch.Tensor, size: int) -> torch.Tensor:
        return F.interpolate(x, size, mode=mode)

    compiled = capture.compile(resampled, dynamic=True if dynamic else None)
    for shape, size in [((3, 4, 5), 6), *((shape, 5) for shape in EMPTY), ((2, 2, 4), 0)]:
        shape = (*shape, *shape[-1:] * (rank - 1))
        if not dynamic:
            capture.reset()
        assert outcome(compiled, shape, size) == outcome(resampled, shape, size), (shape, size)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding_of_nothing(mode: str) -> None:
    def padded(x: torch.Tensor) -> torch.Tensor:
        return F.pad(x, (1, 1), mode=mode)

    compiled = capture.compile(padded)
    for shape in [*EMPTY, (0, 4), (2, 0)]:
        capture.reset()
        found = []
        for function in (padded, compiled):
            try:
                found.append(function(torch.ones(shape)).shape)
            except RuntimeError as error:
                found.append(str(error))
        assert found[0] == found[1], shape


@pytest.mark.parametrize("factor", [1.05, 1.1, 2.05, (1.1, 2.05), (1.6, 1.1), (0.95, 2.0)])
@pytest.mark.parametrize(("mode", "rank"), [pair for pair in MODES if pair[0] != "area"])
def test_factors_that_eager_does_not_look_at(mode: str, rank: int, factor: Any) -> None:
    """Where a size stays or doubles, most of its kernels copy elements."""
    factors = (1.3, *factor)[-rank:] if isinstance(factor, tuple) else factor

    def resampled(x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, scale_factor=factors, mode=mode)

    x = torch.randn(2, 20, *(6, 5, 7)[-rank:])
    formats = {2: torch.channels_last, 3: torch.channels_last_3d}
    last = x.contiguous(memory_format=formats.get(rank, torch.contiguous_format))
    for dynamic, form in itertools.product((False, True), (x, last, last[:, :3].clone())):
        capture.reset()
        expected, grad = run(resampled, form)
        actual, own_grad = run(capture.compile(resampled, dynamic=dynamic), form)
        torch.testing.assert_close(actual, expected)
        torch.testing.assert_close(own_grad, grad)


@pytest.mark.parametrize("factor", [1, 1.7, 2])
@pytest.mark.parametrize(("mode", "rank"), [pair for pair in MODES if pair[0] != "area" and pair[1] > 1])
def test_layouts_of_gradients(mode: str, rank: int, factor: float) -> None:
    """Some kernels give row-major gradients for any gradient of the result."""

    def layouts(function: Any) -> tuple[Any, ...]:
        x = torch.randn(1, 6, *(7, 5, 3)[:rank])
        x = x.contiguous(memory_format=torch.channels_last if rank == 2 else torch.channels_last_3d)
        y = function(x.requires_grad_())
        (grad,) = torch.autograd.grad(y, x, torch.ones_like(y))
        return y.stride(), grad.stride()

    def resampled(x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, scale_factor=factor, mode=mode)

    assert layouts(capture.compile(resampled)) == layouts(resampled)
