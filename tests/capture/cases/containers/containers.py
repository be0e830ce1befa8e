"""Lists, tuples, deques, dicts, sets: all their methods, their views, order and errors."""

from __future__ import annotations

import collections

import torch

from tests.capture.cases.registry import case


def filled():
    torch.manual_seed(0)
    return torch.randn(3, 4), [3, 1, 2], {"b": 2, "a": 1}, {1, 2}, collections.deque([1, 2, 3], maxlen=4)


# --- lists and tuples -------------------------------------------------------------------------------------


@case(1, 1, filled)
def list_all_methods(x, l, d, s, q):
    l.append(5)
    l.extend((7, 8))
    l += [9]
    l.insert(1, 0)
    l.remove(7)
    popped = l.pop(), l.pop(0)
    l.reverse()
    c = l.copy()
    l.sort(key=lambda v: -v, reverse=True)
    l[1:3] = ["a", "b", "c"]
    del l[-1], l[::2]
    l *= 2
    n = len(l), l.count("b"), c.index(8)
    c.clear()
    return x + 1, popped, n, c, l


@case(1, 2)
def list_of_tensors(x):
    l = [x + 1, x * 2]
    l[0], l[1] = l[1], l[0]
    a, b = l
    return l[::-1], a is l[0], l.index(b), x is x, len(l)


@case(1, 1)
def list_comparison(x):
    return (
        x + 1,
        [1, 2] < [1, 3],
        [1] == [1.0],
        (1, 2) <= (1, 2),
        [] == (),
        [1, [2]] == [1, [2]],
        (1,) < (1, 0),
        [3] > [2, 9],
    )


@case(1, 1)
def nested_lists(x):
    grid = [[0] * 3 for _ in range(2)]
    grid[0][1] = 5
    shared = [[]] * 2
    shared[0].append(1)
    return x + grid[0][1], grid, shared, shared[0] is shared[1], sum(grid, []), [*zip(*grid)]


@case(1, 1, filled)
def list_slices(x, l, d, s, q):
    l[len(l) :] = [10]
    l[:0] = [11]
    return (
        x + l[-1],
        l[::2],
        l[1:-1],
        l[slice(0, 2)],
        (1, 2, 3)[1:],
        "abc"[::-1],
        range(10)[2:8:3],
        list(range(5, 0, -2)),
    )


@case(1, 1)
def tuple_methods(x):
    t = (1, 2, 2) + (3,)
    return (
        x + t.count(2),
        t.index(3),
        t * 2,
        2 in t,
        t[-1],
        tuple([1]),
        tuple(),
        hash(t) == hash((1, 2, 2, 3)),
        max(t),
        sorted(t, reverse=True),
    )


@case(1, 1, filled)
def deque_methods(x, l, d, s, q):
    q.append(4)
    q.append(5)
    q.appendleft(0)
    q.extend([7])
    q.extendleft([8])
    q.rotate(-1)
    a, b = q.pop(), q.popleft()
    q.insert(1, 77)
    q.remove(77)
    q.reverse()
    return x + a + b if False else x + (a + b), list(q), q.maxlen, len(q), q[0], q.count(7), 7 in q, q.copy()


@case(1, 1)
def star_index_errors(x):
    texts = []
    for f in (
        lambda: [].pop(),
        lambda: [1].remove(2),
        lambda: (1,).index(5),
        lambda: [1][3],
        lambda: collections.deque().popleft(),
    ):
        try:
            f()
        except (IndexError, ValueError) as e:
            texts.append(f"{type(e).__name__}: {e}")
    return x + 1, texts


# --- dicts and sets ---------------------------------------------------------------------------------------


@case(1, 1, filled)
def dict_all_methods(x, l, d, s, q):
    d["z"] = 26
    d.update({"y": 25}, w=23)
    d |= {"v": 22}
    e = d | {"u": 21}
    got = d.pop("z"), d.pop("none", 0), d.setdefault("t", []), d.get("b"), d.get("qq"), d.popitem()
    keys, values, items = list(d), list(d.values()), list(d.items())
    back = list(reversed(d)), list(reversed(d.items()))
    c = d.copy()
    del d["y"]
    return x + 1, e, got, keys, values, items, back, c, len(d), "y" in d, dict.fromkeys([1, 2], 0), d == c


