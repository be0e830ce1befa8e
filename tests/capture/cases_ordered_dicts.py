"""OrderedDict: attributes, subclasses that say how items are set; the state of a module."""

from __future__ import annotations

import collections

import torch

from tests.capture.registry import case

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
    print("broken")
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
def what_goes_by_the_methods_of_the_subclass_is_left_to_python(x):
    o = Scaling(a=1, b=2)
    y = x + 1
    return y, o.pop("a"), o.setdefault("c", 3), o.copy()


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
