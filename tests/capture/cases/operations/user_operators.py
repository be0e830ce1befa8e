"""Operators, calls, truth, iteration, hashing and formatting that a user class defines."""

from __future__ import annotations

import functools

import torch

from tests.capture.cases.registry import case


class Formatted:
    def __init__(self, v):
        self.v = v

    def __format__(self, spec):
        return f"{spec}:{self.v}"

    def __str__(self):
        return "str"

    def __repr__(self):
        return "repr"


@case(1, 1)
def user_format(x):
    f = Formatted(2)
    return (
        x + f.v,
        f"{f:abc}",
        f"{f!s}",
        f"{f!r}",
        format(f, "zz"),
        "{:q} {}".format(f, f),
        f"{f}",
        str([f]),
        "%s %r" % (f, f),
    )


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return hash(self.n)

    def __eq__(self, other):
        return isinstance(other, Key) and self.n == other.n


@case(1, 1)
def user_hash_keys(x):
    d = {Key(1): 10, Key(2): 20}
    d[Key(1)] = 11
    return x + d[Key(1)], len(d), Key(2) in d, Key(3) in d, len({Key(1), Key(1)}), d.get(Key(5), -1)


@functools.total_ordering
class Version:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


@case(1, 1)
def total_order(x):
    a, b = Version(1), Version(2)
    return x + (a < b), a >= b, b > a, max(a, b).n, [v.n for v in sorted([b, a])], a != b


class Money:
    def __init__(self, n):
        self.n = n

    def __iadd__(self, other):
        self.n += other
        return self

    def __isub__(self, other):
        return Money(self.n - other)

    def __neg__(self):
        return Money(-self.n)

    def __pos__(self):
        return self

    def __invert__(self):
        return Money(~self.n)

    def __abs__(self):
        return Money(abs(self.n))

    def __int__(self):
        return self.n

    def __float__(self):
        return float(self.n)

    def __index__(self):
        return self.n

    def __divmod__(self, other):
        return ("divmod", other)

    def __rsub__(self, other):
        return other - self.n

    def __pow__(self, e, mod=None):
        return Money(self.n**e)

    def __rmatmul__(self, other):
        return ("rmatmul", other)

    def __round__(self, digits=None):
        return ("round", digits)

    def __lshift__(self, other):
        return Money(self.n << other)

    def __ror__(self, other):
        return ("ror", other)

    def __trunc__(self):
        return 1


@case(1, 1)
def in_place_dunders(x):
    a = Money(1)
    b = a
    a += 2
    same = a is b
    a -= 1
    return x + a.n, b.n, same, a is b


@case(1, 1)
def unary_dunders(x):
    m = Money(3)
    return (
        x + (-m).n,
        (+m) is m,
        (~m).n,
        abs(-m).n,
        int(m),
        float(m),
        [1, 2, 3, 4][m],
        divmod(m, 2),
        10 - m,
        (m**2).n,
    )


@case(1, 1)
def more_dunders(x):
    m = Money(3)
    return x + (m << 1).n, "l" @ m, round(m), round(m, 2), 7 | m, range(10)[m], "ab" * 2


class Both:
    def __add__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return ("radd", other)

    def __eq__(self, other):
        return NotImplemented

    __hash__ = None


@case(1, 1)
def not_implemented_falls_back(x):
    a, b = Both(), Both()
    try:
        a + b
    except TypeError as error:
        text = str(error)
    return x + 1, 3 + a, a == b, a != b, text


class Sized:
    def __len__(self):
        return 0


class Truthy:
    def __bool__(self):
        return False


@case(1, 1)
def truth_by_dunders(x):
    return x + bool(Sized()) + 0 if Sized() else x + 1, not Truthy(), 1 if Truthy() else 2


class CountDown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


class OldStyle:
    def __getitem__(self, i):
        if i >= 3:
            raise IndexError(i)
        return i * 2


class Reversible:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return i + 1

    def __reversed__(self):
        yield from (9, 8)


@case(1, 3)
def user_iterator(x):
    for i in CountDown(3):
        x = x + i
    return x, list(CountDown(2)), next(CountDown(1)), next(CountDown(0), "end")


@case(1, 1)
def old_iteration_protocol(x):
    a, b, c = OldStyle()
    return x + (a + b + c), list(OldStyle()), 4 in OldStyle(), 5 in OldStyle(), list(reversed(Reversible()))


class Callable:
    def __init__(self, k):
        self.k = k

    def __call__(self, x, *args, scale=1, **kwargs):
        return x * self.k * scale + len(args) + len(kwargs)


@case(1, 4)
def user_call(x):
    c = Callable(2)
    return c(x, 1, 2, scale=3, z=1)


@case(1, 2)
def callable_mapped(x):
    double = Doubler()
    return list(map(double, [x, x])), callable(double), callable(Sized())


class Doubler:
    def __call__(self, x):
        return x * 2


@case(1, 1)
def comparisons_chained_user(x):
    a, b, c = Version(1), Version(2), Version(3)
    return x + (a < b < c), a < c < b


class Matrix:
    def __init__(self, t):
        self.t = t

    def __matmul__(self, other):
        return Matrix(self.t @ other.t)

    def __getitem__(self, key):
        return self.t[key]

    def __setitem__(self, key, value):
        self.t = self.t.clone()
        self.t[key] = value

    def __delitem__(self, key):
        self.deleted = key

    def __rmul__(self, k):
        return Matrix(k * self.t)


@case(1, 6)
def matrix_wrapper(x):
    m = Matrix(x)
    p = 2 * (m @ Matrix(x.t()))
    p[0, 1] = 5
    del p["z"]
    return p[0], p.deleted


@case(1, 1)
def tensor_and_object_operator(x):
    return (x * Matrix(x)).t


class Noted:
    """Not a tensor, but torch passes its operations to it."""

    def __eq__(self, other):
        return "own"

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__, [type(value).__name__ for value in args]


@case(1, 1)
def operators_with_an_object_that_handles_operations(x):
    n = Noted()
    answers = x + n, n + x, n - x, x == n, n == x, x != n, x < n, n < x, x**n, n // x, x & n, x @ n, n @ x
    return x + 1, answers


class Answering(torch.Tensor):
    def __add__(self, other):
        return "add", type(other).__name__

    def __radd__(self, other):
        return "radd", type(other).__name__

    def __eq__(self, other):
        return "eq", type(other).__name__

    def __lt__(self, other):
        return "lt", type(other).__name__

    __hash__ = torch.Tensor.__hash__


class Plain:
    pass


@case(1, 1)
def own_operators_of_a_tensor_with_an_object(x):
    t, p = x.as_subclass(Answering), Plain()
    return x + 1, t + p, p + t, t == p, p == t, t < p, p > t, t == None, None == t, t != p  # noqa: E711
