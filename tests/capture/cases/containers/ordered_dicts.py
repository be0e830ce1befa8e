"""OrderedDict: attributes, subclasses that define how items are set; the state of a module."""

from __future__ import annotations

import collections

import torch

from tests.capture.cases.registry import case, show

torch.manual_seed(0)
NET = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))


@case(1, None)
def state_of_a_module(x):
    state = NET.state_dict()
    return x @ state["0.weight"], list(state), state._metadata["0"], state


@case(1, 1)
def attributes_of_an_ordered_dict(x):
    o = collections.OrderedDict(a=1)
    o.tag = "t"
    return x + o["a"], o, o.tag, hasattr(o, "other")


@case(2, 2)
def attributes_of_an_ordered_dict_behind_a_break(x):
    o = collections.OrderedDict(a=1)
    o.tag = x * 2
    show("broken")
    return o["a"], o.tag + 1


class Adding(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value + 1)


class Noting(Adding):
    def update(self, *args, **kwargs):
        super().update(*args, **kwargs)
        self.updated = True


class Scaling(collections.OrderedDict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 10


@case(1, 1)
def items_are_set_by_the_subclass(x):
    o = Adding(a=1)
    o["b"] = 1
    o.update(c=2)
    o.update([("d", 4)])
    o |= {"e": 5}
    o.update({"f": 6}, g=7)
    return x + o["a"], dict(o), o


@case(1, 1)
def update_of_the_subclass(x):
    o = Noting([("q", 1)])
    before = hasattr(o, "updated")
    o.update(r=2)
    return x + 1, o, before, dict(o), o.updated


@case(1, 1)
def items_are_read_by_the_subclass(x):
    o = Scaling(a=1)
    o.update(b=2)
    return x + 1, o["b"], list(o), o.get("b"), list(o.items()), list(o.values())


@case(1, 1)
def methods_that_call_the_class_or_its_own_methods(x):
    o = Scaling(a=1, b=2)
    y = x + 1
    return y, o.pop("a"), o.setdefault("c", 3), o.copy(), o | {"d": 4}, {"e": 5} | o, type(o.copy()).__name__


class Logged(collections.OrderedDict):
    log: list = []

    def __setitem__(self, key, value):
        self.log.append(("set", key))
        super().__setitem__(key, value)

    def __getitem__(self, key):
        self.log.append(("get", key))
        return super().__getitem__(key)

    def __delitem__(self, key):
        self.log.append(("del", key))
        super().__delitem__(key)

    def __contains__(self, key):
        self.log.append(("in", key))
        return super().__contains__(key)


def own_methods(o, x):
    Logged.log.clear()
    o["a"], o["b"], o["c"] = x, 2, 3
    results = [o.pop("a"), o.pop("q", 5), o.popitem(), o.setdefault("d", x), o.setdefault("d", 4), o["b"]]
    try:
        o.pop("q")
    except KeyError as error:
        results.append(str(error))
    made = o.copy(), o | {"z": 1}, {"z": 1} | o
    o.clear()
    try:
        o.popitem()
    except KeyError as error:
        results.append(str(error))
    return results, [list(m.items()) for m in made], [type(m) is type(o) for m in made], list(Logged.log)


@case(1, 1)
def which_own_methods_are_asked(x):
    return x + 1, own_methods(Logged(), x)


@case(1, 1, args=lambda: (torch.ones(3), Logged(k=1)))
def which_own_methods_of_an_argument_are_asked(x, o):
    return x + 1, own_methods(o, x)


@case(1, 1)
def keys_that_come_at_the_last_one(x):
    texts = []
    for size in range(3):
        ordered = collections.OrderedDict.fromkeys(range(size))
        try:
            for key in ordered:
                ordered[key + 10] = 1
        except RuntimeError as error:
            texts.append(str(error))
        iterator = iter(ordered.items())
        texts.append([*iterator])
        ordered["late"] = 2
        texts.append(next(iterator, None))
    return x + 1, texts
