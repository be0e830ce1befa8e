"""Functions that captured code makes: wrappers, their attributes, argument errors, recursion."""

from __future__ import annotations

import contextlib
import functools

import torch

from tests.capture.cases.registry import case, show


def existing(v):
    "doc"
    return v * 2


existing.k = 4


@contextlib.contextmanager
def manager():
    yield


@case(1, 3)
def wraps_function_of_the_frame(x):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args):
            return f(*args) + 1

        return wrapper

    x = x.sin()

    @decorate
    def double(v):
        "doubled"
        return v * 2

    return double(x), double.__name__, double.__doc__


@case(1, 3)
def update_wrapper_copies_attributes(x):
    def f(v):
        return v * 2

    def g(v):
        return f(v) + 1

    f.k = 3
    functools.update_wrapper(g, f)
    return g(x) + g.k, g.__dict__["k"], list(f.__dict__)


@case(1, 3)
def wraps_existing_function(x):
    @functools.wraps(existing)
    def wrapper(v):
        return existing(v) + 1

    same = wrapper.__wrapped__ is existing
    return wrapper(x) + wrapper.k, wrapper.__name__, wrapper.__doc__, same, existing.__dict__["k"]


@case(1, 2)
def wrapper_is_returned(x):
    y = x + 1

    @functools.wraps(existing)
    def wrapper(v):
        return existing(v) + y

    return y * 2, wrapper


@case(1, 1)
def context_manager_decorates(x):
    @manager()
    def f(v):
        return v + 1

    return f(x)


@case(1, 2)
def dict_of_function(x):
    def f(v):
        return v

    f.__dict__["q"] = 3
    f.__dict__.update(z=4)
    return f(x) + f.q + f.z, len(vars(f))


@case(1, 1)
def positional_only_by_name(x):
    def f(a, b, /):
        return a

    try:
        f(a=x, b=1)
    except TypeError as error:
        return x + 1, str(error)


@case(1, 1)
def keyword_twice(x):
    def f(a, b):
        return a

    try:
        f(x, b=1, **{"b": 2})
    except TypeError as error:
        return x + 1, str(error)


@case(1, 2)
def union_of_classes(x):
    return x + isinstance(3, int | str) + isinstance(None, int | None)


@case(1, 3)
def called_until_sentinel(x):
    values = [1, 2, 3, 0]
    return [x + i for i in iter(lambda: values.pop(0), 0)]


@case(1, 2)
def largest_of_generators(x):
    return x + max(i * 2 for i in range(3)) + min(i for i in (3, 2))


@case(1, 1)
def notes_of_exception(x):
    try:
        error = ValueError("s")
        error.add_note("n")
        raise error
    except ValueError as caught:
        return x + 1, caught.__notes__


TEMPORARY = 1


@case(1, 1)
def global_deleted(x):
    global TEMPORARY
    TEMPORARY = 3
    y = x + TEMPORARY
    del TEMPORARY
    try:
        return y, TEMPORARY
    except NameError as error:
        TEMPORARY = 1
        return y, str(error)


@case(1, 2)
def items_that_nothing_reads(x):
    x[0]
    values, _ = x.max(1)
    return values


@case(1, 2)
def one_part_of_many(x):
    return torch.split(x, 1, 1)[2]


@case(None, None)
def generator_left_in_try(x):
    log = []

    def numbers():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    y = x + 1
    for v in numbers():
        log.append(v)
        break
    log.append("behind")
    return y, log


@case(1, 1)
def generator_closes_its_delegate(x):
    log = []

    def outer():
        try:
            yield from inner()
        finally:
            log.append("outer")

    def inner():
        try:
            yield 1
        finally:
            log.append("inner")

    numbers = outer()
    next(numbers)
    numbers.close()
    return x + 1, log


@case(1, 1)
def generator_throws_into_its_delegate(x):
    def inner():
        try:
            yield 1
        except ValueError:
            yield "caught"
        return "done"

    def outer():
        yield (yield from inner())

    texts = outer()
    next(texts)
    return x + 1, texts.throw(ValueError()), next(texts)


@case(1, 1)
def generator_delegate_ends_by_exception(x):
    def inner():
        try:
            yield 1
        except ValueError:
            return 7

    def outer():
        result = yield from inner()
        yield result + 1

    numbers = outer()
    next(numbers)
    return x + numbers.throw(ValueError())


@case(1, 1)
def wrong_causes_and_classes(x):
    texts = []
    try:
        raise ValueError from 3
    except TypeError as error:
        texts.append(str(error))
    try:
        try:
            raise ValueError
        except 3:
            pass
    except TypeError as error:
        texts.append(str(error))
    try:
        [*3]
    except TypeError as error:
        texts.append(str(error))
    return x + 1, texts


@case(1, 2)
def defaults_replaced(x):
    def scaled(v, by=2, *, plus=3):
        return v * by + plus

    before = scaled.__defaults__, scaled.__kwdefaults__
    scaled.__defaults__ = (5,)
    scaled.__kwdefaults__["plus"] = 7
    return scaled(x), scaled.__defaults__, before


@case(2, 3)
def defaults_replaced_across_a_break(x):
    def scaled(v, by=2, *, plus=3):
        return v * by + plus

    keywords = scaled.__kwdefaults__
    scaled.__defaults__ = None
    x = x + 1
    show("break")
    keywords["plus"] = 9
    try:
        return scaled(x)
    except TypeError as error:
        return scaled(x, 4), str(error)


@case(1, 1)
def defaults_are_a_tuple(x):
    def same(v=1):
        return v

    try:
        same.__defaults__ = [2]
    except TypeError as error:
        return x + 1, str(error), same.__kwdefaults__, same.__closure__


@case(1, 3)
def cells_of_a_closure(x):
    by, taken = 3, []

    def scaled(v):
        taken.append(by)
        return v * by

    names = dict(zip(scaled.__code__.co_freevars, scaled.__closure__, strict=True))
    result = scaled(x) + names["by"].cell_contents
    by = 4
    return result + names["by"].cell_contents, len(scaled.__closure__), taken


@case(graphs=1, ops=1)
def functions_written_in_c_are_compared(x):
    same = torch.ones == torch.zeros, torch.ones == torch.ones, torch.ones != len
    return x + 1, same, torch.ones in (torch.zeros, torch.ones), [torch.sin].index(torch.sin)
