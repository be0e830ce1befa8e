"""Operators and conversions that a user class defines."""

from __future__ import annotations

import collections
import operator

from tests.capture.cases.registry import case


class V:
    def __init__(self, v):
        self.v = v

    def __add__(self, o):
        return V(self.v + (o.v if isinstance(o, V) else o))

    def __radd__(self, o):
        return V(o + self.v)

    def __iadd__(self, o):
        self.v = self.v + 1000
        return self

    def __sub__(self, o):
        return NotImplemented

    def __rsub__(self, o):
        return ("rsub", o)

    def __mul__(self, o):
        return V(self.v * o)

    __rmul__ = __mul__

    def __neg__(self):
        return V(-self.v)

    def __pos__(self):
        return V(+self.v)

    def __abs__(self):
        return V(abs(self.v))

    def __invert__(self):
        return ("inv", self.v)

    def __matmul__(self, o):
        return ("mm", o)

    def __rmatmul__(self, o):
        return ("rmm", o)

    def __truediv__(self, o):
        return ("td", o)

    def __floordiv__(self, o):
        return ("fd", o)

    def __mod__(self, o):
        return ("mod", o)

    def __divmod__(self, o):
        return ("dm", o)

    def __rdivmod__(self, o):
        return ("rdm", o)

    def __pow__(self, o, m=None):
        return ("pow", o, m)

    def __rpow__(self, o):
        return ("rpow", o)

    def __lshift__(self, o):
        return ("ls", o)

    def __and__(self, o):
        return ("and", o)

    def __or__(self, o):
        return ("or", o)

    def __ror__(self, o):
        return ("ror", o)

    def __xor__(self, o):
        return ("xor", o)

    def __eq__(self, o):
        return isinstance(o, V) and self.v is o.v

    def __lt__(self, o):
        return "lt"

    def __le__(self, o):
        return "le"

    def __hash__(self):
        return 7

    def __bool__(self):
        return False

    def __len__(self):
        return 3

    def __int__(self):
        return 11

    def __float__(self):
        return 1.5

    def __complex__(self):
        return 1j

    def __index__(self):
        return 2

    def __round__(self, n=None):
        return ("round", n)

    def __trunc__(self):
        return 4

    def __floor__(self):
        return 5

    def __ceil__(self):
        return 6

    def __str__(self):
        return "VS"

    def __repr__(self):
        return "VR"

    def __format__(self, s):
        return f"VF{s}"

    def __bytes__(self):
        return b"vb"

    def __contains__(self, k):
        return k == 1

    def __getitem__(self, k):
        return k

    def __iter__(self):
        return iter([1, 2])

    def __reversed__(self):
        return iter([2, 1])

    def __call__(self, *a, **k):
        return (a, k)

    def __sizeof__(self):
        return 1

    def __dir__(self):
        return ["zz"]


@case(ops=9)
def v_arith(x):
    a = V(x)
    b = V(x + 1)
    return (a + b).v, (a + 1).v, (1 + a).v, (-a).v, (+a).v, abs(a).v, ~a, (a * 2).v, (3 * a).v


@case(ops=1)
def v_arith2(x):
    a = V(x)
    return (
        5 - a,
        a @ 3,
        3 @ a,
        a / 2,
        a // 2,
        a % 2,
        divmod(a, 2),
        divmod(2, a),
        a**2,
        2**a,
        pow(a, 2, 3),
        a << 1,
        a & 1,
        a | 1,
        1 | a,
        a ^ 1,
        x + 1,
    )


@case(ops=1)
def v_iadd(x):
    a = V(x)
    b = a
    a += 1
    return a is b, a.v


@case(ops=1)
def v_unsupported(x):
    a = V(1)
    r = []
    for f in (lambda: a - 1, lambda: a >> 1, lambda: 1 / a, lambda: [] + a):
        try:
            r.append(f())
        except TypeError as e:
            r.append(str(e))
    return r, x + 1


