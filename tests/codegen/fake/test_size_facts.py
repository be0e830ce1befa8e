"""What holds for all sizes: no comparison is decided that another size decides otherwise."""

from __future__ import annotations

import itertools
import operator
import random
from typing import Any

import pytest
import sympy
from torch.utils._sympy.functions import FloorDiv, IntTrueDiv, Max

from codegen.fake.size_facts import Facts

N, M, FREE = sympy.symbols("n m free", integer=True)
BOUNDS = {
    N: (2, None),
    M: (2, 9),
    FREE: (None, None),
    FloorDiv(N, 2): (1, None),
    Max(3, N): (3, None),
    Max(1, FREE): (1, None),
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def decide(comparison: str, left: Any, right: Any) -> bool | None:
    return Facts(BOUNDS.__getitem__).decide(comparison, sympy.sympify(left), sympy.sympify(right))


@pytest.mark.parametrize(
    ("comparison", "left", "right", "fact"),
    [
        ("eq", N * 4, N * 4, True),
        ("eq", 4 * N * M, M * N * 4, True),
        ("ne", N * 8, 8, True),
        ("gt", N, 1, True),
        ("gt", N, 2, None),
        ("ge", N * M - N, 2, True),
        ("lt", FREE, FREE + 1, True),
        ("eq", FREE, 3, None),
        ("gt", M, 9, False),
        ("le", M, 8, None),
        ("eq", N, M, None),
        ("le", 1, FloorDiv(N, 2), True),
        ("eq", FloorDiv(N, 2) * 3, FloorDiv(N, 2) * 3 + 1, False),
        ("lt", N**2, N, False),
        ("eq", 4 * Max(1, N) * Max(1, FloorDiv(N, 2)), 4 * N * FloorDiv(N, 2), True),
        ("eq", Max(3, N), N, None),
        ("eq", Max(1, FREE), FREE, None),
    ],
)
def test_facts(comparison, left, right, fact):
    assert decide(comparison, left, right) is fact


HALF = FloorDiv(N, 2)


@pytest.mark.parametrize(
    ("relation", "holds", "least"),
    [
        (sympy.Ne(HALF, 1), True, 2),
        (sympy.Eq(HALF, 1), False, 2),
        (sympy.Eq(HALF, 2), False, 1),
        (sympy.Eq(HALF, 5), True, 5),
        (sympy.Gt(HALF, 3), True, 4),
        (sympy.Gt(HALF, 3), False, 1),
        (sympy.Lt(HALF, 4), False, 4),
        (sympy.Le(7, HALF), True, 7),
        (sympy.Ge(1 - HALF, -2), True, 1),
        (sympy.Ge(1 - HALF, -2), False, 4),
        (sympy.Ne(2 * HALF, 2), True, 1),
        (sympy.Gt(HALF + M, 4), True, 1),
    ],
)
def test_what_has_a_guard_is_a_fact(relation, holds, least):
    facts = Facts(BOUNDS.__getitem__)
    facts.learn(relation, holds)
    assert facts.holds(sympy.Ge(HALF, least, evaluate=False)) is True
    assert facts.holds(sympy.Gt(HALF, least, evaluate=False)) is None
    assert facts.holds(sympy.Ge(HALF * M - M, 2 * least - 2, evaluate=False)) is True
    assert facts.holds(relation if holds else sympy.Not(relation)) in (True, None)


def test_numbers_that_are_no_ints_are_left_to_sympy():
    """`n / 2 > 1` does not say that it is 2."""
    for number in (IntTrueDiv(N, 2), sympy.Symbol("x", real=True)):
        facts = Facts(lambda atom: BOUNDS.get(atom, (None, None)))
        facts.learn(sympy.Gt(number, 1, evaluate=False), True)
        assert facts.decide("ge", number, sympy.Integer(2)) is None
        assert facts.holds(sympy.Ge(number, number + 1, evaluate=False)) is None


@pytest.mark.parametrize(
    ("left", "right", "quotient"),
    [
        (96 * N + 96, 4 * N + 4, 24),
        ((N + 1) * (M - 2) * 6, 2 * N + 2, 3 * M - 6),
        (N**2 - M**2, N + M, N - M),
        (N * M, M, N),
        (N * M + 1, M, None),
        (3 * N + 3, 2 * N + 2, None),
        (N, N + M, None),
        (N - 2, N - 2, None),  # which can be 0
    ],
)
def test_quotients(left, right, quotient):
    found = Facts(BOUNDS.__getitem__).quotient(*(sympy.expand(side) for side in (left, right)))
    assert found == quotient if quotient is not None else found is None


def test_facts_hold_for_each_size():
    rng = random.Random(0)
    terms = [sympy.Integer(1), N, M, N * M, N**2, FloorDiv(N, 2)]
    values = list(itertools.product(range(2, 12), range(2, 10)))
    decided = 0
    for _ in range(400):
        left, right = (
            sympy.Add(*(rng.choice((-3, -1, 1, 2, 4)) * rng.choice(terms) for _ in range(rng.randint(1, 3))))
            for _ in range(2)
        )
        for comparison in COMPARISONS:
            fact = decide(comparison, left, right)
            if fact is None:
                continue
            decided += 1
            for n, m in values:
                sides = (
                    int(side.xreplace({N: sympy.Integer(n), M: sympy.Integer(m)})) for side in (left, right)
                )
                assert getattr(operator, comparison)(*sides) is fact, (comparison, left, right, n, m)
    assert decided > 300
