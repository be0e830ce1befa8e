"""Constants by hypothesis: the native comparison, the Python twin and the hashable identity agree."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guards.guard import GuardError
from guards.guard_set import GuardSet
from guards.kinds.constants import ConstantGuard
from guards.program import encode
from guards.values import constant_identity, constants_equal, is_constant
from tests.guards.world import World, X

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(), st.integers(-(2**200), 2**200), st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, math.nan]),
    st.text(max_size=3), st.binary(max_size=3), st.complex_numbers(), st.just(...),
    st.sampled_from([torch.float32, torch.int64, torch.strided]),
    st.sampled_from([torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1),
                     torch.device("cuda")]),
)  # fmt: skip
constants = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.frozensets(scalars, max_size=3),
        st.builds(slice, inner, inner),
        st.lists(st.integers(0, 3), max_size=3).map(torch.Size),
        st.builds(range, st.integers(-3, 3), st.integers(-3, 3)),
    ),
    max_leaves=5,
)  # fmt: skip


def native_equal(expected: Any, actual: Any) -> bool:
    world = World({"x": actual})
    program = encode(GuardSet([ConstantGuard.of(X, expected)]), [], world.function.__code__)
    return bool(program.check(*world.arguments)[0] == -1)


def rebuilt(value: Any) -> Any:
    """An equal constant made of other objects, if that is possible."""
    if type(value) in (tuple, torch.Size, frozenset):
        return type(value)([rebuilt(item) for item in value])
    if type(value) is slice:
        return slice(rebuilt(value.start), rebuilt(value.stop), rebuilt(value.step))
    if type(value) is float:
        return struct.unpack("d", struct.pack("d", value))[0]
    if type(value) in (int, str, bytes):
        return {int: lambda v: int(str(v)), str: lambda v: "".join(list(v)), bytes: lambda v: bytes(list(v))}[
            type(value)
        ](value)
    return value


@settings(max_examples=300, deadline=None)
@given(constants)
def test_equals_its_copy(value: Any) -> None:
    copy = rebuilt(value)
    assert native_equal(value, copy)
    assert constants_equal(value, copy)
    assert constant_identity(value) == constant_identity(copy)


@settings(max_examples=300, deadline=None)
@given(constants, constants)
def test_programs_agree(a: Any, b: Any) -> None:
    assert native_equal(a, b) == constants_equal(a, b) == (constant_identity(a) == constant_identity(b))


ALL_DIFFERENT: list[Any] = [
    1, True, 1.0, 0, False, 0.0, -0.0, 1 + 0j, complex(0.0, -0.0), complex(0.0, 0.0), "1", b"1", None, ...,
    (1,), (1.0,), (True,), ((1,),), torch.Size([1]),
    frozenset({1}), frozenset({True}), frozenset({1.0}), math.nan, -math.nan, math.inf, 2**64, -(2**64),
    2**64 + 1, 2**30, -(2**30), slice(1), slice(1, None, 1),
    range(1), range(0), torch.float32, torch.float64, torch.strided, torch.contiguous_format,
    torch.device("cpu"), torch.device("cuda"), torch.device("cuda", 0), "é", "e", "",
    b"", (), NotImplemented,
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(ALL_DIFFERENT)), ids=lambda i: f"{i}:{ALL_DIFFERENT[i]!r}")
def test_all_different(index: int) -> None:
    expected = ALL_DIFFERENT[index]
    assert [i for i, value in enumerate(ALL_DIFFERENT) if native_equal(expected, value)] == [index]
    assert [i for i, value in enumerate(ALL_DIFFERENT) if constants_equal(expected, value)] == [index]


class IntSubclass(int):
    pass


@pytest.mark.parametrize(
    "value",
    [[1], {}, object(), IntSubclass(3), ([],), frozenset({(object(),)}), torch.ones(1)],
    ids=["list", "dict", "object", "int_subclass", "list_in_tuple", "object_in_set", "tensor"],
)
def test_no_constant(value: Any) -> None:
    assert not is_constant(value)
    with pytest.raises(GuardError, match="no constant"):
        ConstantGuard.of(X, value)
