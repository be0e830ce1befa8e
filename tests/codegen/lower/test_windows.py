"""unfold and fold, against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.codegen.lowering_check import check

UNFOLDING = {
    "plain": {"kernel_size": 2},
    "of two sizes": {"kernel_size": (2, 3)},
    "apart": {"kernel_size": 2, "stride": 2},
    "padded": {"kernel_size": 3, "padding": 1},
    "wide": {"kernel_size": 2, "dilation": 2, "stride": (1, 2)},
    "all of it": {"kernel_size": (3, 2), "dilation": (1, 2), "padding": (2, 1), "stride": (2, 1)},
}
FOLDING = {
    "plain": {"kernel_size": 2},
    "apart": {"kernel_size": 2, "stride": 2},
    "apart, of two sizes": {"kernel_size": (2, 3), "stride": (2, 3)},
    "padded": {"kernel_size": 3, "padding": 1},
    "wide": {"kernel_size": (3, 2), "dilation": 2, "padding": (1, 2)},
}


@pytest.mark.parametrize("name", UNFOLDING)
@pytest.mark.parametrize("shape", [(2, 3, 6, 7), (3, 6, 7)])
def test_unfold(name: str, shape: tuple[int, ...]) -> None:
    check(lambda x: F.unfold(x, **UNFOLDING[name]), torch.randn(shape), exact=True)
    check(lambda x: F.unfold(x + 1, **UNFOLDING[name]) * 2, torch.randn(shape))


@pytest.mark.parametrize("name", FOLDING)
@pytest.mark.parametrize("lead", [(2,), ()])
def test_fold(name: str, lead: tuple[int, ...]) -> None:
    columns = F.unfold(torch.randn(*lead, 3, 6, 7), **FOLDING[name])
    check(lambda x: F.fold(x, (6, 7), **FOLDING[name]), torch.randn(columns.shape))
    check(lambda x: F.fold(x.exp(), (6, 7), **FOLDING[name]).relu(), torch.randn(columns.shape))


def test_windows_that_overlap_by_steps_are_left_to_the_operator() -> None:
    settings = {"kernel_size": 3, "stride": 2}
    columns = F.unfold(torch.randn(1, 2, 7, 7), **settings)
    check(lambda x: F.fold(x, (7, 7), **settings), torch.randn(columns.shape), no_calls=False)


def test_half_is_rounded_at_each_addition() -> None:
    x = torch.randn(1, 18, 25).bfloat16()
    check(lambda x: F.fold(x, (5, 5), 3, padding=1), x, no_calls=False, exact=True)
    check(lambda x: F.unfold(F.fold(x[:, :16], (10, 10), 2, stride=2), 2), x, exact=True)
