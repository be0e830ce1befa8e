"""Rewritten matrix products: products without elements, batched products with a base."""

from __future__ import annotations

import pytest
import torch

from tests.codegen.lowering_check import calls, check

PRODUCTS = {
    "mm of nothing": (lambda a, b: a @ b, (3, 0), (0, 4)),
    "mm without rows": (lambda a, b: a @ b, (0, 5), (5, 4)),
    "bmm of nothing": (torch.bmm, (2, 3, 0), (2, 0, 4)),
    "addmm of nothing": (lambda a, b: torch.addmm(torch.ones(4), a, b, beta=0.5), (3, 0), (0, 4)),
    "addmm of nothing, no base": (lambda a, b: torch.addmm(torch.full((4,), torch.nan), a, b, beta=0), (3, 0),
                                  (0, 4)),
    "baddbmm": (lambda a, b: torch.baddbmm(torch.ones(1), a, b), (2, 3, 5), (2, 5, 4)),
    "baddbmm scaled": (lambda a, b: torch.baddbmm(a, a, b, beta=0.5, alpha=2), (2, 3, 3), (2, 3, 3)),
    "baddbmm without the base": (lambda a, b: torch.baddbmm(torch.full((4,), torch.nan), a, b, beta=0),
                                 (2, 3, 5), (2, 5, 4)),
    "addbmm": (lambda a, b: torch.addbmm(a[0], a, b, beta=0.5, alpha=2), (2, 3, 3), (2, 3, 3)),
    "addbmm of a row": (lambda a, b: torch.addbmm(b[0, 0], a, b), (2, 3, 5), (2, 5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    fn, *shapes = PRODUCTS[name]
    program = check(fn, *(torch.randn(shape) for shape in shapes), no_calls=False)
    assert set(calls(program)) <= {torch.ops.aten.mm.default, torch.ops.aten.bmm.default}
