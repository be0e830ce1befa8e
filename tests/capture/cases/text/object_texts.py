"""`str` and `repr` of functions, classes, methods, views, and of containers that hold them."""

from __future__ import annotations

import functools
import typing

import torch
import torch.nn.functional as F

from tests.capture.cases.registry import case


def plain(a):
    return a + 1


scaled = lambda a: a * 2


class Shown:
    def __repr__(self):
        return "shown"

    def method(self):
        return 1


class Meta(type):
    def __repr__(cls):
        return f"<{cls.__name__}>"


class MetaStr(type):
    def __str__(cls):
        return f"[{cls.__name__}]"


class WithMeta(metaclass=Meta):
    pass


class WithMetaStr(metaclass=MetaStr):
    pass


class OwnList(list):
    pass


class OwnShownList(list):
    def __repr__(self):
        return "own"


class OwnDict(dict):
    pass


class OwnText(str):
    def __str__(self):
        return "own text"


@case(1, 1)
def functions(x):
    return x + 1, str(plain), repr(scaled), f"{plain}", str([plain, scaled]), str({plain: torch.sin})


@case(1, 1)
def functions_of_torch_and_python(x):
    return x + 1, str(torch.sin), repr(F.relu), str((len, sum)), "%s" % F.gelu, "{}".format(torch.add)


@case(1, 1)
def functions_in_an_error(x):
    try:
        raise TypeError(f"no rule for {plain} in {[int, Shown]}")
    except TypeError as error:
        return x + 1, str(error)


@case(1, 1)
def classes(x):
    return x + 1, str(Shown), repr(int), f"{[Shown, torch.Tensor]}", str(type(x)), str(torch.nn.Linear)


@case(1, 1)
def classes_with_metaclasses(x):
    return x + 1, str(WithMeta), repr([WithMeta]), str(WithMetaStr), repr(WithMetaStr)


@case(1, 1)
def aliases(x):
    return x + 1, str(list[int]), repr(dict[str, Shown]), f"{typing.List[int]}"  # noqa: UP006


@case(1, 1)
def methods(x):
    shown = Shown()
    return x + 1, str(Shown.method), str(shown.method), repr([shown.method])


@case(1, 1)
def views(x):
    d = {"a": 1, "b": [plain]}
    return x + 1, str(d.keys()), repr(d.values()), f"{d.items()}"


@case(1, 1)
def containers_of_own_classes(x):
    return x + 1, str(OwnList([1])), repr([OwnShownList()]), str(OwnDict(a=1)), str(OwnText("t")) + "."


@case(1, 1, args=lambda: (torch.ones(3), [1, "a", {"k": [2]}], OwnList([1, 2])))
def arguments(x, items, own):
    return x + 1, str(items), repr(own), f"{own} {items!r}"


@case(None)
def with_an_address_of_a_new_object(x):
    def inner():
        pass

    class Plain:
        pass

    texts = str(inner), repr(Plain()), str(functools.partial(inner))
    return x + 1, [text.split(" at ")[0] for text in texts]
