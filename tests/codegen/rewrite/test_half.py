"""Half precision, bit for bit: eager's kernels round their intermediate results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.report.config import config
from codegen.fake.fake import fake_mode
from codegen.fake.twins import to_fake

HALF = (torch.bfloat16, torch.float16)


def numbers(*shape: int, positive: bool = False) -> torch.Tensor:
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    return numbers.abs() if positive else numbers


def batch_norm(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x, mean, var, training=True, momentum=0.5)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "xlogy": (torch.xlogy, (numbers(40, 30), numbers(40, 30, positive=True))),
    "xlogy of zeros": (torch.xlogy, (torch.zeros(4), torch.tensor([0.0, 1.0, -1.0, torch.nan]))),
    "xlog1py": (torch.special.xlog1py, (numbers(40, 30), numbers(30, positive=True))),
    "log_softmax of rows": (lambda x: x.log_softmax(-1), (5 * numbers(40, 30),)),
    "log_softmax of columns": (lambda x: x.log_softmax(0), (5 * numbers(40, 30),)),
    "log_softmax of a vector": (lambda x: x.log_softmax(0), (5 * numbers(30),)),
    "log_softmax of strided rows": (lambda x: x.t().log_softmax(1), (5 * numbers(40, 30),)),
    "nextafter": (torch.nextafter, (numbers(40, 30), numbers(30))),
    "batch_norm": (batch_norm, (numbers(8, 6, 4, 4), numbers(6), numbers(6, positive=True))),
    "batch_norm of few": (batch_norm, (numbers(3, 6, 1), numbers(6), numbers(6, positive=True))),
    **{
        f"addr {alpha} {beta} {shape}": (
            lambda base, x, y, a=alpha, b=beta: torch.addr(base, x, y, alpha=a, beta=b),
            (numbers(*shape), numbers(40), numbers(30)),
        )
        for alpha, beta in ((1, 1), (0.2, 0.6), (2, 0))
        for shape in ((), (30,), (40, 1), (40, 30))
    },
}


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rounding(name: str, dtype: torch.dtype) -> None:
    program, wide = PROGRAMS[name]
    arguments, twins = ([tensor.to(dtype) for tensor in wide] for _ in range(2))
    expected = program(*arguments)
    with config.patch(raise_on_error=True):
        found = capture.compile(program)(*twins)
    if name.startswith("log_softmax"):  # its float32 sum has another order: the result may round otherwise
        torch.testing.assert_close(found, expected, rtol=torch.finfo(dtype).eps, atol=0)
    else:
        assert torch.equal(found.nan_to_num(7), expected.nan_to_num(7))
    assert found.stride() == expected.stride()
    for twin, argument in zip(twins, arguments, strict=True):
        assert torch.equal(twin.nan_to_num(7), argument.nan_to_num(7))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradient_of_a_loss_that_overflows(reduction: str) -> None:
    """exp(20) is infinite in float16, so eager's gradient is NaN."""

    def gradient(x: torch.Tensor) -> torch.Tensor:
        loss = F.soft_margin_loss(x, torch.ones_like(x), reduction=reduction)
        return torch.autograd.grad(loss.sum(), x)[0]

    x = torch.tensor([-20.0, 0.5, 3.0], dtype=torch.float16, requires_grad=True)
    torch.testing.assert_close(capture.compile(gradient)(x), gradient(x), equal_nan=True)
    assert gradient(x)[0].isnan()


