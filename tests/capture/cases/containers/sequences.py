"""Deques, tuples, ranges, slices, and iteration over them."""

from __future__ import annotations

from collections import deque

import torch

from tests.capture.cases.registry import case


@case(ops=2)
def plain_deque(x):
    d = deque([x])
    d.append(x + 1)
    d.appendleft(x + 2)
    d.rotate(1)
    v = d.pop()
    w = d.popleft()
    return v, w, len(d), d


@case(ops=5)
def deque_maxlen(x):
    d = deque(maxlen=2)
    for i in range(4):
        d.append(x + i)
    d.appendleft(x * 9)
    return d, d.maxlen, list(d)


@case(ops=1)
def deque_more(x):
    d = deque([1, 2, 3, 4], 5)
    d.extendleft([9, 8])
    d.reverse()
    d.remove(2)
    d.insert(1, 77)
    c = d.copy()
    d.clear()
    return c, d, c.index(77), c.count(9), 77 in c, c[0], c[-1], x + 1


@case(ops=1)
def deque_rot(x):
    d = deque(range(5))
    d.rotate(-2)
    e = deque(d)
    d.rotate(7)
    d[0] = 100
    del d[1]
    return d, e, d == e, d != e, x + 1


@case(ops=1)
def deque_ops(x):
    d = deque([1]) + deque([2])
    e = d * 2
    d += [5]
    return d, e, bool(deque()), list(reversed(d)), d < e, x + 1


@case(ops=1)
def deque_err(x):
    r = []
    for f in (
        lambda: deque().pop(),
        lambda: deque().popleft(),
        lambda: deque([1])[5],
        lambda: deque([1]).remove(4),
        lambda: deque([1]).index(4),
    ):
        try:
            f()
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r, x + 1


@case(ops=1)
def deque_iter_mut(x):
    d = deque([1])
    try:
        for v in d:
            d.append(2)
    except RuntimeError as e:
        return str(e), x + 1


@case(ops=1)
def tuple_hash(x):
    return hash((1, 2)) == hash((1, 2)), {(1, "a"): x}[(1, "a")] + 1


@case(ops=1)
def tuple_dunder(x):
    t = (1, 2)
    return (
        t.__len__(),
        t.__contains__(1),
        t.__getitem__(0),
        t.__add__((3,)),
        t.__mul__(2),
        t.__rmul__(2),
        t.__eq__((1, 2)),
        t.__hash__() == hash(t),
        x + 1,
    )


class MyT(tuple):
    def first(self):
        return self[0]


@case(ops=1)
def myt(x):
    t = MyT((x, 2))
    return t.first() + 1, len(t), t + (1,), t


@case(ops=1, args=lambda: (torch.randn(3, 4), MyT((torch.ones(3, 4), 2))))
def myt_arg(x, t):
    return t.first() + x, len(t)


class MyT2(tuple):
    def __new__(cls, a, b):
        s = super().__new__(cls, (a, b))
        s.tag = "t"
        return s


@case(ops=1)
def myt2(x):
    t = MyT2(x, 2)
    return t[0] + 1, t.tag, t


@case(ops=1)
def plain_range(x):
    r = range(2, 20, 3)
    return (
        len(r),
        r[1],
        r[-1],
        r[1:3],
        list(r),
        5 in r,
        r.index(5),
        r.count(8),
        r == range(2, 18 + 2, 3),
        r.start,
        r.stop,
        r.step,
        x + 1,
    )


@case(ops=1)
def range_neg(x):
    return (
        list(range(5, 0, -2)),
        range(5)[::-1],
        list(reversed(range(3))),
        range(0) == range(5, 5),
        bool(range(0)),
        x + 1,
    )


@case(ops=1)
def range_ret(x):
    return range(3), range(1, 5, 2)[1:], x + 1


@case(ops=1)
def range_err(x):
    r = []
    for f in (
        lambda: range(1, 2, 0),
        lambda: range(3)[7],
        lambda: range("a"),
        lambda: range(3).index(9),
        lambda: range(1.5),
    ):
        try:
            f()
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r, x + 1


@case(ops=1)
def range_hash(x):
    return {range(3): x + 1}[range(0, 3)], hash(range(3)) == hash(range(0, 3, 1))


@case(ops=6, args=lambda: (torch.randn(3, 4), range(3)))
def range_arg(x, r):
    return sum(x + i for i in r), r


@case(ops=1)
def range_iter(x):
    it = iter(range(4))
    a = next(it)
    return a, list(it), x + 1


@case(ops=1)
def plain_slice(x):
    s = slice(1, 3)
    return x[s], [1, 2, 3, 4][s], s.start, s.stop, s.step, s.indices(10), s == slice(1, 3), s


@case(ops=1)
def slice2(x):
    s = slice(None, None, -1)
    return "abc"[s], (1, 2)[s], s, x + 1


@case(ops=2)
def slice_obj(x):
    ss = [slice(0, 2), slice(None)]
    return x[tuple(ss)], x[ss[0], 1]


