"""The cheapest cut, against all cuts of small graphs."""

from __future__ import annotations

import itertools
import random

import pytest

from codegen.autograd.minimum_cut import minimum_cut

Edges = list[tuple[int, int, int | None]]


def cost(edges: Edges, reached: set[int]) -> int | None:
    """The cost of the edges that lead out; None if one of them can't be cut."""
    out = [capacity for start, end, capacity in edges if start in reached and end not in reached]
    return None if None in out else sum(c for c in out if c is not None)


def cheapest(edges: Edges, count: int) -> int | None:
    inner = range(1, count - 1)
    sets = itertools.chain.from_iterable(itertools.combinations(inner, n) for n in range(count))
    costs = [cost(edges, {0, *chosen}) for chosen in sets]
    return min((c for c in costs if c is not None), default=None)


@pytest.mark.parametrize("seed", range(150))
def test_random_graphs(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randint(2, 8)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    edges: Edges = [
        (a, b, draw.choice([None, 0, 1, 5, 100]))
        for a, b in draw.sample(pairs, draw.randint(1, min(20, len(pairs))))
    ]
    expected = cheapest(edges, count)
    if expected is None:
        with pytest.raises(ValueError, match="can't be separated"):
            minimum_cut(edges, 0, count - 1)
    else:
        reached = minimum_cut(edges, 0, count - 1)
        assert 0 in reached and count - 1 not in reached
        assert cost(edges, reached) == expected  # type: ignore[arg-type]


def test_long_ways() -> None:
    edges: Edges = [(i, i + 1, 2 + i % 7) for i in range(5000)]
    assert minimum_cut(edges, 0, 5000) == {0}


def test_nothing_to_cut() -> None:
    assert minimum_cut([], 0, 1) == {0}
