"""Control flow, breaks at every nesting, exceptions, contexts, generators: with graphs and operations counted."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import random
import sys
import time
import warnings

import torch

import capture
from tests.capture.registry import case


def say(*args):
    print(*args)


# --- breaks, counted -------------------------------------------------------------------------------------------------------------


@case(2, 2)
def break_between(x):
    y = x + 1
    capture.graph_break()
    return y + 1


@case(3, 3)
def two_breaks(x):
    y = x + 1
    capture.graph_break()
    y = y * 2
    capture.graph_break()
    return y - 1


@case(1, 1)
def break_first(x):
    print("first")
    return x + 1


@case(1, 1)
def break_last(x):
    y = x + 1
    print("last")
    return y


@case(0, 0)
def only_print(x):
    print("nothing else")
    return x


@case(4, 4)
def break_in_each_iteration(x):
    for i in range(3):
        x = x + i
        capture.graph_break()
    return x * 2


@case(3, 3)
def break_in_while(x):
    i = 0
    while True:
        x = x + 1
        i += 1
        if i == 3:
            break
        print(i)
    return x


@case(2, 2)
def break_in_nested_loops(x):
    for i in range(2):
        for j in range(2):
            if i == 1 and j == 0:
                x = x + 1
                print(i, j)
    return x * 2


@case(2, 3)
def break_in_if(x):
    y = x + 1
    if y.shape[0] == 3:
        print("three")
        y = y * 2
    else:
        y = y * 3
    return y - 1


@case(2, 2)
def break_in_with_nullcontext(x):
    with contextlib.nullcontext():
        y = x + 1
        print("inside")
        y = y * 2
    return y


class Quiet:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, *args):
        self.log.append(("out", args[0] and args[0].__name__))
        return True


@case(2, 2)
def break_in_user_with(x):
    log = []
    with Quiet(log):
        y = x + 1
        print(log)
        y = y * 2
    return y, log


@case(2, 5)
def break_in_nested_with(x):
    log = []
    with Quiet(log), torch.no_grad():
        with Quiet(log):
            y = x + 1
            print("deep", torch.is_grad_enabled())
        z = y * 2
    return z, log, torch.is_grad_enabled()


@case(2, 2)
def exception_after_break_in_with(x):
    log = []
    with Quiet(log):
        y = x + 1
        print("raise next")
        raise KeyError("x")
    return y * 2, log


@case(2, 2)
def break_in_try_body(x):
    try:
        y = x + 1
        print("body")
        y = y * 2
    except ValueError:
        y = x
    finally:
        done = True
    return y, done


@case(2, 2)
def break_then_raise_in_try(x):
    try:
        y = x + 1
        print("body")
        raise ValueError("v")
    except ValueError as error:
        y = y * len(str(error))
    return y


@case(1, 1)
def break_raises_itself(x):
    y = x + 1
    try:
        int("zz", 5, 6) if False else say(1 / 0)
    except ZeroDivisionError as error:
        return y, str(error)


@case(2, 2)
def break_in_handler(x):
    try:
        {}["k"]
    except KeyError as error:
        y = x + 1
        print("handler", error, sys.exc_info()[0].__name__)
        y = y * 2
    return y


@case(2, 2)
def break_in_finally_block(x):
    try:
        y = x + 1
    finally:
        print("finally")
        y = y * 2
    return y


@case(2, 2)
def finally_after_return_in_try(x):
    def inner(v):
        try:
            return v + 1
        finally:
            print("leaving")

    return inner(x) * 2


@case(None, None)
def break_in_comprehension(x):
    return [say(i) or x + i for i in range(2)]


@case(None, None)
def break_in_generator(x):
    def numbers():
        yield 1
        print("between")
        yield 2

    return x * sum(numbers())


@case(None, None)
def break_while_generator_lives(x):
    def numbers():
        yield 1
        yield 2
        yield 3

    g = numbers()
    y = x + next(g)
    print("alive")
    return y + next(g), list(g)


@case(None, None)
def generator_returned(x):
    def numbers():
        yield x + 1
        yield x + 2

    return list(make_generator(x)), numbers is not None


def make_generator(x):
    return (x * i for i in range(3))


@case(None, None)
def break_inside_contextmanager_block(x):
    log = []
    with managed(log) as k:
        y = x * k
        print("in block")
        y = y + 1
    return y, log


@contextlib.contextmanager
def managed(log):
    log.append("enter")
    try:
        yield 3
    finally:
        log.append("exit")


@case(3, 3)
def break_in_called_function(x):
    return prints_inside(x + 1) * 3


def prints_inside(x):
    y = x * 2
    print("callee")
    return y


@case(2, 2)
def break_in_argument(x):
    return torch.add(x + 1, (print("arg"), 2)[1])


@case(2, 2)
def break_in_condition(x):
    y = x + 1
    if say("cond") is None:
        return y * 2
    return y


@case(2, 2)
def break_in_call_arguments(x):
    return dict(a=x + 1, b=say("kw"), c=x * 2)


@case(2, 2)
def break_on_item(x):
    n = int(x.sum().item() * 0) + 2
    return x * n


@case(2, 3)
def break_on_tolist(x):
    values = (x * 0)[0].tolist()
    return x + sum(values), len(values)


@case(2, 4)
def tensor_condition(x):
    y = x * 2
    if y.sum() > -1e9:
        return y + 1
    return y - 1


@case(2, None)
def tensor_condition_and(x):
    if x.shape[0] == 3 and x.sum() > -1e9:
        return x + 1
    return x - 1


@case(None, None)
def tensor_while(x):
    i = 0
    while (x * 0 + i).sum() < 20:
        x = x + 1
        i += 1
    return x, i


@case(None, None)
def tensor_ternary(x):
    return x + 1 if (x > 100).any() else x - 1


@case(None, None)
def tensor_not_and_or(x):
    a = not x.sum() > 1e9
    b = (x.sum() > 1e9) or 5
    c = (x.sum() < 1e9) and 7
    return x + a, b, c


@case(1, 4)
def tensor_assert(x):
    assert (x > -1e9).all(), "all big"
    return x + 1


@case(1, None)
def tensor_assert_fails(x):
    assert (x > 1e9).all(), f"shape {tuple(x.shape)}"
    return x + 1


@case(1, 1)
def static_assert(x):
    assert x.dim() == 2 and x.shape[1] == 4, "shape"
    assert isinstance(x, torch.Tensor)
    return x + 1


@case(None, None)
def static_assert_fails(x):
    assert x.dim() == 3, f"got {x.dim()}"
    return x + 1


@case(2, 2)
def break_keeps_locals(x):
    a, b, (c, d), e = 1, [2], (3, {"k": 4}), x + 1
    print("locals")
    b.append(a)
    d["z"] = c
    return e * 2, a, b, c, d


@case(2, 2)
def break_keeps_identity(x):
    shared = [1]
    pair = (shared, shared)
    y = x + 1
    print("identity")
    shared.append(2)
    return y * 2, pair[0] is pair[1], pair


@case(2, 2)
def break_with_cells(x):
    total = 1

    def add(n):
        nonlocal total
        total += n
        return total

    y = x + add(2)
    print("cell", total)
    return y * add(3), total


@case(2, 2)
def break_inside_closure_user(x):
    k = 2
    f = lambda v: v * k  # noqa: E731
    y = f(x)
    print("closure")
    k = 3
    return f(y)


@case(2, 2)
def print_order_is_kept(x):
    print("a", x.shape)
    y = x + 1
    print("b", y.shape)
    z = y * 2
    print("c", z.shape)
    return z


@case(1, 1)
def deleted_before_break(x):
    big = [1] * 3
    y = x + len(big)
    del big
    print("gone")
    return y


@case(2, 2)
def time_breaks(x):
    y = x + 1
    time.time()
    return y * 2


@case(2, 2)
def random_breaks(x):
    y = x + 1
    random.seed(3)
    k = random.randint(5, 5)
    return y * k


@case(2, 2)
def logging_breaks(x):
    y = x + 1
    logging.getLogger("quiet").debug("nothing %s", 3)
    return y * 2


@case(None, None)
def namespaces_break(x):
    y = x + 1
    names = sorted(locals())
    there = "case" in globals()
    return y * 2, names, there, "append" in dir([])


async def double_later(x):
    return x * 2


@case(None, None)
def coroutine_left_alone(x):
    coroutine = double_later(x)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value + 1


# --- exceptions --------------------------------------------------------------------------------------------------------------------


class AppError(Exception):
    def __init__(self, code, *, detail="none"):
        super().__init__(f"code {code}")
        self.code = code
        self.detail = detail

    def __str__(self):
        return f"<{self.code}:{self.detail}>"


class PlainError(AppError, ValueError):
    pass


@case(1, 1)
def custom_exception(x):
    try:
        raise AppError(3, detail="d")
    except AppError as error:
        return x + error.code, str(error), error.detail, error.args


@case(1, 1)
def custom_exception_by_base(x):
    try:
        raise PlainError(4)
    except ValueError as error:
        return x * error.code, type(error).__name__, isinstance(error, AppError)


@case(0, 0)
def custom_exception_escapes(x):
    raise PlainError(7, detail="out")


@case(1, 1)
def exception_raised_in_callee(x):
    def check(v):
        if v.dim() != 3:
            raise AppError(v.dim())
        return v

    try:
        check(x)
    except AppError as error:
        return x + error.code


@case(1, 1)
def raise_from_cause(x):
    try:
        try:
            [][1]
        except IndexError as inner:
            raise AppError(1) from inner
    except AppError as error:
        return x + 1, type(error.__cause__).__name__, error.__suppress_context__


@case(1, 1)
def raise_from_none(x):
    try:
        try:
            [][1]
        except IndexError:
            raise AppError(1) from None
    except AppError as error:
        return x + 1, error.__cause__, error.__suppress_context__, type(error.__context__).__name__


@case(1, 1)
def implicit_context(x):
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            {}["missing"]
    except KeyError as error:
        return x + 1, type(error.__context__).__name__, str(error)


@case(1, 1)
def return_in_finally(x):
    def f():
        try:
            raise ValueError("lost")
        finally:
            return 5

    return x + f()


@case(1, 1)
def finally_runs_on_continue(x):
    log = []
    for i in range(3):
        try:
            if i == 1:
                continue
            log.append(i)
        finally:
            log.append("f")
    return x + 1, log


@case(1, 1)
def nested_finally_order(x):
    log = []
    try:
        try:
            log.append(1)
            raise KeyError("k")
        finally:
            log.append(2)
    except KeyError:
        log.append(3)
    else:
        log.append("never")
    finally:
        log.append(4)
    return x + 1, log


@case(1, 1)
def exception_variable_is_deleted(x):
    try:
        raise ValueError("v")
    except ValueError:
        pass
    try:
        e
    except NameError as error:
        return x + 1, type(error).__name__


@case(1, 1)
def except_tuple_and_reraise(x):
    try:
        try:
            raise TypeError("t")
        except (KeyError, TypeError):
            raise
    except Exception as e:
        return x + 1, repr(e)


@case(1, 1)
def stop_iteration_value(x):
    def g():
        yield 1
        return 5

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as stop:
        return x + stop.value


@case(1, 1)
def errors_of_python(x):
    texts = []
    for f in (
        lambda: [1][5],
        lambda: {"a": 1}["b"],
        lambda: int("q"),
        lambda: None.x,
        lambda: (1, 2) + [3],
        lambda: 1 + "a",
        lambda: len(5),
    ):
        try:
            f()
        except Exception as error:
            texts.append((type(error).__name__, str(error)))
    return x + 1, texts


@case(1, 1)
def wrong_arguments(x):
    def f(a, b, *, c):
        return a

    texts = []
    for args, kwargs in [
        ((), {}),
        ((1, 2, 3), {"c": 1}),
        ((1, 2), {}),
        ((1, 2), {"d": 3, "c": 1}),
        ((1,), {"a": 2, "c": 3}),
    ]:
        try:
            f(*args, **kwargs)
        except TypeError as error:
            texts.append(str(error).split(".")[-1])
    return x + 1, texts


@case(1, 1)
def unpacking_errors(x):
    texts = []
    for f in (
        lambda: unpack_two([1]),
        lambda: unpack_two([1, 2, 3]),
        lambda: unpack_star([]),
        lambda: unpack_two(5),
    ):
        try:
            f()
        except (ValueError, TypeError) as error:
            texts.append(str(error))
    return x + 1, texts


def unpack_two(v):
    a, b = v
    return a


def unpack_star(v):
    a, *b = v
    return a


@case(1, None)
def exception_groups(x):
    log = []
    try:
        raise ExceptionGroup("eg", [ValueError("a"), TypeError("b")])
    except* ValueError as eg:
        log.append(len(eg.exceptions))
    except* TypeError as eg:
        log.append(str(eg.exceptions[0]))
    return x + len(log), log


@case(1, None)
def shape_error_text(x):
    try:
        return x @ x
    except RuntimeError as error:
        return x + 1, str(error)


@case(1, None)
def error_restores_state(x):
    log = []
    with torch.no_grad():
        y = x + 1
        log.append(1)
        raise AppError(2)


@case(1, 1)
def exception_attributes(x):
    e = ValueError("a", 3)
    e.extra = [1]
    e.add_note("note") if False else None
    return x + e.args[1], e.extra, e


@case(1, 1)
def suppress(x):
    with contextlib.suppress(KeyError, IndexError):
        {}["a"]
        x = x * 100
    return x + 1


@case(1, 1)
def assertion_error_caught(x):
    try:
        assert x.dim() == 7, ("dim", x.dim())
    except AssertionError as error:
        return x + error.args[0][1]


@case(1, 1)
def not_implemented_caught(x):
    class_ = functools.partial(NotImplementedError, "no")
    try:
        raise class_()
    except NotImplementedError as error:
        return x + len(str(error))


# --- contexts ----------------------------------------------------------------------------------------------------------------------


@case(1, 3, lambda: (torch.ones(2, requires_grad=True),))
def no_grad_block(x):
    with torch.no_grad():
        y = x * 2
    return y, y.requires_grad


@torch.no_grad()
def decorated_no_grad(x):
    return x * 2


@case(1, None, lambda: (torch.ones(2, requires_grad=True),))
def no_grad_decorator(x):
    y = decorated_no_grad(x)
    z = x * 3
    return y, z, y.requires_grad, z.requires_grad


@case(1, None, lambda: (torch.ones(2, requires_grad=True),))
def grad_modes_nested(x):
    out = []
    with torch.no_grad():
        out.append((x * 1).requires_grad)
        with torch.enable_grad():
            out.append((x * 2).requires_grad)
            with torch.set_grad_enabled(False):
                out.append((x * 3).requires_grad)
        out.append((x * 4).requires_grad)
    return x * 5, out


@case(None, None, lambda: (torch.ones(2, requires_grad=True),))
def set_grad_enabled_as_function(x):
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return y, y.requires_grad, (x * 2).requires_grad


@case(None, None)
def inference_mode_block(x):
    with torch.inference_mode():
        y = x * 2
    return y + 0, y.is_inference()


@case(1, None)
def autocast_block(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
        z = y + 1
    return y, z, (x @ x.t()).dtype


@case(None, None)
def break_in_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
        print(y.dtype)
        z = x @ x.t()
    return z.dtype, (x @ x.t()).dtype, y


@case(None, None)
def record_function_block(x):
    with torch.profiler.record_function("block"):
        y = x + 1
    return y * 2


@case(1, 2)
def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(managed(log))
        stack.callback(log.append, "callback")
        y = x + 1
    return y * 2, log


@case(1, 1)
def closing_context(x):
    log = []

    class_ = Closable(log)
    with contextlib.closing(class_) as c:
        y = x + c.k
    return y, log


class Closable:
    def __init__(self, log):
        self.log, self.k = log, 2

    def close(self):
        self.log.append("closed")


@case(1, 2)
def nullcontext_value(x):
    with contextlib.nullcontext(5) as k:
        y = x * k
    with torch.no_grad() if False else contextlib.nullcontext():
        return y + 1


@case(None, None)
def catch_warnings_block(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x + 1
    return y * 2


@case(1, 2)
def contextmanager_exception(x):
    log = []
    try:
        with managed(log):
            x = x + 1
            raise KeyError("k")
    except KeyError:
        log.append("caught")
    return x * 2, log


class AsDecorator(contextlib.ContextDecorator):
    log: list = []

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, *exc):
        self.log.append("out")
        return False


@AsDecorator()
def in_decorator(x):
    return x + 1


@case(1, 1)
def context_decorator(x):
    AsDecorator.log.clear()
    return in_decorator(x), list(AsDecorator.log)


@case(1, 1)
def early_return_in_with(x):
    log = []

    def f(v):
        with Quiet(log):
            return v + 1

    return f(x), log


@case(1, 3)
def loop_control_in_with(x):
    log = []
    for i in range(4):
        with Quiet(log):
            if i == 1:
                continue
            if i == 3:
                break
            x = x + 1
    return x * 2, len(log)


# --- generators --------------------------------------------------------------------------------------------------------------------


@case(1, 3)
def generator_pipeline(x):
    def source():
        for i in range(3):
            yield i

    def scaled(items):
        for item in items:
            yield x * item

    return list(scaled(source()))


@case(1, 1)
def generator_throw(x):
    log = []

    def g():
        try:
            yield 1
        except ValueError:
            log.append("thrown")
            yield 2
        finally:
            log.append("closed")

    it = g()
    next(it)
    value = it.throw(ValueError("v"))
    it.close()
    return x + value, log


@case(1, 1)
def generator_close(x):
    log = []

    def g():
        try:
            yield 1
            yield 2
        finally:
            log.append("cleanup")

    it = g()
    first = next(it)
    it.close()
    return x + first, log, list(it)


@case(1, 2)
def infinite_generator(x):
    def naturals():
        n = 0
        while True:
            yield n
            n += 1

    return [x + n for n in itertools.islice(naturals(), 1, 3)]


@case(1, 1)
def generator_unpacked(x):
    a, b, *c = (i * 2 for i in range(4))
    return x + a + 0 if False else x + (a + b), c


@case(1, None)
def generator_in_builtins(x):
    return (
        torch.stack(list(x * i for i in range(2))),
        max(i for i in [1, 5, 2]),
        any(i > 4 for i in [1, 5]),
        all(i > 4 for i in [1, 5]),
        dict((i, i * 2) for i in range(2)),
        tuple(i for i in "ab"),
        set(i for i in [1, 1]),
        ",".join(str(i) for i in range(3)),
        sorted(-i for i in range(3)),
    )


@case(1, 1)
def yield_from_values(x):
    def inner():
        got = yield "a"
        return got

    def outer():
        result = yield from inner()
        yield ("done", result)

    it = outer()
    first = next(it)
    return x + 1, first, it.send("sent")


@case(1, 1)
def recursive_generator(x):
    def walk(tree):
        if isinstance(tree, list):
            for child in tree:
                yield from walk(child)
        else:
            yield tree

    return x + sum(walk([1, [2, [3, 4]], 5]))


# --- match, walrus, and other statements ---------------------------------------------------------------------------------------------


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def classify(value):
    match value:
        case 0 | 1:
            return "small"
        case int(n) if n > 100:
            return "big"
        case [] | ():
            return "empty"
        case [one]:
            return ("one", one)
        case [first, *_, last]:
            return ("ends", first, last)
        case {"op": "add", "args": [a, b], **rest}:
            return ("add", a + b, rest)
        case Point(0, y):
            return ("axis", y)
        case Point(x=px, y=py) as p:
            return ("point", px, py, p is value)
        case str() | bytes():
            return "text"
        case None | True:
            return "single"
        case float(f):
            return ("float", f)
        case _:
            return "other"


@case(1, 1)
def match_forms(x):
    values = [
        0,
        500,
        7,
        [],
        [1],
        (1, 2, 3),
        {"op": "add", "args": [1, 2], "z": 3},
        Point(0, 5),
        Point(1, 2),
        "s",
        None,
        2.5,
        {"op": "mul"},
    ]
    return x + 1, [classify(v) for v in values]


@case(1, 1)
def walrus_in_comprehension(x):
    out = [y for i in range(4) if (y := i * 2) > 2]
    return x + y, out


@case(1, 2)
def star_expressions(x):
    def f(*args, k=0, **kw):
        return len(args) + k + len(kw)

    a = [*range(2), *"ab"]
    b = {**{"k": 1}, "z": 2}
    c = (*a, *b)
    d = {*a, 1}
    first, *rest = c
    return x + f(*a, *c, **b), x * len(d), first, rest


@case(1, 1)
def default_mutable_argument(x):
    def f(item, seen=[]):
        seen.append(item)
        return seen

    f(1)
    return x + len(f(2)), f(3)


def remembers(item, seen=[]):
    seen.append(item)
    return len(seen)


@case(1, 2)
def lambdas_capture_late(x):
    fs = [lambda v: v * i for i in range(3)]
    gs = [lambda v, i=i: v * i for i in range(3)]
    return fs[0](x), gs[1](x)


@case(1, 4)
def closure_counter(x):
    def make():
        n = 0

        def count():
            nonlocal n
            n += 1
            return n

        return count

    a, b = make(), make()
    return x + a() + a() + b() + a()


@case(1, 3)
def mutual_recursion(x):
    def even(v, n):
        return v if n == 0 else odd(v + 1, n - 1)

    def odd(v, n):
        return v if n == 0 else even(v + 1, n - 1)

    return even(x, 3)


@case(1, 1)
def debug_constant(x):
    if __debug__:
        return x + 1
    return x


@case(1, 2)
def imports_inside(x):
    import math as m
    from collections import OrderedDict as OD

    import torch.nn.functional as F

    return F.relu(x) * m.floor(2.5), OD(a=1)


@case(1, 1)
def delete_forms(x):
    a, b, c = [1, 2, 3, 4], {"k": 1, "z": 2}, Point(1, 2)
    del a[1:3], b["k"], c.x
    del (a[0],)
    return x + a[0], b, hasattr(c, "x")


@case(1, 3)
def conditional_expressions(x, flag=None):
    y = x if flag else x + 1
    z = y if not flag and y.dim() == 2 else None
    return (z if z is not None else x) * (2 if flag is None else 3) - (0 or 5)


@case(1, 1)
def chained_and_identity(x):
    a = b = [1]
    return x + 1, a is b, a == [1] != [2], 1 < 2 <= 2 < 3, not (1 in a) is False, None is not a


@case(1, 4)
def augmented_targets(x):
    d, l, p = {"a": x}, [x, 1], Point(x, 2)
    d["a"] += 1
    l[0] *= 2
    l[1] += 5
    p.x -= 3
    p.y **= 2
    l += [7]
    n = 5
    n //= 2
    n |= 8
    return d["a"] / 2, l, p.x, p.y, n


@case(1, 1)
def long_condition(x):
    n = x.shape[0]
    if n > 5 or (n == 3 and x.ndim == 2 and not n % 2 == 0):
        return x * n
    elif n:
        return x
    else:
        return -x


COUNTER = 0
NAMES = ["a"]


@case(1, 1)
def global_store(x):
    global COUNTER
    COUNTER = 5
    COUNTER += 1
    y = x + COUNTER
    NAMES.append("b")
    n = len(NAMES)
    del NAMES[1:]
    COUNTER = 0
    return y, n


TEMPORARY = 3


@case(None, None)
def global_delete(x):
    global TEMPORARY
    TEMPORARY = 4
    y = x + TEMPORARY
    del TEMPORARY
    there = "TEMPORARY" in globals()
    TEMPORARY = 3
    return y, there


@case(1, 12)
def deep_calls(x):
    def level(v, n):
        return v if n == 0 else level(v + n, n - 1)

    return level(x, 12)


@case(None, None)
def deep_calls_break_at_bottom(x):
    return chain_0(x) + 1


def chain_last(x):
    print("bottom")
    return x * 2


def _chain(n):
    def link(x):
        return globals()[f"chain_{n + 1}"](x + 1) if False else NEXT[n](x + 1)

    return link


NEXT = {}
for _n in range(11, -1, -1):
    NEXT[_n] = chain_last if _n == 11 else NEXT[_n + 1 + 100]
    NEXT[_n + 100] = _chain(_n)
chain_0 = NEXT[100]
