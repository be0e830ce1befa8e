"""The workspace of products with open sizes is enough for all of them."""

from __future__ import annotations

import pytest

from codegen.llvm.dense.blocking import most_workspace
from codegen.llvm.dense.forms import MatmulForm, Strides
from codegen.llvm.dense.matmul import workspace_bytes
from codegen.llvm.target import LEVELS
from codegen.llvm.types import SIZES

OPEN = Strides(None, None, None)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("rows, columns, inner", [(None, None, None), (None, 70, 300), (5, None, None)])
@pytest.mark.parametrize("level", LEVELS)
def test_the_most(level, rows, columns, inner, dtype):
    target = LEVELS[level]
    form = MatmulForm(dtype, rows, columns, inner, output=OPEN, left=OPEN, right=OPEN)
    fixed, along_inner = most_workspace(form, target)
    sizes = (1, 31, 193, 1000)
    for r in [rows] if rows else sizes:
        for c in [columns] if columns else sizes:
            for k in [inner] if inner else sizes:
                needed = workspace_bytes(form, target, rows=r, columns=c, inner=k)
                assert needed <= (fixed + along_inner * k) * SIZES[form.summed_in], (r, c, k)
