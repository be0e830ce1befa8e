"""Exceptions raised, handled and chained: user classes, finally, groups, CPython's argument errors."""

from __future__ import annotations

import contextlib
import functools

import torch

from tests.capture.cases.registry import case


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
