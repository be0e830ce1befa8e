"""The standard library: functools, itertools, operator, math, text, and callables of all kinds."""

from __future__ import annotations

import bisect
import collections
import contextlib
import fractions
import functools
import heapq
import itertools
import math
import numbers
import operator
import re
import string
import textwrap
import types
import typing
from functools import (
    cached_property,
    cmp_to_key,
    lru_cache,
    partial,
    partialmethod,
    reduce,
    singledispatch,
    singledispatchmethod,
    wraps,
)
from operator import itemgetter

import torch

from tests.capture.registry import case


def addk(a, b, k=1):
    return a + b * k


@case(ops=4)
def plain_partial(x):
    f = partial(addk, x, k=3)
    g = partial(f, 2)
    return f(1), g(), f.func.__name__, f.args[0] is x, f.keywords, g.keywords, partial(addk, 1)(x, k=2)


@case(ops=4)
def partial_nested(x):
    return (
        partial(partial(addk, 1), k=4)(x),
        list(map(partial(operator.mul, 2), [x, 3])),
        partial(torch.add, x)(x, alpha=2),
    )


@case(ops=1)
def partial_ret(x):
    return partial(addk, x + 1)


class PM:
    def m(self, a, b):
        return a - b

    pm = partialmethod(m, 5)

    @singledispatchmethod
    def sd(self, a):
        return "def"

    @sd.register
    def _(self, a: int):
        return "int"


@case(ops=1)
def plain_partialmethod(x):
    return PM().pm(x)


@case(ops=3)
def plain_reduce(x):
    return (
        reduce(lambda a, b: a * b, [x, x + 1, 2]),
        reduce(operator.add, [1, 2, 3]),
        reduce(operator.add, [], 7),
        reduce(lambda a, b: a + [b], "ab", []),
    )


@lru_cache(None)
def cached(n):
    return n * 2


@lru_cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@case(ops=1)
def lru(x):
    return x * cached(3), fib(10)


@functools.cache
def cache_t(n):
    return torch.ones(n)


def deco(f):
    @wraps(f)
    def w(*a, **k):
        return f(*a, **k) + 1

    return w


@deco
def decorated(x, y=1):
    "doc"
    return x * y


@case(ops=3)
def plain_wraps(x):
    return decorated(x, y=2), decorated.__name__, decorated.__doc__, decorated.__wrapped__(x)


@case(ops=2)
def wraps_inner(x):
    @deco
    def f(a):
        return a * 2

    return f(x), f.__name__


def deco_args(n):
    def d(f):
        @wraps(f)
        def w(*a):
            return f(*a) * n

        return w

    return d


@deco_args(3)
def tripled(x):
    return x + 1


@case(ops=2)
def plain_deco_args(x):
    return tripled(x)


@singledispatch
def sd(a):
    return "obj"


@sd.register(int)
def _(a):
    return a + 1


@sd.register(list)
def _(a):
    return len(a)


@sd.register
def _(a: torch.Tensor):
    return a * 2


@case(ops=1)
def plain_singledispatch(x):
    return sd(1), sd([1, 2]), sd(x), sd("q")


@case(ops=1)
def plain_cmp_to_key(x):
    return (
        sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)),
        min([3, 1], key=cmp_to_key(lambda a, b: a - b)),
        x + 1,
    )


class CPr:
    def __init__(self, v):
        self.v = v
        self.n = 0

    @cached_property
    def c(self):
        self.n += 1
        return self.v + 1


@case(ops=1)
def plain_cached_property(x):
    o = CPr(x)
    a = o.c
    b = o.c
    return a is b, o.n, a


@case(ops=3, args=lambda: (torch.randn(3, 4), CPr(torch.ones(3, 4))))
def cached_property_arg(x, o):
    return o.c + x, o.c * 2, o.n


@case(ops=1)
def itertools1(x):
    return (
        list(itertools.chain([x], [1])),
        list(itertools.chain.from_iterable([[1], [2]])),
        list(itertools.islice(range(10), 2, 8, 3)),
        list(itertools.repeat(x, 2))[0] + 1,
        list(itertools.islice(itertools.count(3, 2), 3)),
        list(itertools.islice(itertools.cycle("ab"), 5)),
    )


@case(ops=3)
def itertools2(x):
    return (
        list(itertools.accumulate([1, 2, 3])),
        list(itertools.accumulate([x, x + 1]))[1],
        list(itertools.accumulate([1, 2], operator.mul, initial=5)),
        list(itertools.product([1, 2], "ab")),
        list(itertools.product([0, 1], repeat=2)),
        list(itertools.permutations([1, 2, 3], 2)),
        list(itertools.combinations("abc", 2)),
        x + 1,
    )


