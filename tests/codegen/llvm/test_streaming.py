"""Kernels that only read memory use registers of half the width."""

from __future__ import annotations

import pytest
import torch

import capture
from codegen.llvm import Target, emit
from codegen.llvm.math import SLEEF
from codegen.llvm.streaming import CYCLES
from codegen.ops import OPS
from tests.codegen.lowering_check import kernels, lowered

LARGE, SMALL = torch.zeros(4096, 1024), torch.zeros(64, 1024)


@pytest.mark.parametrize(
    ("function", "x", "bits"),
    [
        (lambda x: x.sum(1), LARGE, 256),
        (lambda x: x.sum(0), LARGE, 256),
        (lambda x: x.amax(1), LARGE, 256),
        (lambda x: x.norm(), LARGE, 256),
        (lambda x: x.sum(1), SMALL, 512),
        (lambda x: x.exp().sum(1), LARGE, 512),
        (lambda x: x.argmax(1), LARGE, 512),
        (lambda x: x + 1, LARGE, 512),
    ],
)
def test_width(function, x, bits):
    (kernel, *_) = kernels(lowered(function, x)[0])
    text = emit(kernel, Target.level("x86-64-v4"))
    assert f'"prefer-vector-width"="{bits}"' in text
    assert f'"min-legal-vector-width"="{bits}"' in text
    assert '"prefer-vector-width"="128"' in emit(kernel, Target.level("x86-64"))


def test_values():
    x = torch.randn(4096, 1027)
    for function in (lambda x: x.sum(1), lambda x: x.sum(0), lambda x: x.amax(1), lambda x: x.norm()):
        torch.testing.assert_close(capture.compile(function)(x), function(x), rtol=1e-4, atol=1e-3)


def test_no_library_function_is_called_with_narrower_registers():
    """Their arguments come in whole registers."""
    assert all(OPS[name].cost > CYCLES for name in SLEEF)
