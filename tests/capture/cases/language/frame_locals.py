"""`locals()`, `vars()` and `dir()`: a frame's view of its own variables."""

from __future__ import annotations

from tests.capture.cases.registry import case, show


@case(1, 2)
def locals_read(x):
    y = x + 1
    z = 3
    found = locals()
    return found["y"] + found["z"], sorted(found)


@case(1, 1)
def locals_as_arguments(x):
    name = "x"
    return "{name} {k}".format(**locals(), k=2), x + 1


@case(1, 1)
def vars_and_dir_of_a_frame(x):
    y = x + 1
    return sorted(vars()), dir(), y


@case(1, 2)
def locals_are_one_dict(x):
    first = locals()
    y = x + 1
    before = len(first)
    second = locals()
    del y
    third = locals()
    first["added"] = 3
    return first is second is third, before, sorted(first), x * 2, list(locals())


@case(0, 0)
def locals_of_a_frame_that_breaks(x):
    y = x + 1
    show("broken")
    return sorted(locals()), y * 2


@case(0, 0)
def vars_of_a_frame_that_breaks(x):
    y = x + 1
    show("broken")
    return sorted(vars()), y * 2


def product_and_names(a, b=2):
    c = a * b
    return locals()


def product_and_names_with_a_break(a, b=2):
    c = a * b
    show("broken")
    return locals()


@case(1, 3)
def locals_of_a_callee(x):
    return product_and_names(x)["c"] + 1, list(product_and_names(x))


@case(1, 1)
def locals_of_a_callee_that_breaks(x):
    return product_and_names_with_a_break(x)["c"] + 1, list(product_and_names_with_a_break(x))


@case(1, 2)
def locals_with_cells(x):
    k = 3

    def inner(z):
        q = k + z
        return locals()

    return sorted(inner(x)), locals()["k"] + x, list(locals())


@case(1, 1)
def locals_in_comprehensions_and_generators(x):
    def numbers():
        a = 1
        yield sorted(locals())

    return [sorted(locals()) for _ in range(2)], {k: v for k, v in locals().items()}, list(numbers()), x + 1


@case(1, 2)
def locals_that_become_attributes(x):
    class Settings:
        def __init__(self, a=1, b=2):
            self.__dict__.update({k: v for k, v in locals().items() if k != "self"})

    settings = Settings(3)
    return x + settings.a + settings.b, sorted(vars(settings))


@case(1, 1)
def locals_with_rest_arguments(x, *args, k=1, **rest):
    return x + 1, list(locals()), locals()["rest"], dict(**locals())


@case(2, 2)
def vars_of_an_object_and_a_break(x):
    y = x + 1
    show("broken")
    return y * 2, list(map(vars, [locals_read])), vars(locals_read)