@case(ops=2)
def itertools3(x):
    return (
        list(itertools.combinations_with_replacement("ab", 2)),
        list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
        list(itertools.starmap(lambda a, b: a * b, [(x, 2)])),
        list(itertools.takewhile(lambda v: v < 3, range(9))),
        list(itertools.dropwhile(lambda v: v < 3, range(5))),
        list(itertools.pairwise([1, 2, 3])),
        list(itertools.compress("abc", [1, 0, 1])),
        list(itertools.filterfalse(lambda v: v % 2, range(5))),
        x + 1,
    )


@case(ops=1)
def itertools4(x):
    return (
        [(k, list(g)) for k, g in itertools.groupby("aabbc")],
        [(k, [i for i in g]) for k, g in itertools.groupby([1, 3, 2], key=lambda v: v % 2)],
        x + 1,
    )


@case(ops=2)
def tee(x):
    a, b = itertools.tee([x, x + 1])
    next(a)
    return next(a) + 1, len(list(b))


@case(ops=1)
def itertools_lazy(x):
    it = itertools.chain([1], (i for i in range(3)))
    a = next(it)
    return a, list(it), x + 1


@case(ops=1)
def islice_shared(x):
    it = iter(range(10))
    a = list(itertools.islice(it, 3))
    return a, list(it)[0], x + 1


@case(ops=2)
def count_zip(x):
    return list(zip(itertools.count(), "abc")), [x + i for i, _ in zip(itertools.count(1), range(2))]


@case(ops=1)
def permutations_dup(x):
    return (
        list(itertools.permutations([1, 1])),
        list(itertools.permutations([1, 2], 0)),
        list(itertools.combinations([1], 2)),
        x + 1,
    )


@case(ops=1)
def itertools_ret(x):
    return itertools.chain([1], [2]), x + 1


@case(ops=5)
def plain_operator(x):
    return (
        operator.add(x, 1),
        operator.mul(2, x),
        operator.itemgetter(1)([1, 2]),
        operator.itemgetter(0, 2)("abc"),
        operator.attrgetter("shape")(x),
        operator.methodcaller("sum", dim=0)(x),
        operator.neg(x),
        operator.getitem(x, 0),
        operator.truth([]),
        operator.not_(1),
        operator.is_(x, x),
        operator.contains([1], 1),
        operator.index(3),
        operator.concat([1], [2]),
    )


@case(ops=2)
def operator2(x):
    l = [1, 2]
    operator.setitem(l, 0, 5)
    operator.delitem(l, 1)
    operator.iadd(l, [7])
    return (
        l,
        operator.countOf([1, 1, 2], 1),
        operator.indexOf([1, 2], 2),
        operator.length_hint([1, 2]),
        operator.pow(2, 3),
        operator.xor(1, 3),
        operator.lt(1, 2),
        operator.matmul(x, x.T),
        operator.attrgetter("a.b", "c")(types.SimpleNamespace(a=types.SimpleNamespace(b=1), c=2)),
    )


@case(ops=1)
def sorted_itemgetter(x):
    return (
        sorted([(1, "b"), (0, "a")], key=itemgetter(1)),
        sorted([{"k": 2}, {"k": 1}], key=itemgetter("k")),
        max([[1, 5], [2, 3]], key=itemgetter(1)),
        x + 1,
    )


@case(ops=1)
def plain_math(x):
    return (
        math.sqrt(4),
        math.pi * x,
        math.floor(1.5),
        math.ceil(1.2),
        math.gcd(4, 6),
        math.log(2),
        math.isclose(1, 1.0000000001),
        math.inf > 1,
        math.isnan(math.nan),
        math.prod([1, 2, 3]),
        math.comb(4, 2),
        math.factorial(4),
        math.fsum([0.1] * 3),
        math.hypot(3, 4),
        math.copysign(1, -0.0),
        math.trunc(2.7),
        math.log2(8),
        math.exp(0),
        math.dist([0], [1]),
        math.perm(3, 2),
        math.isqrt(10),
        math.lcm(4, 6),
    )


@case(ops=1)
def math_err(x):
    r = []
    for f in (
        lambda: math.sqrt(-1),
        lambda: math.log(0),
        lambda: 1 / 0,
        lambda: 1 % 0,
        lambda: int("a"),
        lambda: "a" + 1,
        lambda: [] + 1,
        lambda: 2 ** "a",
        lambda: float("q"),
    ):
        try:
            f()
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r, x + 1


@case(ops=1)
def plain_round(x):
    return (
        round(2.5),
        round(2.567, 2),
        round(-1.5),
        round(1234, -2),
        abs(-3),
        divmod(7, 2),
        pow(2, 3, 5),
        pow(2, -1),
        bin(5),
        hex(255),
        oct(8),
        chr(65),
        ord("a"),
        int("12", 16),
        int(3.9),
        float("1.5"),
        complex("1+2j"),
        bool([]),
        x + 1,
    )


