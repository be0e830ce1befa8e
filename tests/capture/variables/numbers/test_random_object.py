"""Generators of `random.Random`: the numbers and the later states are those of eager."""

from __future__ import annotations

import random

import pytest
import torch

import capture

x = torch.ones(3)


def three_streams(x, one, two, three):
    made = random.Random(42)
    return x + random.randint(1, 9) + one.randint(1, 9) + made.randint(1, 9), one, made


def seeded_and_set(x, one, two, three):
    one.seed(42)
    made = random.Random(9002)
    two.setstate(made.getstate())
    return x + one.random() + two.randint(1, 10) + three.randrange(10) + made.uniform(0, 1)


def every_method(x, one, two, three):
    one.seed("text")
    items = [1, 2, 3, 4, 5]
    one.shuffle(items)
    drawn = [
        one.choice(items),
        one.sample(range(10), 3),
        one.choices([1, 2], k=2),
        one.gauss(0, 1),
        one.gauss(0, 1),
    ]
    drawn += [
        one.expovariate(1),
        one.triangular(),
        one.getrandbits(5),
        one.randbytes(3),
        one.random(),
        one.gauss(),
    ]
    return x + 1, items, drawn


def choice_of_tensors(x, one, two, three):
    return random.Random(3).choice([x, x + 1, x * 2])


def interleaved(x, one, two, three):
    return x * one.random() + random.random() * two.random() - one.randint(1, 5) + random.uniform(a=0, b=1)


def half_used(x, one, two, three):
    made = random.Random(3)
    made.gauss(0, 1)
    return x + 1, made


CAPTURED = [three_streams, seeded_and_set, every_method, choice_of_tensors, interleaved, half_used]


def with_a_break(x, one, two, three):
    y = x * one.random()
    two.seed(3)
    y = y + two.random()
    print("broken")
    return y + one.random() + two.random()


def others_choose(x, one, two, three):
    return x * one.choice([1, 2, 3]) + one.random()


def seeded_by_the_system(x, one, two, three):
    one.seed()
    return x + (one.random() < 2)


def of_the_module(x, one, two, three):
    random._inst.seed(3)
    return x + random.random()


def raises_in_the_graph(x, one, two, three):
    try:
        return torch.index_select(x, 0, torch.full((1,), 7)) * one.random()
    except IndexError:
        return x


BROKEN = [with_a_break, others_choose, of_the_module, raises_in_the_graph]


def outcome(function):
    random.seed(0)
    generators = [random.Random(seed) for seed in (12, 13, 14)]
    value = function(x, *generators)
    made = [part for part in value if isinstance(part, random.Random)] if isinstance(value, tuple) else []
    states = [generator.getstate() for generator in (*generators, *made)]
    plain = (
        [part for part in value if not isinstance(part, random.Random)] if isinstance(value, tuple) else value
    )
    return plain, states, random.getstate()


def check(function, compiled):
    for _ in range(2):
        (value, *states), (expected, *expected_states) = outcome(compiled), outcome(function)
        torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-6)
        assert states == expected_states


@pytest.mark.parametrize("function", CAPTURED, ids=lambda function: function.__name__)
def test_numbers_and_states_of_whole_graphs(function):
    check(function, capture.compile(function, backend="eager", fullgraph=True))


@pytest.mark.parametrize("function", BROKEN, ids=lambda function: function.__name__)
def test_numbers_and_states_around_breaks(function):
    check(function, capture.compile(function, backend="eager"))


def test_seeds_of_the_system_are_left_to_python():
    with pytest.raises(capture.Unsupported):
        capture.compile(seeded_by_the_system, fullgraph=True)(x, random.Random(1), None, None)


def test_generators_with_methods_of_their_own_are_left_to_python():
    one = random.Random(1)
    one.random = lambda: 0.25
    compiled = capture.compile(lambda x, one: x * one.random(), backend="eager")
    plain, expected = random.Random(2), random.Random(2)
    assert torch.equal(compiled(x, plain), x * torch.tensor(expected.random(), dtype=torch.float64).item())
    assert torch.equal(compiled(x, one), x * 0.25)
