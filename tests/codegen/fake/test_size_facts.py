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
RELATIONS: dict[str, Any] = {
    "eq": sympy.Eq, "ne": sympy.Ne, "lt": sympy.Lt, "le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge,
}  # fmt: skip
COMPARISONS = tuple(RELATIONS)


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
    assert facts.holds(sympy.Gt(HALF, least, evaluate=False)) is not True
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


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        (sympy.Gt(M, N - 3), True),
        (sympy.Ge(M + 3, N), True),
        (sympy.Ne(N - M, 3), True),
        (sympy.Eq(N, M + 3), False),
        (sympy.Le(M, N - 3), False),
        (sympy.Lt(N - 2 * M, 3 - M), True),
        (sympy.Lt(N, M + 2), None),
        (sympy.Lt(N, M), None),
    ],
)
def test_an_order_of_two_sizes_is_a_fact(question, fact):
    facts = Facts(BOUNDS.__getitem__)
    assert facts.learn(sympy.Lt(N, M + 3), True) is None
    assert facts.holds(question) is fact


def test_an_order_and_an_inequality_leave_one_sign():
    facts = Facts(BOUNDS.__getitem__)
    facts.learn(sympy.Le(N, M + 3), True)
    assert facts.holds(sympy.Lt(N, M + 3)) is None
    facts.learn(sympy.Eq(N, M + 3), False)
    assert facts.holds(sympy.Lt(N, M + 3)) is True


def test_bounds_that_follow():
    facts = Facts(BOUNDS.__getitem__)
    assert facts.learn(sympy.Lt(2, FREE), True) == (FREE, 3, None)
    assert facts.learn(sympy.Gt(FREE, 9), False) == (FREE, 3, 9)
    assert facts.learn(sympy.Ge(5 - FREE, -3), True) == (FREE, 3, 8)
    assert facts.learn(sympy.Ne(FREE, 8), True) == (FREE, 3, 7)
    assert facts.decide("lt", FREE + M, sympy.Integer(17)) is True
    assert facts.decide("lt", FREE + M, sympy.Integer(16)) is None


def _numbers(rng: random.Random) -> Any:
    terms = [sympy.Integer(1), N, M, N * M, N**2, FloorDiv(N, 2)]
    return sympy.Add(*(rng.choice((-3, -1, 1, 2, 4)) * rng.choice(terms) for _ in range(rng.randint(1, 3))))


def _at(number: Any, n: int, m: int) -> int:
    return int(number.xreplace({N: sympy.Integer(n), M: sympy.Integer(m)}))


def test_what_follows_from_guards_holds_for_each_size():
    rng = random.Random(0)
    values = list(itertools.product(range(2, 12), range(2, 10)))
    decided = 0
    for _ in range(150):
        facts, learned = Facts(BOUNDS.__getitem__), []
        hint = rng.choice(values)
        for _ in range(4):
            comparison = rng.choice(COMPARISONS)
            sides = _numbers(rng), rng.choice((_numbers(rng), sympy.Integer(rng.randint(-9, 30))))
            relation = RELATIONS[comparison](*sides, evaluate=False)
            holds = getattr(operator, comparison)(*(_at(side, *hint) for side in sides))
            facts.learn(relation, holds)
            learned.append((comparison, sides, holds))
        possible = [
            at
            for at in values
            if all(getattr(operator, c)(*(_at(s, *at) for s in sides)) is h for c, sides, h in learned)
        ]
        for comparison in COMPARISONS:
            for sides in [(_numbers(rng), _numbers(rng)), *(pair for _, pair, _ in learned)]:
                fact = facts.decide(comparison, *sides)
                decided += fact is not None
                for at in possible if fact is not None else ():
                    found = getattr(operator, comparison)(*(_at(side, *at) for side in sides))
                    assert found is fact, (learned, comparison, sides, at)
    assert decided > 1000


def test_facts_hold_for_each_size():
    rng = random.Random(0)
    values = list(itertools.product(range(2, 12), range(2, 10)))
    decided = 0
    for _ in range(400):
        left, right = _numbers(rng), _numbers(rng)
        for comparison in COMPARISONS:
            fact = decide(comparison, left, right)
            if fact is None:
                continue
            decided += 1
            for n, m in values:
                sides = _at(left, n, m), _at(right, n, m)
                assert getattr(operator, comparison)(*sides) is fact, (comparison, left, right, n, m)
    assert decided > 300