@case(ops=1)
def v_conv(x):
    a = V(1)
    return (
        int(a),
        float(a),
        complex(a),
        [10, 20, 30][a],
        round(a),
        round(a, 2),
        bool(a),
        len(a),
        bytes(a),
        operator.index(a),
        hash(a),
        x + 1,
    )


@case(ops=1)
def v_math(x):
    import math

    a = V(1)
    return math.floor(a), math.ceil(a), math.trunc(a), math.sqrt(a), range(a), "a" * a if False else 0, x + 1


@case(ops=1)
def v_str(x):
    a = V(1)
    return (
        str(a),
        repr(a),
        f"{a}",
        f"{a!r}",
        f"{a:>5}",
        format(a, "x"),
        "%s %r" % (a, a),
        "{} {!r}".format(a, a),
        x + 1,
    )


@case(ops=1)
def v_cont(x):
    a = V(1)
    return (
        1 in a,
        5 in a,
        a[3],
        a[1:2],
        list(a),
        [*a],
        tuple(reversed(a)),
        a(1, k=2),
        sum(a),
        max(a),
        dict([a]),
        x + 1,
    )


@case(ops=1)
def v_cmp(x):
    a = V(1)
    b = V(2)
    return a == b, a != b, a < b, a <= b, a > b, a >= b, a == a, {a: 1}[a], x + 1


@case(ops=1)
def v_branch(x):
    a = V(1)
    if a:
        return x
    return x + 1 if not a else x


@case(ops=1)
def v_unpack(x):
    p, q = V(1)
    return p, q, x + 1


class Quantity:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return type(self)(self.value + other.value)

    __radd__ = __add__

    def __getattr__(self, name):
        raise AttributeError(f"asked for {name}")


class Length(Quantity):
    pass


class Area(Quantity):
    def __radd__(self, other):
        return "first"


@case(graphs=1, ops=2)
def reflected_methods_come_first_where_the_subclass_has_its_own(x):
    sums = Quantity(x) + Length(x), Length(x) + Quantity(x), Quantity(x) + Area(x)
    return [getattr(s, "value", s) for s in sums], [type(s).__name__ for s in sums]


@case(graphs=1, ops=1)
def operators_that_the_class_lacks(x):
    """Operators are looked up on the class, so Python does not call `__getattr__`."""
    said = []
    for attempt in (
        lambda: -Quantity(1),
        lambda: ~Quantity(1),
        lambda: abs(Quantity(1)),
        lambda: int(Quantity(1)),
        lambda: float(Quantity(1)),
        lambda: complex(Quantity(1)),
        lambda: round(Quantity(1)),
        lambda: Quantity(1) - 1,
    ):
        try:
            attempt()
        except (TypeError, AttributeError) as error:
            said.append((type(error).__name__, str(error)))
    return x + 1, said


class Indexed:
    def __index__(self):
        return 7


class Text(str):
    pass


@case(graphs=1, ops=1)
def numbers_of_objects(x):
    return (
        x + 1,
        int(Indexed()),
        float(Indexed()),
        complex(Indexed()),
        int(Text("12")),
        float(Text("1.5")),
        int(Text("ff"), 16),
    )


class Answering(dict):
    def __getitem__(self, key):
        return "asked"


class AnsweringInOrder(collections.OrderedDict):
    def __getitem__(self, key):
        return "asked"


@case(graphs=1, ops=1)
def copies_of_dicts_with_their_own_getitem(x):
    """Python reads a subclass of dict without its methods, unless the class defines its own iteration."""
    first, second = Answering(a=1), AnsweringInOrder(a=1)
    updated = {}
    updated.update(first)
    return (
        x + 1, dict(first), {**first}, updated, dict(second), {**second}, collections.OrderedDict(first),
        (lambda **names: names)(**first),
        first["a"],
    )  # fmt: skip