@case(1, 1, filled)
def dict_views(x, l, d, s, q):
    k, v, i = d.keys(), d.values(), d.items()
    d["c"] = 3
    return (
        x + len(k), sorted(k), sum(v), ("a", 1) in i, k & {"a", "q"} == {"a"},
        k | {"z"} == {"a", "b", "c", "z"}, k - {"a"} == {"b", "c"},
        k == {"a", "b", "c"}, {"a"} <= k, k.isdisjoint({"q"}), list(k)[-1], len(i), 3 in v,
    )  # fmt: skip


@case(1, 1)
def dict_order(x):
    d = {"a": 1, "b": 2, "c": 3}
    d["a"] = 10
    del d["b"]
    d["b"] = 20
    return (
        x + d["a"],
        list(d.items()),
        {k: v for v, k in enumerate(d)},
        dict(zip("xy", [1, 2])),
        dict([("k", 1)], z=2),
        dict(d, q=1),
    )


@case(1, 4)
def dict_of_tensors(x):
    d = {"a": x + 1}
    d["b"] = d["a"] * 2
    total = sum(d.values())
    return d, total


@case(1, 2)
def dict_keys_of_all_kinds(x):
    d = {
        1: "int",
        "s": "str",
        (1, 2): "tuple",
        None: "none",
        True: "bool",
        2.5: "float",
        torch.float32: "dtype",
        int: "type",
        x: "tensor",
    }
    return (
        x + len(d),
        d[1],
        d[(1, 2)],
        d[None],
        d[torch.float32],
        d[int],
        d[x],
        x.shape in {torch.Size([3, 4]): 1},
        x * 2,
    )


@case(1, 1)
def dict_errors(x):
    texts = []
    for f in (
        lambda: {}["k"],
        lambda: {}.popitem(),
        lambda: {[]: 1},
        lambda: {"a": 1}.pop("b"),
        lambda: dict([1]),
    ):
        try:
            f()
        except (KeyError, TypeError) as e:
            texts.append((type(e).__name__, str(e)))
    return x + 1, texts


@case(1, 1)
def default_dict(x):
    d = collections.defaultdict(list)
    d["a"].append(1)
    d["b"]
    n = collections.defaultdict(int, {"k": 1})
    n["k"] += 1
    n["z"] += 5
    m = collections.defaultdict(lambda: 7)
    return x + n["z"], dict(d), list(n.items()), m[3], m.get(9), d.default_factory is list, len(m)


@case(1, 1)
def ordered_dict(x):
    o = collections.OrderedDict([("a", 1), ("b", 2), ("c", 3)])
    o.move_to_end("a")
    o.move_to_end("c", last=False)
    first = o.popitem(last=False)
    return x + len(o), list(o), first, list(reversed(o)), o == {"a": 1, "b": 2}, o.pop("b"), o


@case(1, 1)
def counter(x):
    c = collections.Counter("hello")
    c.update("l")
    c["z"] += 2
    return x + c["l"], c["nothing"], c.most_common(1), sum(c.values()), dict(c)


@case(None, None)
def chain_map(x):
    m = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    return x + m["a"] + m["b"] + 0, len(m)


@case(1, 1, filled)
def set_all_methods(x, l, d, s, q):
    s.add(3)
    s.discard(9)
    s.update([4, 5], {6})
    s.remove(1)
    s |= {7}
    s &= {2, 3, 7, 8}
    s -= {8}
    s ^= {2, 10}
    f = frozenset([1, 2])
    return (
        x + len(s), sorted(s), s.union([1]) == {1, 3, 7, 10}, s.intersection([3]),
        s.difference([3]) == {7, 10}, s.issubset(range(11)),
        s.issuperset([3]), s.isdisjoint([5]), f | {3}, f & {1}, f == {1, 2}, {f: 1}[frozenset([2, 1])],
        s.copy() == s, s > {3}, s >= s, 3 in s,
    )  # fmt: skip


@case(1, 1)
def set_comprehension_and_pop(x):
    s = {i % 3 for i in range(7)}
    t = {5}
    got = t.pop()
    try:
        t.pop()
    except KeyError as e:
        text = str(e)
    return x + len(s), got, text, set("aab") == {"a", "b"}, {*s} == s, sorted(s), max(s), sum(s)


@case(1, 2)
def sets_of_objects(x):
    y = x + 1
    s = {x, y, x}
    return len(s), x in s, y * 2 if y in s else y
