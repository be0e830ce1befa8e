"""The standard library: functools, operator, math, copy, strings, numbers, built-in functions."""

from __future__ import annotations

import collections
import copy
import functools
import math
import operator
import types

import torch

from tests.capture.cases.registry import case

# --- functools, operator -----------------------------------------------------------------------------------


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
        o.add(x, 1), o.itemgetter(1)([5, 6]), o.itemgetter("a", "b")({"a": 1, "b": 2}),
        o.attrgetter("a.b")(class_), o.methodcaller("f", 3)(class_),
        o.mul(x, 2), o.not_(0), o.truth([]), o.is_(None, None), o.contains([1], 1), o.countOf([1, 1], 1),
        o.indexOf([3, 4], 4), o.concat([1], [2]),
        o.getitem([1, 2], 0), o.neg(3), o.index(4), o.xor(5, 1), o.le(1, 2), o.matmul(x, x.t()) is None,
        o.floordiv(7, 2),
    )  # fmt: skip


@case(1, 1)
def simple_namespace(x):
    n = types.SimpleNamespace(k=2)
    n.z = 3
    return x * n.k, n.z, hasattr(n, "q")


# --- numbers, strings -------------------------------------------------------------------------------------


@case(1, 1)
def math_functions(x):
    m = math
    return (
        x * m.sqrt(4), m.floor(2.7), m.ceil(2.1), m.pi, m.sin(0.0), m.log(8, 2), m.log2(8), m.exp(0),
        m.isnan(float("nan")), m.isinf(m.inf), m.gcd(12, 18),
        m.prod([1, 2, 3]), m.factorial(5), m.hypot(3, 4), m.copysign(1, -0.0), m.fsum([0.1] * 3),
        m.isclose(1, 1 + 1e-12), m.trunc(-2.5), m.comb(5, 2),
        m.atan2(1, 1), m.degrees(m.pi), m.fmod(7, 3), m.modf(2.5), m.frexp(8.0), m.dist([0, 0], [3, 4]),
        m.isqrt(17), m.lcm(4, 6), m.perm(4, 2),
    )  # fmt: skip


@case(1, 1)
def number_methods(x):
    return (
        x + 1, (5).bit_length(), (255).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "big"),
        (2.5).is_integer(), (0.75).as_integer_ratio(), (3 + 4j).conjugate(),
        abs(3 + 4j), (3 + 4j).imag, float.fromhex("0x1p-2"), (2.5).hex(), True + 1, True & False,
        int("ff", 16), int(2.9), float("1e3"), complex("1+2j"), round(2.567, 2),
        round(-2.5), divmod(-7, 2), -7 // 2, -7 % 3, 2**-1, 2**10, 7 ^ 2, ~5, 1 << 4, pow(3, -1, 7), bin(5),
        hex(255), oct(8), (5).bit_count(), 10**20,
    )  # fmt: skip


@case(1, 1)
def string_methods_all(x):
    s = "Hello, World"
    return (
        x + len(s), s.upper(), s.lower(), s.title(), s.swapcase(), s.split(", "), s.rsplit("o", 1),
        s.partition(","), s.rpartition("o"), s.replace("l", "L", 2), s.find("W"),
        s.rfind("o"), s.index("W"), s.count("l"), s.startswith(("He", "x")), s.endswith("d"),
        s.center(20, "*"), s.ljust(15, "."), s.rjust(15), s.zfill(15), " a ".strip(),
        "xxaxx".strip("x"), "xa".lstrip("x"), "ax".rstrip("x"), "a\nb".splitlines(), "5".isdigit(),
        "a".isalpha(), "A".isupper(), s.encode(), b"ab".decode(), s.casefold(),
        "a-b".translate(str.maketrans("-", "_")), "ab".join("xyz"), "a,b".split(","), s.removeprefix("He"),
        s.removesuffix("ld"), s.capitalize(), "%05.1f|%s" % (3.14159, [1]),
        "abc" < "abd", "b" in "abc", "ab" * 2, s[0], s[-5:], ascii("é"), "\t".expandtabs(4),
        "a".isidentifier(), " ".isspace(), "é".isascii(), "a" "b",
    )  # fmt: skip


@case(1, 1)
def format_specs(x):
    v, w, n = 3.14159, 12, "name"
    return (
        x + 1, f"{v:.2f}", f"{v:10.3e}|", f"{w:05d}", f"{w:x}", f"{w:#b}", f"{n:>10}", f"{n!r:<8}|",
        f"{1234567:,}", f"{0.25:.0%}", f"{n=}", f"{v:{w}.{2}f}",
        "{:>{}}".format("a", 4), "{0}{1}{0}".format(1, 2), "{a[0]} {b.real}".format(a=[7], b=2.5),
        "{!r}".format("q"), f"{x.shape}", f"{tuple(x.shape)}", f"{[1, 'a']}", "{}",
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
        x + 1, all([]), any([]), min(3, 1, 2), max([1, 5], default=0), max([], default=9), min("b", "a"),
        max([[1], [2, 0]], key=len), sum([1, 2], 10), sum([[1], [2]], []),
        sorted("bca"), sorted({"b": 1, "a": 2}), sorted([3, 1], reverse=True),
        sorted(["b", "A"], key=str.lower), list(map(str, [1])), len("abc"), abs(-1), bool([]), callable(abs),
        chr(97), ord("a"), isinstance(1, int), issubclass(int, object), type(1), repr("a"), str(1.5),
        list("ab"), tuple("ab"), dict(a=1), set([1]), frozenset(), range(3),
        slice(1, 2), enumerate, hash("a") == hash("a"), id(None) == id(None), complex(1, 2), bytes(1),
        divmod(7, 3), next(iter([1])), object is object, NotImplemented, ...,
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
