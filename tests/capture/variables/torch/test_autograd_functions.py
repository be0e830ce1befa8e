"""Gradients through captured custom autograd functions, and of leaves that get other data.

Each case runs with a backward from its results.
"""

from __future__ import annotations

import pytest
import torch
from torch.utils import _pytree as pytree

import capture
from tests.capture.cases.registry import CASES, Case
from tests.capture.cases.tensors import tensor_data
from tests.capture.cases.torch import autograd_functions

MODULES = (autograd_functions.__name__, tensor_data.__name__)


def recorded(args, function):
    results = pytree.tree_leaves(function(*args))
    return [t for t in results if isinstance(t, torch.Tensor) and t.requires_grad]


def gradients(case: Case, function):
    args = case.args()
    sum((t * t).sum() for t in recorded(args, function)).backward()
    return [t.grad for t in args]


OF_FUNCTIONS = [
    case
    for case in CASES
    if case.function.__module__ == autograd_functions.__name__ and recorded(case.args(), case.function)
]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("case", OF_FUNCTIONS, ids=lambda case: case.function.__name__)
def test_gradients(case, backend):
    expected = gradients(case, case.function)
    assert any(grad is not None for grad in expected)
    captured = capture.compile(case.function, backend=backend)
    for _ in range(2):
        for grad, wanted in zip(gradients(case, captured), expected, strict=True):
            torch.testing.assert_close(grad, wanted)
    capture.reset()
