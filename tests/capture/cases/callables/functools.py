"""functools: partial, caches, wraps, decorators with arguments, singledispatch, cached_property."""

from __future__ import annotations

import operator
from functools import (
    cache,
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

import torch

import capture
from tests.capture.cases.registry import case


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


class Recipe:
    def __init__(self, scale):
        self.scale = scale
        self.steps = [1, 2]


@lru_cache(maxsize=8)
def recipe(scale, *, kind):
    return Recipe(scale + len(kind))


@lru_cache(maxsize=8)
def sizes_of(made, shape):
    return [size * made.scale for size in shape], None


@case(graphs=1, ops=2)
def lru_that_gives_objects(x):
    made = recipe(2, kind="a")
    sizes, _ = sizes_of(made, (2, 3))
    return x * sizes[1] + made.steps[1], made is recipe(2, kind="a")


@lru_cache(maxsize=1)
def last_only(n):
    return n * 2


@case(graphs=1, ops=1)
def lru_that_is_full(x):
    return x * last_only(1), last_only(2), last_only(1), last_only(2)


@lru_cache(maxsize=None, typed=True)
def mask(size):
    return torch.arange(size)


mask(3)


@case(graphs=1, ops=2)
def lru_that_holds_a_tensor(x):
    return x.sum() * mask(3), mask(3) is mask(3)


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


def distance(x, y):
    return (x - y).abs().sum(-1)


@case(ops=23)
def a_function_that_torch_calls(x):
    loss = torch.nn.functional.triplet_margin_with_distance_loss
    return (
        loss(x, x + 1, x - 1),
        loss(x, x + 1, x * 3, distance_function=distance),
        loss(x, x + 1, x * 3, distance_function=torch.nn.functional.pairwise_distance),
    )


# --- caches that the frame makes ----------------------------------------------------------------------------


@case(graphs=1, ops=4)
def cache_of_tensors(x):
    @cache
    def times(n):
        return x * n

    return times(2) + times(2) + times(3), times.cache_info(), times.__name__


@case(graphs=1, ops=2)
def cache_by_tensor(x):
    calls = []

    @lru_cache
    def double(t):
        calls.append(1)
        return t * 2

    y = double(x)
    return y is double(x), double(y), calls


@case(graphs=1, ops=1)
def cache_of_a_recursive_function(x):
    @cache
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    return x + fibonacci(20), fibonacci.cache_info()


@case(graphs=1, ops=1)
def cache_with_a_size(x):
    calls = []

    @lru_cache(maxsize=1, typed=True)
    def note(n, *, k=1):
        calls.append(n)
        return n + k

    results = [note(1), note(1), note(2), note(1), note(1.0), note(1, k=1)]
    info = note.cache_info()
    note.cache_clear()
    return x + note(1), results, calls, info, note.cache_info()


@case(graphs=1, ops=1)
def cache_that_keeps_no_exceptions(x):
    @lru_cache
    def fail(n):
        raise ValueError(n)

    caught = []
    for n in (1, 1, [2]):
        try:
            fail(n)
        except (ValueError, TypeError) as error:
            caught.append(str(error))
    return x + 1, caught, fail.cache_info()


@case(graphs=2, ops=2)
def cache_across_a_break(x):
    @cache
    def times(n):
        return x * n

    y = times(2)
    capture.graph_break()
    return y, times(3)


@case(graphs=1, ops=2)
def cache_in_a_class(x):
    class Numbers:
        @cache
        def double(self, n):
            return n * 2

    return Numbers().double(3) + x, x * 2