@case(ops=8)
def plain_sum(x):
    return (
        sum([x, x + 1]),
        sum([1, 2], 5),
        sum([[1], [2]], []),
        sum((x for _ in range(3)), x * 0),
        sum([x], start=x),
    )


@case(ops=1)
def minmax(x):
    return (
        max(1, 5, 3),
        min([4, 2]),
        max([], default=7),
        max("abc", key=ord),
        min((3, "a"), (2, "b")),
        max([1, -5], key=abs),
        x + 1,
    )


@case(ops=1)
def minmax_err(x):
    try:
        max([])
    except ValueError as e:
        return str(e), x + 1


@case(ops=1)
def max_tie(x):
    return max([(1, "a"), (1, "b")], key=lambda t: t[0]), min([(1, "a"), (1, "b")], key=lambda t: t[0]), x + 1


@case(ops=1)
def anyall(x):
    return any([0, "", 3]), all([]), all([1, 0]), any(i > 2 for i in range(5)), x + 1


@case(ops=1)
def plain_zip(x):
    a, b = zip(*[(1, x), (2, x + 1)])
    return a, b, list(zip([1, 2], "ab")), dict(zip("ab", [1, 2]))


@case(ops=1)
def zip_strict(x):
    try:
        list(zip([1, 2], [1], strict=True))
    except ValueError as e:
        return str(e), list(zip([1], [2], strict=True)), x + 1


@case(ops=2)
def zip_ret(x):
    return zip([1, 2], [x, x + 1]), x + 1


@case(ops=5)
def plain_map(x):
    return (
        list(map(lambda a, b: a + b, [x, x + 1], [1, 2])),
        list(map(str, [1, 2])),
        tuple(map(torch.sin, [x])),
        x + 1,
    )


@case(ops=1)
def plain_filter(x):
    return list(filter(None, [0, 1, ""])), list(filter(lambda v: v > 1, [1, 2, 3])), x + 1


@case(ops=2)
def iter_next(x):
    it = iter([x, x + 1])
    a = next(it)
    b = next(it)
    c = next(it, None)
    try:
        next(it)
    except StopIteration:
        return a + b, c


@case(ops=1)
def iter_sentinel(x):
    l = [1, 2, 0, 3]
    return list(iter(lambda: l.pop(0), 0)), l, x + 1


@case(ops=1)
def iter_shared(x):
    it = iter(range(6))
    return list(zip(it, it)), x + 1


@case(ops=2)
def enumerate_next(x):
    e = enumerate([x, x + 1])
    next(e)
    i, v = next(e)
    return i, v * 2


@case(ops=1)
def unpack_err(x):
    r = []
    for f in (lambda: (lambda a, b: 0)(*[1]),):
        try:
            f()
        except TypeError as e:
            r.append(str(e))
    try:
        a, b = [1, 2, 3]
    except ValueError as e:
        r.append(str(e))
    try:
        a, b, *c = [1]
    except ValueError as e:
        r.append(str(e))
    return r, x + 1


@case(ops=1)
def size(x):
    s = x.shape
    return (
        s[0],
        s.numel(),
        s + (1,),
        list(s),
        s == (3, 4),
        torch.Size([1, 2]),
        s[:1],
        tuple(s),
        len(s),
        isinstance(s, tuple),
        x + 1,
    )


@case(ops=1)
def size2(x):
    a, b = x.size()
    return (
        x.view(b, a),
        x.shape[-1],
        torch.Size((2,)) + torch.Size([3]),
        hash(x.shape) == hash((3, 4)),
        x.shape in [(3, 4)],
    )


@case(ops=1)
def plain_bytes(x):
    b = b"abc"
    return b[0], b[1:], b + b"d", b.decode(), "é".encode(), list(b), b.hex(), bytes([1, 2]), b"%d" % 3, x + 1


@case(ops=1)
def plain_bytearray(x):
    b = bytearray(b"ab")
    b.append(1)
    return bytes(b), x + 1


@case(ops=1)
def plain_complex(x):
    c = 3 + 4j
    return c.real, c.imag, abs(c), c.conjugate(), complex(1, 2), c * 2, c == 3 + 4j, x + 1


@case(ops=1)
def nested_alias(x):
    l = [x + 1]
    return [l, l, (l,)], l


@case(ops=1)
def str_iter(x):
    return [c for c in "abc"], "abc"[::-1], "b" in "abc", "a" * 3, list("xy"), x + 1


@case(graphs=1, ops=1)
def sizes_put_together(x):
    sizes = (5,) + x.shape, x.shape + (5,), 2 * x.shape, x.shape * 2, x.shape[1:], () + x.shape
    return x + 1, sizes, [type(size).__name__ for size in sizes]


@case(graphs=1, ops=1)
def size_and_a_string(x):
    try:
        return ("a",) + x.shape
    except TypeError as error:
        return x + 1, str(error)


@case(graphs=1, ops=1)
def bytes_made(x):
    made = bytes([1, 2]), bytes(3), bytes("a", "utf8"), bytes(b"abc"), bytes((1, x.shape[0]))
    return x + made[0][1], made
