"""Fusions that would compute the same again and again: their values are stored, the work stays linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from codegen.kernel.arithmetic import cycles_of
from codegen.passes.group import multiplied
from tests.codegen.lowering_check import check, kernels


def randn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def norms(x: Tensor, weight: Tensor, count: int = 8) -> Tensor:
    for _ in range(count):
        x = F.layer_norm(x, (64,), weight).tanh() + x
    return x


def softmaxes(x: Tensor) -> Tensor:
    for _ in range(10):
        x = torch.softmax(x.sin() * 2, 1)
    return x


def padded_twice(x: Tensor) -> Tensor:
    """The sum over the rows reads everything, so that the padding can't be cut into pieces."""
    return F.pad(x.exp().sin(), (0, 200, 0, 90)).sum(0)


CASES: list[tuple[str, Callable[..., Any], Sequence[Tensor]]] = [
    ("a chain of norms", norms, (randn(128, 64), randn(64))),
    ("a chain of softmaxes", softmaxes, (randn(128, 64),)),
    ("a broadcast definition", lambda x, b: x[:, :, None] * b.tanh()[None], (randn(300, 64), randn(64, 32))),
    (
        "rows and columns",
        lambda x, a, b: x * a.exp()[:, None] + b.tanh(),
        (randn(500, 200), randn(500), randn(200)),
    ),
    ("padding", padded_twice, (randn(20, 30),)),
    ("few elements", lambda x, b: x * b.tanh(), (randn(30, 8), randn(8))),
]


@pytest.mark.parametrize(
    ("function", "inputs"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_values(function: Callable[..., Any], inputs: Sequence[Tensor]) -> None:
    check(function, *inputs)  # it verifies the work of each kernel


def cycles(function: Callable[..., Any], *inputs: Tensor) -> int:
    return sum(map(cycles_of, kernels(check(function, *inputs))))


def test_a_chain_of_norms_grows_with_its_length() -> None:
    x, weight = randn(128, 64), randn(64)
    assert cycles(lambda x, w: norms(x, w, 12), x, weight) < 3.5 * cycles(
        lambda x, w: norms(x, w, 4), x, weight
    )


def test_a_chain_of_norms_stays_one_kernel() -> None:
    assert len(kernels(check(norms, randn(128, 64), randn(64)))) == 1


def test_what_is_wrong_without_another_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    x, b = randn(300, 64), randn(64, 32)
    wanted = cycles(CASES[2][1], x, b)
    monkeypatch.setattr(multiplied, "WASTE", 1 << 40)
    assert cycles(CASES[2][1], x, b) > 3 * wanted
