"""The table of scalar operations agrees with itself: types, arities, references."""

from __future__ import annotations

import pytest
import torch

from codegen.kernel.ops import IR_DTYPES, OPS, TORCH_DTYPES, reference, result_dtype

CASES = [(spec, dtype) for spec in OPS.values() for dtype in sorted(spec.domain)]


@pytest.mark.parametrize(
    ("spec", "dtype"), CASES, ids=lambda value: value if isinstance(value, str) else value.name
)
def test_reference_gives_the_type_of_the_rule(spec, dtype):
    value = torch.tensor([0, 1], dtype=TORCH_DTYPES[dtype])
    args, dtypes = [value] * spec.arity, [dtype] * spec.arity
    if spec.result == "second":
        args[0], dtypes[0] = torch.tensor([True, False]), "b8"
    result = reference(spec.name, args, "f32")
    assert IR_DTYPES[result.dtype] == result_dtype(spec.name, tuple(dtypes), "f32")


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("add", ("f32",), "takes 2 arguments"),
        ("add", ("f32", "f64"), "does not take"),
        ("add", ("bf16", "bf16"), "does not take"),
        ("exp", ("i64",), "does not take"),
        ("where", ("i64", "f32", "f32"), "expected b8"),
        ("frobnicate", (), "unknown operation"),
    ],
)
def test_wrong_types_are_named(name, args, text):
    with pytest.raises(ValueError, match=text):
        result_dtype(name, args, "f32")


def test_integer_division_never_traps():
    low = torch.iinfo(torch.int64).min
    left, right = torch.tensor([7, -7, 5, low]), torch.tensor([2, 2, 0, -1])
    assert reference("truncdiv", [left, right], "i64").tolist() == [3, -3, 0, low]
    assert reference("floordiv", [left, right], "i64").tolist() == [3, -4, 0, low]
    assert reference("rem", [left, right], "i64").tolist() == [1, -1, 0, 0]
    assert reference("mod", [left, right], "i64").tolist() == [1, 1, 0, 0]
