"""Index arithmetic: every simplification against plain integers."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.kernel import index_algebra as ix
from codegen.kernel.index_notation import from_sympy, to_expr
from codegen.kernel.printer import print_expr


def value(index, axes):
    """The value of an index for these positions of the axes."""
    total = 0
    for atoms, coef in ix.terms_of(index).items():
        term = coef
        for atom in atoms:
            if isinstance(atom, ix.Division):
                left, right = value(atom.numerator, axes), value(atom.divisor, axes)
                term *= left // right if atom.operator == "floordiv" else left % right
            else:
                term *= axes[atom]
        total += term
    return total


def positions(extents):
    for point in itertools.product(*(range(extent) for extent in extents.values())):
        yield dict(zip(extents, point))


def flat_index(extents, strides):
    return ix.dot([ix.axis(name) for name in extents], strides)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.lists(st.integers(0, 12), min_size=3, max_size=3),
    st.integers(1, 24),
    st.integers(1, 6),
)
def test_division_agrees_with_integers(sizes, strides, divisor, second):
    extents = {f"i{n}": size for n, size in enumerate(sizes)}
    ranges = ix.Ranges(dict(extents))
    index = flat_index(extents, strides[: len(sizes)])
    quotient, remainder = ix.Ranges.divide(ranges, index, divisor)
    nested = ranges.divide(quotient, second)
    joined = ranges.recombine(ix.plus(ix.times(quotient, divisor), remainder))
    for axes in positions(extents):
        plain = value(index, axes)
        assert value(quotient, axes) == plain // divisor
        assert value(remainder, axes) == plain % divisor
        assert value(nested[0], axes) == plain // divisor // second
        assert value(nested[1], axes) == plain // divisor % second
        assert value(joined, axes) == plain


@settings(max_examples=60, deadline=None)
@given(
    st.permutations([2, 3, 4]),
    st.sampled_from([(4, 6), (6, 4), (24,), (2, 12), (3, 2, 4), (8, 3), (1, 24, 1)]),
)
def test_unflatten_is_the_inverse_of_flatten(shape, other):
    extents = {f"i{n}": size for n, size in enumerate(shape)}
    ranges = ix.Ranges(dict(extents))
    index = flat_index(extents, ix.row_major(tuple(shape)))
    back = ranges.unflatten(index, other)
    for axes in positions(extents):
        where = [value(part, axes) for part in back]
        assert all(0 <= part < size for part, size in zip(where, other))
        assert sum(part * stride for part, stride in zip(where, ix.row_major(other))) == value(index, axes)
    assert ranges.recombine(ix.dot(back, ix.row_major(other))) == index


def test_axes_come_back_whole_from_a_reshape():
    ranges = ix.Ranges({"i": 16, "j": 32})
    flat = flat_index({"i": 16, "j": 32}, (32, 1))
    assert ranges.unflatten(flat, (16, 32)) == (ix.axis("i"), ix.axis("j"))
    assert ranges.unflatten(flat, (16, 4, 8))[0] == ix.axis("i")


def test_symbolic_sizes_divide_out():
    rows, columns = ix.symbol("rows"), ix.symbol("columns")
    ranges = ix.Ranges()
    i, j = ranges.axis("i", rows), ranges.axis("j", columns)
    flat = ix.plus(ix.times(i, columns), j)
    assert ranges.unflatten(flat, (rows, columns)) == (i, j)
    assert ranges.below(flat, ix.times(rows, columns))
    assert not ranges.below(flat, rows)


def test_quotients_of_sizes_divide_out():
    ranges = ix.Ranges()
    half = ix.plus(ranges.floordiv(ix.minus(ix.symbol("s"), 1), 2), 1)  # a convolution of stride 2 gives it
    i, j = ranges.axis("i", half), ranges.axis("j", half)
    flat = ix.plus(ix.times(i, half), j)
    assert ranges.unflatten(flat, (half, half)) == (i, j)
    assert ranges.below(flat, ix.times(half, half))
    assert not ranges.below(flat, half)


@pytest.mark.parametrize("s", [1, 2, 7, 8, 20])
def test_division_by_sums_of_sizes_agrees_with_integers(s):
    ranges = ix.Ranges()
    size, half = ix.symbol("s"), ix.plus(ranges.floordiv(ix.minus(ix.symbol("s"), 1), 2), 1)
    i, j = ranges.axis("i", half), ranges.axis("j", size)
    indices = [ix.plus(ix.times(i, half), j), ix.plus(ix.times(i, size), j), ix.plus(ix.times(j, 3), half), i]
    divisors = [half, size, ix.plus(size, 1), ix.plus(ix.times(half, 2), 3), ix.times(half, size)]
    for index, divisor in itertools.product(indices, divisors):
        quotient, remainder = ranges.divide(index, divisor)
        for axes in itertools.product(range((s - 1) // 2 + 1), range(s)):
            place = dict(zip(("i", "j", "$s"), (*axes, s)))
            expected = divmod(value(index, place), value(divisor, place))
            assert (value(quotient, place), value(remainder, place)) == expected


def test_substitute_simplifies_again():
    ranges = ix.Ranges({"i": 24, "a": 3, "b": 8})
    divided = ranges.floordiv(ix.axis("i"), 8)
    assert ranges.substitute(divided, {"i": ix.plus(ix.times(ix.axis("a"), 8), ix.axis("b"))}) == ix.axis("a")


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (7, "7"),
        (flat_index({"i": 2, "j": 3}, (3, 1)), "i*3 + j"),
        (ix.plus(ix.times(ix.axis("i"), ix.symbol("n")), 4), "i*n + 4"),
        (ix.plus(ix.times(ix.axis("i"), ix.plus(ix.symbol("n"), 2)), ix.symbol("n")), "i*(2 + n) + n"),
        (ix.plus(ix.plus(ix.symbol("m"), ix.symbol("n")), 4), "m + n + 4"),
        (ix.plus(ix.times(-1, ix.axis("i")), 9), "i*-1 + 9"),
        (ix.Ranges({"i": 10}).mod(ix.axis("i"), 3), "i % 3"),
        (ix.indirect(5), "%5"),
    ],
)
def test_text(index, text):
    assert print_expr(to_expr(index)) == text


def test_sizes_of_symbolic_tensors():
    sympy = pytest.importorskip("sympy")
    s = sympy.Symbol("s0", integer=True)
    assert from_sympy(2 * s * s + 3) == ix.plus(ix.times(2, ix.times(ix.symbol("s0"), ix.symbol("s0"))), 3)
    assert from_sympy(sympy.Max(1, s)) == ix.symbol("s0")
    with pytest.raises(NotImplementedError, match="cos"):
        from_sympy(sympy.cos(s))


def test_divisions_of_sizes_are_sizes() -> None:
    half = ix.Ranges().floordiv(ix.plus(ix.symbol("s0"), 1), 2)
    mixed = ix.Ranges().floordiv(ix.plus(ix.axis("i"), ix.symbol("s0")), 2)
    found = {
        atom: ix.is_of_sizes(atom)
        for index in (half, mixed)
        for atoms in ix.terms_of(index)
        for atom in atoms
    }
    assert list(found.values()) == [True, False]
