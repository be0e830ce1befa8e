"""The order of sets, which depends on how they were made."""

from __future__ import annotations

import torch

from tests.capture.cases.registry import case, show

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota")


def existing():
    torch.manual_seed(0)
    return torch.randn(3, 4), {8, 0, 16, 24}, frozenset("abcdefgh"), {"x", "y", "z"}


@case(1, 1)
def after_elements_went(x):
    s = {8, 0}
    s.update(range(20, 40))
    for i in range(20, 40):
        s.discard(i)
    return x + 1, list(s), s


@case(1, 1)
def of_operations(x):
    a, b = {8, 0}, {16, 8, 24}
    return x + 1, list(a | b), list(a ^ b), list(b - a), list(a & b), list(a.union([32, 40, 0])), a | b


@case(1, 1)
def of_words(x):
    s = set()
    for word in WORDS:
        s.add(word)
    t = s | {"a", "b", "c", "d", "e", "f"}
    t.discard("a")
    u = t - {"b"}
    u ^= {"c", "q", "beta"}
    return x + 1, list(s), list(t), list(u), list(frozenset(u)), list(set(list(u))), u


@case(1, 1)
def of_pops(x):
    s = {5, 3, 8, 16, 24}
    popped = [s.pop()]
    s.add(40)
    popped.append(s.pop())
    s.add(8)
    popped.append(s.pop())
    return x + 1, popped, list(s)


@case(1, 1)
def of_displays(x):
    s = {17, 1, 33, 49, 65, 81}
    t = {*[17, 1, 33], 49, 65, 81}
    u = {i * 16 + 1 for i in range(6)}
    return x + 1, list(s), list(t), list(u), list(set(range(100, 0, -7)))


@case(1, 1)
def of_changes_in_place(x):
    s = {8, 0, 16}
    s.intersection_update([16, 0])
    t = s.copy()
    t.update({24: 1, 32: 2}, [40])
    t.symmetric_difference_update([40, 48])
    t.difference_update((24,))
    t.update(i for i in [7, 8])
    return x + 1, list(s), list(t)


@case(1, 1)
def of_views(x):
    a, b = {8: 1, 0: 2}, {16: 1, 8: 2}
    return (
        x + 1,
        list(a.keys() | b.keys()),
        list(a.keys() - b),
        list(b.keys() & a.keys()),
        list(a.keys() ^ b.keys()),
        list({0, 8, 16} & a.keys()),
        list([40, 0] & a.keys()),
    )


@case(1, 1, existing)
def of_existing_sets(x, a, b, c):
    return x + 1, list(a), list(b), list(a | {32}), list(b | c), list(c - {"x"}), list(a & {0, 8}), sorted(a)


@case(0, 0, existing)
def an_existing_set_is_popped_by_python(x, a, b, c):
    return a.pop() in b, x * len(c) if a is None else x


class WalkedOnce:
    def __init__(self):
        self.walks = 0

    def __iter__(self):
        self.walks += 1
        return iter([1, 2])


@case(1, 1)
def arguments_are_walked_over_once(x):
    items, s = WalkedOnce(), {3}
    s.update(items)
    s |= s.union(items)
    return x + 1, items.walks, list(s)


@case(1, 1)
def behind_a_break(x):
    s = set(WORDS)
    s.discard("beta")
    t = s | {"q", "r", "s", "t"}
    u = {8, 0, 16, 24, 32}
    v = {8, 0}
    v.update(range(20, 60))
    v -= set(range(20, 60))
    w = {8, 0, 16}
    w.discard(8)
    y = x + 1
    show("broken")
    v.update([16, 24])
    w.add(24)
    return y, list(s), list(t), list(u), list(v), list(w), list(frozenset(u)), s.pop() in t


@case(1, 1)
def a_set_behind_a_break_is_made_anew_each_time(x):
    s = {8, 0, 16, 24, 32}
    y = x + 1
    show("broken")
    s.add(len(s))
    return y, s
