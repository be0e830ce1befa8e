"""Iterators: made in the frame, shared, given as arguments, across breaks; itertools."""

from __future__ import annotations

import itertools
import operator

import torch

import capture
from tests.capture.cases.registry import case, show


@case(1, 1)
def iterator_protocol(x):
    it = iter([1, 2, 3, 4])
    a = next(it)
    rest = list(it)
    done = next(it, "end")
    z = zip([1, 2, 3], "ab")
    e = enumerate("xy", start=5)
    return (
        x + a,
        rest,
        done,
        list(z),
        list(e),
        list(map(lambda a, b: a * b, [1, 2], [3, 4])),
        list(filter(None, [0, 1, 2])),
        list(reversed("ab")),
    )


@case(1, 1)
def iterator_shared(x):
    it = iter(range(6))
    pairs = list(zip(it, it))
    it2 = iter([1, 2, 3])
    out = [a for a in it2 if a != next(it2, None)]
    return x + 1, pairs, out, iter(it) is it, list(it)


@case(1, 1, lambda: (torch.ones(2), iter([1, 2, 3])))
def list_iterator_argument(x, it):
    return x + next(it)


@case(1, None, lambda: (torch.ones(2), zip([1, 2], [3, 4])))
def zip_argument(x, z):
    a, b = next(z)
    return x + a, b, list(z)


@case(None, None, lambda: (torch.ones(2), enumerate(["a", "b"])))
def enumerate_argument(x, e):
    for i, name in e:
        x = x + i
    return x


@case(1, None, lambda: (torch.ones(2), map(str, [1, 2])))
def map_argument(x, m):
    return x + 1, list(m)


@case(1, 2, lambda: (torch.ones(2), range(2, 10, 3), slice(1, None)))
def range_and_slice_arguments(x, r, s):
    return x[s] + sum(r), len(r), r[1], 5 in r, s.start


@case(2, 2)
def iterators_cross_a_break(x):
    z, e, m = zip([1, 2, 3], "abc"), enumerate("xyz"), map(lambda v: v * 2, [1, 2])
    y = x + next(z)[0] + next(e)[0] if False else x + (next(z)[0] + next(e)[0] + next(m))
    show("break")
    return y * 2, list(z), list(e), list(m)


@case(1, 1)
def iter_with_sentinel(x):
    values = [1, 2, 3, 0, 5]
    return x + sum(iter(lambda: values.pop(0), 0)), values


@case(1, 1)
def zip_strict(x):
    try:
        list(zip([1, 2], [1], strict=True))
    except ValueError as e:
        text = str(e)
    return x + len(list(zip([1], [2], strict=True))), text, list(zip()), list(zip([1, 2, 3], range(2)))


@case(1, 1)
def itertools_all(x):
    i = itertools
    return (
        x + 1, list(i.chain([1], (2,), "a")), list(i.chain.from_iterable([[1], [2, 3]])),
        list(i.islice(range(10), 1, 8, 3)),
        list(i.accumulate([1, 2, 3])), list(i.accumulate([1, 2, 3], operator.mul, initial=10)),
        list(i.product([1, 2], "ab")),
        list(i.permutations([1, 2, 3], 2)), list(i.combinations("abc", 2)),
        list(i.combinations_with_replacement([1, 2], 2)),
        list(i.zip_longest([1], [2, 3], fillvalue=0)), list(i.takewhile(lambda v: v < 3, [1, 2, 3, 1])),
        list(i.dropwhile(lambda v: v < 3, [1, 2, 3, 1])), list(i.starmap(pow, [(2, 3)])),
        list(i.repeat(7, 2)),
        list(i.islice(i.cycle("ab"), 5)), list(i.islice(i.count(3, 2), 3)), list(i.pairwise([1, 2, 3])),
        list(i.compress("abc", [1, 0, 1])),
        list(i.filterfalse(lambda v: v % 2, range(4))), [(k, list(g)) for k, g in i.groupby("aab")],
        [list(t) for t in i.tee([1, 2])],
    )  # fmt: skip


@case(1, 4)
def itertools_on_tensors(x):
    total = x
    for a, b in itertools.product([x, x * 2], [1]):
        total = total + a * b if b > 1 else total + a
    return total, len(list(itertools.combinations([x, x], 2))), list(itertools.accumulate([x, x]))


def list_and_tensor():
    return [1, 2], torch.arange(4.0)


def list_iterator_and_tensor():
    values = [1, 2]
    return iter(values), values, torch.arange(4.0)


@case(3, None, list_and_tensor)
def walk_over_a_grown_list_with_a_break(values, x):
    values.append(3)
    seen = []
    for value in values:
        seen.append(value)
        if value == 3:
            x = x + int(x.sum().item())
    return seen, x * 2


@case(1, 1, list_and_tensor)
def iterator_behind_what_was_appended(values, x):
    values.append(3)
    values.append(4)
    found = iter(values)
    taken = next(found), next(found), next(found)
    return list(found), x * 2, taken


@case(2, None, list_and_tensor)
def iterator_behind_what_was_appended_over_a_break(values, x):
    values.append(3)
    values.append(4)
    found, back = iter(values), reversed(values)
    taken = next(found), next(found), next(found), next(back)
    x = x + int(x.sum().item())
    return list(found), list(back), x * 2, taken


@case(2, None, list_iterator_and_tensor, fresh=True)
def known_iterator_over_a_grown_list(found, values, x):
    taken = [next(found)]
    values.append(3)
    values.append(4)
    taken += [next(found), next(found)]
    x = x + int(x.sum().item())
    return taken, list(found), x * 2


@case(graphs=2, ops=2)
def strict_zip_behind_a_break(x):
    pairs = zip([1, 2, 3], [1, 2], strict=True)
    y = x + next(pairs)[0]
    capture.graph_break()
    try:
        return y, list(pairs)
    except ValueError as error:
        return y + 1, str(error)