@case(ops=1)
def str1(x):
    s = "Hello World"
    return (
        s.lower(),
        s.split(),
        s.replace("o", "0"),
        s.find("W"),
        s.startswith("He"),
        s.endswith(("d", "x")),
        s.partition(" "),
        s.center(15, "*"),
        s.zfill(13),
        ",".join(["a", "b"]),
        s.title(),
        s.count("l"),
        s.swapcase(),
        s.isalpha(),
        "a-b_c".translate(str.maketrans("-_", "  ")),
        s.encode(),
        "%s=%d" % ("a", 3),
        "{:>5}|{:<5}|{:^5}".format(1, 2, 3),
        f"{3.14159:.2f} {10:05d} {255:#x} {1e6:,}",
        x + 1,
    )


@case(graphs=0, ops=0)
def str2(x):
    n = "w"
    v = 3
    return (
        f"{v=}",
        f"{n!r:>6}",
        f"{x.shape}",
        f"{x.dtype} {x.ndim}",
        "{}",
        f"{v:{n if False else 5}}",
        "abc"[1],
        "abc"[-2:],
        "a" in "abc",
        "a" < "b",
        "a" * 3,
        "x".join(str(i) for i in range(3)),
        str(1.0),
        repr("q"),
        str(None),
        str(x.shape),
        "{0[1]} {a.real}".format([1, 2], a=3),
        "a\tb".expandtabs(4),
        "a,b".rsplit(",", 1),
        " s ".strip(),
        "abc".removeprefix("a"),
    )


@case(ops=1)
def str_class(x):
    return string.ascii_lowercase, string.Template("$a b").substitute(a=1), textwrap.dedent("  a"), x + 1


@case(ops=1)
def plain_re(x):
    return re.match(r"(\d+)", "12ab").group(1), re.sub("a", "b", "aa"), x + 1


@case(ops=1)
def plain_typing(x):
    y = typing.cast(int, 3)
    if typing.TYPE_CHECKING:
        return None
    return y, typing.Optional[int] is not None, x + 1


@case(ops=1)
def callable_attrs(x):
    return (
        addk.__name__,
        addk.__defaults__,
        addk.__code__.co_argcount,
        addk.__module__ == __name__,
        (lambda: 0).__name__,
        PM.m.__qualname__,
        len.__name__,
        torch.add.__name__,
        x + 1,
    )


@case(ops=1)
def simple_namespace(x):
    n = types.SimpleNamespace(a=x, b=1)
    n.c = 2
    return n.a + n.b, vars(n)["c"], n == types.SimpleNamespace(a=1), hasattr(n, "q")


@case(ops=1)
def suppress(x):
    with contextlib.suppress(KeyError):
        {}["a"]
    return x + 1


@case(ops=1)
def exitstack(x):
    r = []
    with contextlib.ExitStack() as s:
        s.callback(r.append, 1)
        s.callback(lambda: r.append(2))
    return r, x + 1


@case(ops=1)
def nullcontext(x):
    with contextlib.nullcontext(x) as y:
        return y + 1


@case(ops=1)
def plain_heapq(x):
    h = []
    heapq.heappush(h, 3)
    heapq.heappush(h, 1)
    heapq.heappush(h, 2)
    return heapq.heappop(h), h, heapq.nlargest(2, [1, 5, 3]), heapq.nsmallest(1, [4, 2]), x + 1


@case(ops=1)
def plain_bisect(x):
    return bisect.bisect([1, 3, 5], 3), bisect.bisect_left([1, 3], 3), x + 1


@case(ops=1)
def plain_fractions(x):
    return fractions.Fraction(1, 2) + 1 == fractions.Fraction(3, 2), x + 1


@case(ops=1)
def plain_numbers(x):
    return (
        isinstance(1, numbers.Number),
        isinstance(1.5, numbers.Integral),
        isinstance(True, numbers.Real),
        x + 1,
    )


@case(ops=1)
def finfo(x):
    return (
        torch.finfo(x.dtype).eps,
        torch.finfo(torch.float16).max,
        torch.iinfo(torch.int8).min,
        torch.finfo(x.dtype).bits,
        x + torch.finfo(x.dtype).tiny,
    )


@case(ops=2)
def dtype(x):
    return (
        x.dtype == torch.float32,
        x.dtype.is_floating_point,
        x.dtype.itemsize,
        str(x.dtype),
        x.dtype in (torch.float16, torch.float32),
        x.to(torch.float64).dtype,
        torch.float32.to_complex(),
        x.dtype.is_complex,
        torch.promote_types(torch.int8, torch.float32),
        x + 1,
    )


