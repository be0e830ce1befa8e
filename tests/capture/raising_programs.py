"""Programs that raise, for test_tracebacks.py: in graphs, in handlers and `with` blocks, in generators."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {}


def program(*arguments: Any) -> Any:
    """A program and what makes the arguments of its calls."""

    def register(function: Any) -> Any:
        PROGRAMS[function.__name__] = function, arguments if len(arguments) > 1 else arguments * 2
        return function

    return register


def four():
    return (torch.ones(4),)


def leaf():
    return (torch.ones(4, requires_grad=True),)


def good_index():
    return torch.ones(4, 2), torch.tensor([1, 2])


def bad_index():
    return torch.ones(4, 2), torch.tensor([1, 9])


def regular():
    return (torch.eye(3),)


def singular_matrix():
    return (torch.zeros(3, 3),)


def positive():
    return (torch.ones(3),)


def zero():
    return (torch.zeros(3),)


@program(good_index, bad_index)
def gather_bad(w, i):
    y = w * 2
    z = torch.nn.functional.embedding(i, y)
    return z + 1


@program(good_index, bad_index)
def gather_bad_writes(w, i):
    w.add_(1)
    y = w * 2
    z = torch.nn.functional.embedding(
        i,
        y,
    )
    return z + 1


def helper_idx(w, i):
    k = w + 1
    return k[i].sum()


@program(good_index, bad_index)
def gather_inlined_writes(w, i):
    w.mul_(3)
    return helper_idx(w, i) * 2


@program(good_index, bad_index)
def gather_inlined(w, i):
    return helper_idx(w, i) * 2


@program(good_index, bad_index)
def gather_after_break(w, i):
    w.mul_(3)
    print("x")
    w.add_(1)
    return helper_idx(w, i) * 2


@program(regular, singular_matrix)
def singular(a):
    b = a * 2
    return torch.linalg.inv(b) + 1


@program(regular, singular_matrix)
def singular_writes(a):
    a.mul_(2)
    c = torch.linalg.cholesky(a)
    return c + 1


@program(regular, singular_matrix)
def singular_writes_without_gradients(a):
    with torch.no_grad():
        a.mul_(2)
        c = torch.linalg.cholesky(a)
    return c + 1


@program(regular, singular_matrix)
def singular_writes_loop(a):
    for _ in range(2):
        a.mul_(2)
        c = torch.linalg.cholesky(a)
    return c + 1


@program(positive, zero)
def asserts(x):
    y = x + 1
    torch._assert((x > 0).all(), "not positive")
    return y


@program(positive, zero)
def asserts_writes(x):
    x.add_(0)
    assert (x > 0).all(), "not positive"
    return x + 1


class Embedded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(4, 3)
        self.lin = torch.nn.Linear(3, 3)
        self.register_buffer("n", torch.zeros(1))

    def forward(self, i):
        self.n.add_(1)
        y = self.emb(i)
        return self.lin(y)


@program(lambda: (torch.tensor([1, 2]),), lambda: (torch.tensor([1, 9]),))
def module(i, m=Embedded()):
    return m(i)


@program(four)
def handler_break(x):
    try:
        try:
            y = x.view(3)
        finally:
            print("fin")
            x = x + 1
    except RuntimeError:
        print("exc")
        raise


@program(four)
def with_break(x):
    with contextlib.suppress(KeyError):
        with managed() as k:
            y = x + k
            print("b")
            y.view(3)


@contextlib.contextmanager
def managed():
    try:
        yield 2
    finally:
        print("end")


class Manager:
    def __enter__(self):
        return 1

    def __exit__(self, *a):
        print("exit", a[0])
        return False


@program(four)
def with_a_class(x):
    with Manager() as a, Manager() as b:
        y = x + a
        print("body")
        raise ValueError(y.shape)


@program(four)
def finally_raises(x):
    try:
        y = x + 1
        print("q")
        raise KeyError("a")
    finally:
        print("z")
        y.view(5)


@program(four)
def chained(x):
    try:
        x.view(5)
    except RuntimeError as e:
        print("c")
        y = x + 1
        raise TypeError("t") from e


@program(four)
def none_chain(x):
    try:
        x.view(5)
    except RuntimeError as e:
        print("c")
        raise TypeError("t") from None


@program(four)
def reraise_var(x):
    err = None
    try:
        x.view(5)
    except RuntimeError as e:
        err = e
    print("m")
    x = x + 1
    raise err


def counting(x):
    for i in range(4):
        yield x + i
        if i == 2:
            raise ValueError("gen")


@program(four)
def gen_inlined(x):
    return sum(counting(x))


@program(four)
def gen_break(x):
    t = 0
    for v in counting(x):
        print("it")
        t = t + v
    return t