def test_batch_norm_in_evaluation_saves_two_tensors() -> None:
    def saved(x: torch.Tensor, mean: torch.Tensor) -> Any:
        return torch.native_batch_norm(x, None, None, mean, mean, False, 0.1, 1e-5)

    arguments = numbers(2, 3).bfloat16(), torch.ones(3, dtype=torch.bfloat16)
    _, mean, deviation = capture.compile(saved)(*arguments)
    assert mean.untyped_storage()._cdata != deviation.untyped_storage()._cdata
    assert mean.shape == saved(*arguments)[1].shape


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_gradient(mode: str, dynamic: bool) -> None:
    def gradient(weight: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        bags = F.embedding_bag(indices, weight, offsets, mode=mode)
        return torch.autograd.grad((bags * bags).sum(), weight)[0]

    weight = numbers(10, 5).bfloat16().requires_grad_()
    for indices in (torch.tensor([1, 3, 3, 9, 0]), torch.tensor([2, 2, 8])):
        arguments = weight, indices, torch.tensor([0, 2])
        with config.patch(raise_on_error=True):
            found = capture.compile(gradient, dynamic=dynamic)(*arguments)
        torch.testing.assert_close(found, gradient(*arguments))


@pytest.mark.parametrize("dtype", [*HALF, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["_embedding_bag", "_embedding_bag_forward_only"])
def test_what_embedding_bag_looks_like(name: str, dtype: torch.dtype) -> None:
    operator, mode = getattr(torch.ops.aten, name), fake_mode()
    scales = numbers(12)[::2]
    for kind, last, padding, scale in [
        (kind, last, padding, scale)
        for kind in (0, 1, 2)
        for last in (False, True)
        for padding in (-1, 3)
        for scale in (None, scales, scales.clone())
        if kind == 0 or scale is None
    ]:
        for weight in (numbers(10, 5), numbers(5, 10).t()):
            bags = torch.tensor([0, 3, 6] if last else [0, 3])
            given = (
                weight.to(dtype),
                torch.arange(6),
                bags,
                False,
                kind,
                False,
                None if scale is None else scale.to(dtype),
                last,
                padding,
            )
            fakes = [to_fake(mode, value) if isinstance(value, torch.Tensor) else value for value in given]
            with mode:
                results = operator(*fakes)
            looks = [
                [(tensor.shape, tensor.stride(), tensor.dtype) for tensor in tensors]
                for tensors in (operator(*given), results)
            ]
            assert looks[0] == looks[1]


NUMBER = 8.396163642458497  # between two numbers of either dtype
BESIDE_NUMBERS = {
    "x + number": lambda x: x + NUMBER,
    "number - x": lambda x: NUMBER - x,
    "x - number": lambda x: x - NUMBER,
    "x * number": lambda x: x * NUMBER,
    "x / number": lambda x: x / NUMBER,
    "number / x": lambda x: NUMBER / x,
    "x // number": lambda x: x // 1.333,
    "x ** number": lambda x: x.abs() ** 1.3961,
    "number ** x": lambda x: 1.396**x,
    "x % number": lambda x: x % 1.333,
    "truncated": lambda x: torch.div(x, 1.333, rounding_mode="trunc"),
    "truncated, of tensors": lambda x: torch.div(x, x.flip(0), rounding_mode="trunc"),
    "x + scalar": lambda x: x + torch.tensor(NUMBER),
    "scalar - x": lambda x: torch.tensor(NUMBER) - x,
    "x * scalar": lambda x: x * torch.tensor(NUMBER),
    "scalar * x": lambda x: torch.tensor(NUMBER) * x,
    "x / scalar": lambda x: x / torch.tensor(NUMBER),
    "scalar / x": lambda x: torch.tensor(NUMBER) / x,
    "x * a wide scalar": lambda x: x * torch.tensor(NUMBER, dtype=torch.float64),
    "loss": lambda x: torch.clamp_min(NUMBER - x, 0),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", BESIDE_NUMBERS)
def test_numbers_are_rounded_where_eager_rounds_them(name: str, dtype: torch.dtype) -> None:
    program = BESIDE_NUMBERS[name]
    x = (torch.randn(2000, generator=torch.Generator().manual_seed(0)) * 5).to(dtype)
    assert torch.equal(capture.compile(program)(x), program(x))


@pytest.mark.parametrize(
    "program", [lambda x: x + x.shape[0], lambda x: x * x.shape[0], lambda x: x - x.shape[0] / 3]
)
def test_sizes_are_rounded_as_numbers_are(program: Callable[[torch.Tensor], torch.Tensor]) -> None:
    captured = capture.compile(program, dynamic=True)
    for count in (1999, 1003):
        x = numbers(count).bfloat16()
        assert torch.equal(captured(x), program(x))