@case(ops=2)
def device(x):
    return (
        x.device.type,
        x.device.index,
        x.device == torch.device("cpu"),
        str(x.device),
        torch.device("cpu", 0).index,
        x.device.type in ("cpu", "cuda"),
        torch.ones(2, device=x.device) + 1,
    )


@case(ops=1)
def closure_state(x):
    n = [0]

    def inc(by=1):
        n[0] += by
        return n[0]

    inc()
    inc(5)
    return x * n[0]


@case(ops=1)
def plain_nonlocal(x):
    c = 0

    def f():
        nonlocal c
        c += 1

        def g():
            nonlocal c
            c *= 10

        g()
        return c

    f()
    f()
    return x + c


@case(ops=3)
def gen_stuff(x):
    def g(n):
        for i in range(n):
            s = yield x + i
            if s:
                yield s

    it = g(3)
    a = next(it)
    b = it.send("hi")
    return a, b, [v for v in it][0]


@case(ops=1)
def default_mutable(x):
    def f(a, l=[]):
        l.append(a)
        return l

    f(1)
    return f(2), x + 1


@case(ops=1)
def star(x):
    def f(a, /, b, *c, d, e=5, **k):
        return a, b, c, d, e, k

    return f(1, 2, 3, 4, d=x, z=1), f(*[1, 2], **{"d": 2}), x + 1


@case(ops=3)
def callable_dict(x):
    ops = {"add": operator.add, "relu": torch.relu, "l": lambda v: v * 2}
    return ops["add"](x, 1), ops["relu"](x), ops["l"](x)


@case(ops=3)
def lambda_list(x):
    return [f(x) for f in [lambda v: v + 1, torch.sin, abs]], [(lambda k=i: k)() for i in range(3)]


@case(ops=3)
def getattr_dyn(x):
    return (
        getattr(torch, "sin")(x),
        getattr(x, "sum")(),
        getattr(torch.nn.functional, "relu")(x),
        getattr(math, "pi"),
        getattr(x, "nope", 1),
    )


@case(ops=1)
def isinstance_chain(x):
    r = []
    for v in (1, 1.0, "a", None, x, [1], (1,), {1: 2}, True, torch.float32, x.shape):
        r.append(
            [
                isinstance(v, t)
                for t in (
                    int,
                    float,
                    str,
                    type(None),
                    torch.Tensor,
                    (list, tuple),
                    bool,
                    collections.abc.Sequence,
                    torch.dtype,
                    torch.Size,
                )
            ]
        )
    return r, x + 1


@case(ops=1)
def ternary_chain(x):
    return (
        (x + 1 if x.ndim == 2 else x) if x.shape[0] > 1 else x * 2,
        1 < 2 < 3,
        not None or 5,
        None and 3,
        [] or "d",
    )


@case(ops=1)
def walrus(x):
    return [y for v in range(4) if (y := v * 2) > 2], (n := x.shape[0]) + n, x + 1


@case(ops=1)
def del_names(x):
    a = x + 1
    b = a
    del a
    try:
        a
    except UnboundLocalError as e:
        return b, str(e)


@case(ops=1)
def try_nested(x):
    r = []
    try:
        try:
            raise KeyError("k")
        except KeyError as e:
            raise ValueError("v") from e
        finally:
            r.append("f")
    except ValueError as e:
        r.append(type(e.__cause__).__name__)
    else:
        r.append("no")
    return r, x + 1


class MyErr(Exception):
    def __init__(self, a, b=2):
        super().__init__(a)
        self.b = b


@case(ops=1)
def custom_exc(x):
    try:
        raise MyErr("q", 5)
    except MyErr as e:
        return e.args, e.b, str(e), repr(e), x + 1


@case(ops=1)
def star_assign(x):
    a, (b, *c), *d = 1, (2, 3, 4), 5, 6
    return a, b, c, d, x + 1


@case(ops=1)
def dict_methods_chain(x):
    return (
        sorted({"a": 1, "b": 2}.items(), key=lambda kv: -kv[1]),
        dict(sorted({"b": 1, "a": 2}.items())),
        {v: k for k, v in {"a": 1}.items()},
        x + 1,
    )


@case(ops=1)
def any_gen(x):
    return (
        any(t is x for t in [x]),
        all(isinstance(t, torch.Tensor) for t in [x, x]),
        sum(1 for _ in range(3)),
        x + 1,
    )


@case(ops=1)
def sum_tuple(x):
    return sum(((1,), (2,)), ()), sum([[1]], []), sum([1.5, 2]), sum([True, True]), x + 1
