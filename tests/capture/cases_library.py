"""Containers, iterators and the standard library: functools, itertools, operator, math, collections, copy, strings, numbers."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import math
import operator
import types

import torch

from tests.capture.registry import case


def filled():
    torch.manual_seed(0)
    return torch.randn(3, 4), [3, 1, 2], {"b": 2, "a": 1}, {1, 2}, collections.deque([1, 2, 3], maxlen=4)


# --- lists and tuples ----------------------------------------------------------------------------------------------------------------


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


@case(
    None, 1, filled
)  # what a bounded deque does depends on its limit, which only the object itself knows: another one is captured anew
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


# --- dicts and sets ------------------------------------------------------------------------------------------------------------------


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
        x + len(k), sorted(k), sum(v), ("a", 1) in i, k & {"a", "q"} == {"a"}, k | {"z"} == {"a", "b", "c", "z"}, k - {"a"} == {"b", "c"},
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
        x + len(s), sorted(s), s.union([1]) == {1, 3, 7, 10}, s.intersection([3]), s.difference([3]) == {7, 10}, s.issubset(range(11)),
        s.issuperset([3]), s.isdisjoint([5]), f | {3}, f & {1}, f == {1, 2}, {f: 1}[frozenset([2, 1])], s.copy() == s, s > {3}, s >= s, 3 in s,
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


# --- iterators -----------------------------------------------------------------------------------------------------------------------


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
    print("break")
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
        x + 1, list(i.chain([1], (2,), "a")), list(i.chain.from_iterable([[1], [2, 3]])), list(i.islice(range(10), 1, 8, 3)),
        list(i.accumulate([1, 2, 3])), list(i.accumulate([1, 2, 3], operator.mul, initial=10)), list(i.product([1, 2], "ab")),
        list(i.permutations([1, 2, 3], 2)), list(i.combinations("abc", 2)), list(i.combinations_with_replacement([1, 2], 2)),
        list(i.zip_longest([1], [2, 3], fillvalue=0)), list(i.takewhile(lambda v: v < 3, [1, 2, 3, 1])),
        list(i.dropwhile(lambda v: v < 3, [1, 2, 3, 1])), list(i.starmap(pow, [(2, 3)])), list(i.repeat(7, 2)),
        list(i.islice(i.cycle("ab"), 5)), list(i.islice(i.count(3, 2), 3)), list(i.pairwise([1, 2, 3])), list(i.compress("abc", [1, 0, 1])),
        list(i.filterfalse(lambda v: v % 2, range(4))), [(k, list(g)) for k, g in i.groupby("aab")], [list(t) for t in i.tee([1, 2])],
    )  # fmt: skip


@case(1, 4)
def itertools_on_tensors(x):
    total = x
    for a, b in itertools.product([x, x * 2], [1]):
        total = total + a * b if b > 1 else total + a
    return total, len(list(itertools.combinations([x, x], 2))), list(itertools.accumulate([x, x]))


# --- functools, operator -------------------------------------------------------------------------------------------------------------


def scale(x, k=1, *, bias=0):
    return x * k + bias


@case(1, 4)
def partials(x):
    double = functools.partial(scale, k=2)
    biased = functools.partial(double, bias=1)
    return double(biased(x)), biased.keywords, double.func is scale, double.args


@case(1, 1, lambda: (torch.ones(2), functools.partial(torch.mul, other=3)))
def partial_argument(x, f):
    return f(x)


def traced(log):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            log.append(f.__name__)
            return f(*args, **kwargs)

        return wrapper

    return decorate


LOG: list = []


@traced(LOG)
def add_one(x):
    "adds"
    return x + 1


@case(1, 1)
def wraps_existing(x):
    LOG.clear()
    y = add_one(x)
    return y, add_one.__name__, add_one.__doc__, list(LOG), add_one.__wrapped__.__name__


@case(1, 1)
def wraps_inside(x):
    log = []

    @traced(log)
    def inner(v):
        return v * 2

    return inner(x), inner.__name__, log


@functools.lru_cache(maxsize=None)
def cached_size(n):
    return n * 2


@case(1, 1)
def lru_cached(x):
    return x * cached_size(x.shape[0]), cached_size(4)


@functools.singledispatch
def dispatched(value, x):
    return x + 1


@dispatched.register
def _(value: int, x):
    return x * value


@dispatched.register(list)
def _(value, x):
    return x - len(value)


@case(1, 3)
def single_dispatch(x):
    return dispatched(3, x), dispatched([1], x), dispatched("s", x)


@case(1, 1)
def compare_to_key(x):
    by_last = functools.cmp_to_key(lambda a, b: (a % 10 > b % 10) - (a % 10 < b % 10))
    return x + 1, sorted([31, 12, 23], key=by_last), min([15, 21], key=by_last)


@case(1, 3)
def reductions(x):
    return functools.reduce(lambda a, b: a + b, [x, x, x], x * 0 if False else 0), functools.reduce(
        operator.mul, [1, 2, 3]
    )


@case(1, 4)
def operator_functions(x):
    o = operator
    class_ = types.SimpleNamespace(a=types.SimpleNamespace(b=5), f=lambda k: k + 1)
    return (
        o.add(x, 1), o.itemgetter(1)([5, 6]), o.itemgetter("a", "b")({"a": 1, "b": 2}), o.attrgetter("a.b")(class_), o.methodcaller("f", 3)(class_),
        o.mul(x, 2), o.not_(0), o.truth([]), o.is_(None, None), o.contains([1], 1), o.countOf([1, 1], 1), o.indexOf([3, 4], 4), o.concat([1], [2]),
        o.getitem([1, 2], 0), o.neg(3), o.index(4), o.xor(5, 1), o.le(1, 2), o.matmul(x, x.t()) is None, o.floordiv(7, 2),
    )  # fmt: skip


@case(1, 1)
def simple_namespace(x):
    n = types.SimpleNamespace(k=2)
    n.z = 3
    return x * n.k, n.z, hasattr(n, "q")


# --- numbers, strings ----------------------------------------------------------------------------------------------------------------


@case(1, 1)
def math_functions(x):
    m = math
    return (
        x * m.sqrt(4), m.floor(2.7), m.ceil(2.1), m.pi, m.sin(0.0), m.log(8, 2), m.log2(8), m.exp(0), m.isnan(float("nan")), m.isinf(m.inf), m.gcd(12, 18),
        m.prod([1, 2, 3]), m.factorial(5), m.hypot(3, 4), m.copysign(1, -0.0), m.fsum([0.1] * 3), m.isclose(1, 1 + 1e-12), m.trunc(-2.5), m.comb(5, 2),
        m.atan2(1, 1), m.degrees(m.pi), m.fmod(7, 3), m.modf(2.5), m.frexp(8.0), m.dist([0, 0], [3, 4]), m.isqrt(17), m.lcm(4, 6), m.perm(4, 2),
    )  # fmt: skip


@case(1, 1)
def number_methods(x):
    return (
        x + 1, (5).bit_length(), (255).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "big"), (2.5).is_integer(), (0.75).as_integer_ratio(), (3 + 4j).conjugate(),
        abs(3 + 4j), (3 + 4j).imag, float.fromhex("0x1p-2"), (2.5).hex(), True + 1, True & False, int("ff", 16), int(2.9), float("1e3"), complex("1+2j"), round(2.567, 2),
        round(-2.5), divmod(-7, 2), -7 // 2, -7 % 3, 2**-1, 2**10, 7 ^ 2, ~5, 1 << 4, pow(3, -1, 7), bin(5), hex(255), oct(8), (5).bit_count(), 10**20,
    )  # fmt: skip


@case(1, 1)
def string_methods_all(x):
    s = "Hello, World"
    return (
        x + len(s), s.upper(), s.lower(), s.title(), s.swapcase(), s.split(", "), s.rsplit("o", 1), s.partition(","), s.rpartition("o"), s.replace("l", "L", 2), s.find("W"),
        s.rfind("o"), s.index("W"), s.count("l"), s.startswith(("He", "x")), s.endswith("d"), s.center(20, "*"), s.ljust(15, "."), s.rjust(15), s.zfill(15), " a ".strip(),
        "xxaxx".strip("x"), "xa".lstrip("x"), "ax".rstrip("x"), "a\nb".splitlines(), "5".isdigit(), "a".isalpha(), "A".isupper(), s.encode(), b"ab".decode(), s.casefold(),
        "a-b".translate(str.maketrans("-", "_")), "ab".join("xyz"), "a,b".split(","), s.removeprefix("He"), s.removesuffix("ld"), s.capitalize(), "%05.1f|%s" % (3.14159, [1]),
        "abc" < "abd", "b" in "abc", "ab" * 2, s[0], s[-5:], ascii("é"), "\t".expandtabs(4), "a".isidentifier(), " ".isspace(), "é".isascii(), "a" "b",
    )  # fmt: skip


@case(1, 1)
def format_specs(x):
    v, w, n = 3.14159, 12, "name"
    return (
        x + 1, f"{v:.2f}", f"{v:10.3e}|", f"{w:05d}", f"{w:x}", f"{w:#b}", f"{n:>10}", f"{n!r:<8}|", f"{1234567:,}", f"{0.25:.0%}", f"{n=}", f"{v:{w}.{2}f}",
        "{:>{}}".format("a", 4), "{0}{1}{0}".format(1, 2), "{a[0]} {b.real}".format(a=[7], b=2.5), "{!r}".format("q"), f"{x.shape}", f"{tuple(x.shape)}", f"{[1, 'a']}", "{}",
        f"{x.dtype}", f"{None}", f"{True}", "%(k)s" % {"k": 1}, "%%|%c|%i" % ("z", 4),
    )  # fmt: skip


@case(1, 1)
def bytes_methods(x):
    b = b"abc"
    return (
        x + b[0],
        b.upper(),
        b.hex(),
        b + b"d",
        list(b),
        b.find(b"c"),
        bytes([1, 2]),
        bytes(2),
        b"%d" % 3,
        b.split(b"b"),
        bytearray(b"x") == b"x" if False else None,
    )


@case(1, 1)
def builtins_all(x):
    return (
        x + 1, all([]), any([]), min(3, 1, 2), max([1, 5], default=0), max([], default=9), min("b", "a"), max([[1], [2, 0]], key=len), sum([1, 2], 10), sum([[1], [2]], []),
        sorted("bca"), sorted({"b": 1, "a": 2}), sorted([3, 1], reverse=True), sorted(["b", "A"], key=str.lower), list(map(str, [1])), len("abc"), abs(-1), bool([]), callable(abs),
        chr(97), ord("a"), isinstance(1, int), issubclass(int, object), type(1), repr("a"), str(1.5), list("ab"), tuple("ab"), dict(a=1), set([1]), frozenset(), range(3),
        slice(1, 2), enumerate, hash("a") == hash("a"), id(None) == id(None), complex(1, 2), bytes(1), divmod(7, 3), next(iter([1])), object is object, NotImplemented, ...,
    )  # fmt: skip


@case(1, None)
def builtins_on_tensors(x):
    return (
        sum([x, x]),
        abs(x),
        max(x.shape),
        len(x),
        list(x)[0],
        tuple(x)[1],
        round(2.5),
        pow(x, 2),
        divmod(7, 2),
        sum(x.shape),
        isinstance(x, torch.Tensor),
        torch.stack(list(x)),
    )


@case(1, 2)
def min_max_with_key_on_tensors(x):
    tensors = {"a": x + 1, "b": x[:2]}
    return max(tensors, key=lambda k: tensors[k].numel()), min(tensors.values(), key=len)


@case(1, 1)
def copies(x):
    l = [1, [2]]
    d = {"k": l}
    s, e = copy.copy(l), copy.deepcopy(d)
    l[1].append(3)
    return (
        x + 1,
        s,
        e,
        copy.copy(d) == d,
        copy.deepcopy((1, "a")),
        copy.copy({1, 2}) == {1, 2},
        copy.copy(collections.deque([1])),
    )


@case(1, 2)
def copied_tensors(x):
    c = copy.copy([x, x])
    return c[0] is x, c[0] + 1, x.clone()


@case(1, 1)
def mapping_proxy(x):
    p = types.MappingProxyType({"a": 1})
    return x + p["a"], "b" in p, list(p)


@case(1, 3)
def tensors_in_nested_structures(x):
    tree = {"a": [x, (x + 1, {"b": x * 2})], "n": None}

    def walk(node):
        if isinstance(node, torch.Tensor):
            return [node]
        if isinstance(node, dict):
            return [t for v in node.values() for t in walk(v)]
        return [t for v in node for t in walk(v)] if isinstance(node, (list, tuple)) else []

    return torch.cat(walk(tree))


@case(1, 3)
def tensor_methods_by_name(x):
    out = []
    for name, args in [("add", (1,)), ("mul", (2,)), ("sum", ())]:
        out.append(getattr(x, name)(*args))
    return out


@case(1, 2)
def functions_in_tables(x):
    table = {"relu": torch.relu, "double": lambda v: v * 2, "len": len}
    return table["relu"](x), table["double"](x), table["len"]([1])


@case(1, 2)
def functions_as_arguments(x):
    def apply(f, *args, **kwargs):
        return f(*args, **kwargs)

    return apply(torch.add, x, 1), apply(lambda a, b: a * b, x, b=2), apply(len, "abc")


@case(1, 1)
def function_attributes(x):
    def f(a: int, b="d", *, c=3) -> int:
        "doc"
        return a

    f.tag = "t"
    return (
        x + f(1),
        f.tag,
        f.__name__,
        f.__doc__,
        f.__defaults__,
        f.__kwdefaults__,
        hasattr(f, "nope"),
        f.__code__.co_argcount,
    )
