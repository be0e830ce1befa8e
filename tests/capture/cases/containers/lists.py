"""Lists."""

from __future__ import annotations

import collections

import torch

from tests.capture.cases.language.errors import outcome
from tests.capture.cases.registry import case


@case(ops=4)
def list_ops(x):
    l = [x, x + 1]
    l.append(x + 2)
    l.extend([x + 3])
    l.insert(0, x * 2)
    l.pop()
    l.pop(0)
    l.reverse()
    return l


@case(ops=1)
def list_slice(x):
    l = list(range(10))
    l[2:5] = [9, 9]
    del l[::2]
    l[1:1] = [7]
    return l, l[::-1], l[-3:], x + 1


@case(ops=1)
def list_slice_step(x):
    l = list(range(6))
    l[::2] = [10, 20, 30]
    try:
        l[::2] = [1]
    except ValueError as e:
        return str(e), l, x + 1


@case(ops=2)
def list_slice_iter(x):
    l = [1, 2, 3]
    l[1:] = (i * x for i in range(2))
    return l


@case(ops=1)
def list_mul(x):
    l = [x] * 3
    m = 2 * [1, 2]
    l *= 2
    return len(l), m, l[5] + 1


@case(ops=1)
def list_cmp(x):
    return [1, 2] < [1, 3], [1] == [1], [1, 2] >= [1], [[1], 2] == [[1], 2], (1, 2) < (2,), x + 1


@case(ops=1)
def list_index_err(x):
    r = []
    for f in (
        lambda: [1].index(5),
        lambda: [].pop(),
        lambda: [1][4],
        lambda: [1].remove(3),
        lambda: [1]["a"],
    ):
        try:
            f()
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r, x + 1


@case(ops=1)
def list_sort(x):
    l = [3, 1, 2]
    l.sort()
    m = sorted(l, reverse=True)
    l.sort(key=lambda v: -v)
    return l, m, sorted("bca"), sorted([(2, "a"), (1, "b")]), x + 1


@case(ops=1)
def list_sort_key(x):
    l = ["bb", "a", "ccc"]
    l.sort(key=len, reverse=True)
    return l, sorted(l, key=str.lower), x + 1


@case(ops=1)
def list_tensor_eq(x):
    l = [1, x]
    return 1 in l, x is l[1], x + 1


@case(ops=1)
def list_copy(x):
    l = [x, [1]]
    m = l.copy()
    n = l[:]
    m.append(2)
    return l, m, n, m[1] is l[1], x + 1


@case(ops=1)
def list_iadd(x):
    l = [x]
    m = l
    l += (x + 1,)
    l += [3]
    l += "ab"
    return m, l is m


@case(ops=8)
def list_nested_comp(x):
    return [[x + i + j for j in range(2)] for i in range(2)]


@case(ops=2)
def list_unpack(x):
    a, *b, c = [x, 1, 2, x + 1]
    [d, [e, f]] = [1, [2, 3]]
    return a + c, b, d, e, f


@case(ops=1)
def list_dunders(x):
    l = [1, 2]
    l.__setitem__(0, 5)
    l.__delitem__(1)
    return (
        l.__len__(),
        l.__getitem__(0),
        l.__contains__(5),
        l.__add__([3]),
        l.__mul__(2),
        l.__eq__([5]),
        l.__iadd__([4]),
        x + 1,
    )


@case(ops=2)
def list_unbound(x):
    l = []
    list.append(l, x)
    list.extend(l, [x + 1])
    return list.__len__(l), list.pop(l) * 2


@case(ops=1)
def list_bound_method(x):
    l = []
    f = l.append
    f(x)
    f(x + 1)
    return l, f.__self__ is l


@case(ops=1)
def list_reversed(x):
    l = [x, x + 1]
    return list(reversed(l)), [v for v in reversed(range(3))]


@case(ops=1)
def list_iter_mut(x):
    l = [1, 2]
    r = []
    for v in l:
        r.append(v)
        if len(l) < 5:
            l.append(v + 10)
    return r, l, x + 1


@case(ops=1)
def list_del(x):
    l = [1, 2, 3, 4]
    del l[0]
    del l[-1]
    del l[0:1]
    return l, x + 1


@case(ops=1)
def list_str(x):
    return str([1, "a", None, (1,), {2: 3}]), f"{[1.5]}", x + 1


@case(ops=1)
def list_bool(x):
    l = []
    if not l:
        l.append(1)
    return l and x + 1


@case(ops=2)
def list_enum_start(x):
    return [(i, v) for i, v in enumerate("ab", start=5)], [x + i for i, _ in enumerate(range(2), 1)]


class MyList(list):
    def second(self):
        return self[1]

    def append(self, v):
        super().append(v)
        self.n = len(self)


@case(ops=3)
def mylist(x):
    l = MyList([x, x + 1])
    l.append(x + 2)
    return l.second() * l.n, len(l), l[-1], l


@case(ops=2, args=lambda: (torch.randn(3, 4), MyList([1, 2])))
def mylist_arg(x, l):
    l.append(x + 1)
    l[0] = 9
    return x * l.second(), sum([1, 2]), l.n


@case(ops=1)
def mylist2(x):
    l = MyList()
    l.extend([1, 2])
    l += [3]
    return l * 1, l + [4], [*l], l == [1, 2, 3], l[1:], x + 1, type(l).__name__


class TL(list):
    def __getitem__(self, i):
        return super().__getitem__(i) * 2

    def __len__(self):
        return 99


@case(ops=1)
def tl(x):
    l = TL([1, 2])
    return l[0], len(l), list(l), x + 1


@case(graphs=None)
def what_deques_refuse(x):
    held = collections.deque([1, 2])
    refused = [
        outcome(lambda: held[0:1]),
        outcome(lambda: held.__setitem__(slice(0, 1), [1])),
        outcome(lambda: held.__delitem__(slice(0, 1))),
        outcome(lambda: torch.zeros(held)),
    ]
    return x + 1, refused, held


@case(1, 1)
def lists_are_empty_while_they_are_sorted(x):
    seen, found = [], []
    plain, growing, failing = [3, 1, 2], [3, 1, 2], [3, 1, 2]

    def length(item):
        seen.append(len(plain))
        return item

    def grow(item):
        growing.append(item)
        return item

    def fail(item):
        failing.append(item)
        raise KeyError(item)

    plain.sort(key=length)
    for items, key in ((growing, grow), (failing, fail)):
        try:
            items.sort(key=key)
        except (ValueError, KeyError) as error:
            found.append(repr(error))
    return x + 1, seen, found, plain, growing, failing
