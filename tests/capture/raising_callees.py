"""More programs that raise, for test_tracebacks.py: in functions that they call, in loops, in expressions."""

from __future__ import annotations

import functools

import torch

from tests.capture.raising_programs import four, leaf, program


@program(four)
def comp(x):
    return [x.view(n) for n in (4, 2, 3)]


@program(four)
def comp_break(x):
    print("k")
    return [(x + 1).view(n) for n in (4, (2, 2), 3)]


@program(four)
def lam(x):
    fn = lambda t: t.view(7)
    print("k")
    return fn(x + 1)


@program(four)
def lamloop(x):
    for k in range(3):
        x = x + 1
        print(k)
        if k == 1:
            fn = lambda t: t.view(7)
            fn(x)


@program(four)
def multi_line(x):
    print("hey")
    return torch.cat(
        [
            x,
            x.view(2, 2),
        ],
        dim=0,
    )


@program(four)
def attr(x):
    print("k")
    y = x * 2
    return y.nope


@program(four)
def name_error(x):
    y = x * 2
    print("k")
    return y + undefined_name


@program(four)
def unbound(x):
    if x.sum() < 0:
        z = 1
    return x + z


@program(four)
def callee_break(x):
    y = x + 1
    return deeper(y) + 1


def deeper(y):
    print("deep")
    z = y * 2
    return deepest(z)


def deepest(z):
    print("deepest")
    z = z + 1
    return z.view(9)


def recursive(x, n):
    if n == 0:
        print("n")
        return x.view(9)
    return recursive(x + 1, n - 1) * 2


@program(four)
def recursion(x):
    return recursive(x, 3)


@program(four)
def group(x):
    print("l")
    raise ExceptionGroup("g", [ValueError("a"), KeyError(x.shape[0])])


@program(four)
def note(x):
    try:
        x.view(5)
    except RuntimeError as e:
        e.add_note("noted")
        print("a")
        raise


def printing(f):
    @functools.wraps(f)
    def wrapped(*a, **k):
        print("wrapped")
        return f(*a, **k)

    return wrapped


@printing
def decorated(x):
    y = x + 1
    return y.view(11)


@program(four)
def calls_decorated(x):
    y = x + 1
    return decorated(y)


class Raising:
    @property
    def p(self):
        print("prop")
        raise AttributeError("inner")

    def __add__(self, o):
        print("add")
        return o.view(13)

    def __call__(self, x):
        return self + x


@program(four)
def prop(x, c=Raising()):
    y = x * 2
    return c.p


@program(four)
def dunder(x, c=Raising()):
    y = x * 2
    return c(y)


@program(four)
def map_call(x):
    print("1")
    return list(map(lambda k: x.view(k), [4, 3]))


@program(four)
def sorted_key(x):
    y = x + 1
    return sorted([2, 3], key=lambda k: y.view(k))


@program(leaf)
def backward(x):
    y = x * 2
    print("b")
    y.backward()


@program(leaf)
def inplace_leaf(x):
    y = x * 2
    print("b")
    x.add_(1)


@program(four)
def item_raise(x):
    if x.sum().item() > 3:
        y = x + 1
        raise ValueError(f"big {y.sum().item()}")


@program(four)
def while_loop(x):
    n = 0
    while True:
        x = x + 1
        n += 1
        if x.sum() > 14:
            raise StopIteration(n)


@program(four)
def unpack(x):
    print("u")
    a, b = x + 1


@program(four)
def args_bad(x):
    print("u")

    def inner(a, b):
        return a

    return inner(x + 1)


@program(four)
def closure(x):
    n = 5

    def inner(t):
        print("c")
        return t.view(n)

    y = x + 1
    return inner(y)


@program(four)
def match_statement(x):
    print("m")
    match x.shape:
        case (4,):
            y = x + 1
            return y.view(99)


async def co(x):
    print("co")
    return (x + 1).view(8)


@program(four)
def coroutine(x):
    c = co(x)
    try:
        c.send(None)
    except StopIteration as s:
        return s.value


@program(four)
def throwing(x):
    def g():
        try:
            yield x + 1
        except ValueError:
            print("caught")
            raise KeyError("k")

    it = g()
    next(it)
    it.throw(ValueError("v"))


@program(four)
def kbd(x):
    y = x + 1
    raise KeyboardInterrupt


@program(four)
def exitp(x):
    y = x + 1
    print("k")
    raise SystemExit(3)


@program(four)
def jit_fail_twice(x):
    for n in (4, 5):
        try:
            x.view(n)
        except RuntimeError:
            print("h")
            x = x + 1
    return x.view(6)
