"""The bases of classes, and the classes that were made from them."""

from __future__ import annotations

import torch

from tests.capture.cases.registry import case, show


class Base:
    @staticmethod
    def f(x):
        return x


class First(Base):
    pass


class Second(Base):
    @staticmethod
    def f(x):
        return x + 5


class Deeper(Second):
    pass


@case(1, 1)
def number_of_subclasses(x):
    return x + len(Base.__subclasses__())


@case(1, 1)
def walk_over_subclasses(x):
    for cls in Base.__subclasses__():
        if cls.__name__ == "Second":
            x = cls.f(x)
    return x, Base.__subclasses__(), type.__subclasses__(Base)


@case(1, 1)
def subclasses_of_subclasses(x):
    def below(cls):
        return [cls] + [found for sub in cls.__subclasses__() for found in below(sub)]

    return x + len(below(Base)), [cls.__name__ for cls in below(Base)]


@case(1, 1)
def bases_and_order(x):
    return x + len(Deeper.mro()), Deeper.mro(), Deeper.__mro__, Deeper.__bases__, Deeper.__base__, int.mro()


@case(1, 1)
def base_of_object(x):
    return x + 1, object.__base__, object.__bases__, object.__subclasses__ is None


@case(None)
def subclass_made_by_the_frame(x):
    class Own:
        pass

    class Inner(Own):
        pass

    return x + len(Own.__subclasses__()), Inner.__mro__[1] is Own


def with_a_new_base():
    base = type("New", (), {})
    return torch.ones(3), lambda: base


@case(None, args=with_a_new_base, fresh=True)
def subclass_of_an_argument(x, new):
    base = new()

    class Local(base):
        pass

    return x + len(base.__subclasses__()), [cls.__name__ for cls in base.__subclasses__()]


@case(None, args=with_a_new_base, fresh=True)
def subclass_of_an_argument_in_front_of_a_break(x, new):
    base = new()

    class Local(base):
        pass

    y = x + 1
    show("a break")
    return y * len(base.__subclasses__())


@case(None, args=with_a_new_base, fresh=True)
def subclass_that_a_function_makes(x, new):
    base = new()

    def make():
        return type("Made", (base,), {"k": 2})

    made = make()
    y = x + made.k
    show("a break")
    return y + len(base.__subclasses__()), [cls.__name__ for cls in base.__subclasses__()]
