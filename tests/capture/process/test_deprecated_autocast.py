"""Deprecated functions of autocast warn at each call, in captured code too."""

from __future__ import annotations

import operator
import warnings

import pytest
import torch
from torch.utils._pytree import tree_leaves

import capture


def reads_enabled(x):
    return x + 1 if torch.is_autocast_cpu_enabled() else x * 2


def reads_dtype(x):
    return x * 2, torch.get_autocast_cpu_dtype()


def sets_enabled(x):
    before = torch.is_autocast_enabled("cpu")
    torch.set_autocast_cpu_enabled(True)
    y = x @ x
    torch.set_autocast_cpu_enabled(before)
    return y


def outcome(program):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = program(torch.ones(3, 3))
    return [str(warning.message) for warning in warned], result


@pytest.mark.parametrize("program", [reads_enabled, reads_dtype, sets_enabled])
def test_each_call_warns_as_in_eager(program):
    captured = capture.compile(program, backend="eager")
    for _ in range(3):
        expected, found = outcome(program), outcome(captured)
        assert found[0] == expected[0] and expected[0]
        same = map(operator.eq, tree_leaves(found[1]), tree_leaves(expected[1]))
        assert all(bool(torch.as_tensor(equal).all()) for equal in same)
    assert not torch.is_autocast_enabled("cpu")
