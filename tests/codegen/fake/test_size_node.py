"""Numbers of an environment: an operation on the same numbers is computed once."""

from __future__ import annotations

import math

import pytest
import torch
from torch.fx.experimental.sym_node import SymNode

from codegen.fake import size_node
from codegen.fake.size_env import SizeEnv, new_size_env
from codegen.kernel.errors import NotSymbolic


def sizes(env: SizeEnv, *values: int) -> list[torch.SymInt]:
    made = [env.new_size(value, f"x{i}", duck=False) for i, value in enumerate(values)]
    return [number for number in made if isinstance(number, torch.SymInt)]


def test_equal_operations_give_one_number(monkeypatch):
    env = new_size_env()
    (n,) = sizes(env, 5)
    first = n * 8 + 1
    monkeypatch.setattr(SymNode, "_mul", None)  # computes products
    monkeypatch.setattr(SymNode, "_add", None)
    assert (n * 8 + 1).node is first.node


def test_a_guarded_answer_has_one_guard():
    env = new_size_env()
    n, m = sizes(env, 5, 7)
    assert n < m and n < m and not n * 2 == m
    assert [str(guard.expr) for guard in env.guards] == ["s0 < s1", "Ne(2*s0, s1)"]


def test_a_number_of_too_many_terms_is_refused(monkeypatch):
    monkeypatch.setattr(size_node, "MOST_TERMS", 20)
    env = new_size_env()
    n, m = sizes(env, 5, 7)
    number = n + m // 2
    with pytest.raises(NotSymbolic, match="more than 20 terms"):
        for divisor in range(3, 9):
            number = number + (number + divisor) // divisor
    assert number == 5 + 3 + (5 + 3 + 3) // 3


def test_what_the_environment_learns_changes_later_results():
    env = new_size_env()
    n, m = sizes(env, 5, 5)
    before = n * m
    assert n == m
    assert str((n * m).node.expr) == str(before.node.expr) == "s0**2"
    assert n * 3 == 15
    assert (n * m).node.expr == 25 and int(n + m) == 10


def test_zeros_of_both_signs_are_different_numbers():
    env = new_size_env()
    number = env.new_opaque(2.0)
    signs = [math.copysign(1.0, float((number * zero).node.hint)) for zero in (0.0, -0.0, 0.0)]
    assert signs == [1.0, -1.0, 1.0]


def test_an_answer_without_a_guard_is_not_kept():
    env = new_size_env()
    (n,) = sizes(env, 5)
    with env.suppress_guards():
        assert n > 3
    assert env.guards == []
    assert n > 3
    assert len(env.guards) == 1


def test_unbacked_numbers_are_asked_again():
    env = new_size_env(unbacked_scalars=True)
    n = env.new_unbacked(int)
    for _ in range(2):
        assert torch.fx.experimental.symbolic_shapes.guard_or_true(n > 3)
        assert len(env.assumptions) == 1  # the operations before have taken theirs
        env.assumptions = {}
