"""torch's rules in Python run without torch._dynamo and sympy, and compute what they did."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch._prims_common
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KINDS

from codegen.fake.rules_of_torch import NoSympy, importing, prepare_rules_of_torch

prepare_rules_of_torch()
promote = torch._prims_common.elementwise_dtypes
original: Any = promote.__wrapped__  # type: ignore[attr-defined]

CALLS = """
import sys, torch, capture
import torch.nn.functional as F
capture.config.disk_cache = False
x = torch.randn(4, 8, requires_grad=True)
y = torch.rand(4, 8)
image = torch.randn(2, 8, 6, 6, requires_grad=True)

def program(x, y, image):
    z = F.elu(x) + F.hardswish(x) + F.hardsigmoid(x) + F.relu6(x) + F.softplus(x) + F.mish(x) + F.celu(x)
    losses = F.huber_loss(z, y) + F.smooth_l1_loss(z, y) + F.binary_cross_entropy_with_logits(z, y)
    losses = losses + F.kl_div(z.log_softmax(1), y, reduction="batchmean") + (z @ y[0]).logsumexp(0)
    normed = F.group_norm(F.batch_norm(image, None, None, training=True), 2)
    return losses + F.interpolate(normed, scale_factor=2, mode="bilinear").sum()

compiled = capture.compile(program, fullgraph=True)
compiled(x, y, image).backward()
print([name for name in ("sympy", "torch._dynamo") if name in sys.modules])
"""


def test_captures_import_neither() -> None:
    done = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


VALUES = [torch.ones(2), torch.ones((), dtype=torch.float64), torch.ones(2, dtype=torch.int32)]
VALUES += [torch.ones(2, dtype=torch.bfloat16), torch.ones((), dtype=torch.complex64), True, 2, 1.5, 2j, None]


@pytest.mark.parametrize("kind", list(KINDS))
def test_promotes_as_torch_does(kind: Any) -> None:
    for pair in itertools.product(VALUES, repeat=2):
        if pair != (None, None):
            assert promote(*pair, type_promotion_kind=kind) == original(*pair, type_promotion_kind=kind)


def test_numbers_of_sympy_are_promoted() -> None:
    sympy = pytest.importorskip("sympy")
    number = sympy.Symbol("n", integer=True)
    assert promote(number, 1.5, type_promotion_kind=KINDS.DEFAULT) == (torch.float32, torch.float32)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="Unexpected type"):
        promote("text", type_promotion_kind=KINDS.DEFAULT)


def test_only_modules_that_are_not_loaded_have_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    def asks() -> Any:
        import sympy

        return sympy

    copy = importing(asks, {"sympy": NoSympy})
    monkeypatch.delitem(sys.modules, "sympy", raising=False)
    assert copy() is NoSympy
    loaded = type(sys)("sympy")
    monkeypatch.setitem(sys.modules, "sympy", loaded)
    assert copy() is loaded
