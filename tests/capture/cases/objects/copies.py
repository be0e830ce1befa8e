"""copy.copy and copy.deepcopy."""

from __future__ import annotations

import collections
import copy
from collections import OrderedDict

import torch

from tests.capture.cases.objects.dataclasses import NT, D, Out, S
from tests.capture.cases.objects.enums import E
from tests.capture.cases.registry import case


class Cp:
    def __init__(self, v):
        self.v = v
        self.l = [1]


class CpC:
    def __init__(self, v):
        self.v = v

    def __copy__(self):
        return CpC("copied")

    def __deepcopy__(self, memo):
        return CpC("deep")


class CpR:
    def __init__(self, v):
        self.v = v

    def __reduce_ex__(self, p):
        return (CpR, (self.v + 1,))


class CpG:
    def __init__(self, v):
        self.v = v
        self.w = 1

    def __getstate__(self):
        return {"v": self.v}

    def __setstate__(self, s):
        self.v = s["v"]
        self.restored = True


@case(ops=1)
def plain_copy(x):
    l = [x, [1]]
    m = copy.copy(l)
    d = copy.copy({"a": x})
    return m, m[1] is l[1], d, copy.copy((1, 2)), copy.copy({1, 2}), copy.copy(3), x + 1


@case(ops=1)
def copy_obj(x):
    c = Cp(x)
    d = copy.copy(c)
    d.v = x + 1
    return c.v is x, d.v, d.l is c.l, type(d).__name__, d


@case(ops=1)
def deepcopy(x):
    l = [1, [2, {"a": (3, [4])}]]
    m = copy.deepcopy(l)
    m[1][1]["a"][1].append(5)
    return l, m, x + 1


@case(ops=1)
def deepcopy_obj(x):
    c = Cp(1)
    d = copy.deepcopy(c)
    d.l.append(2)
    return c.l, d.l, x + 1, d


@case(ops=1)
def deepcopy_memo(x):
    a = [1]
    l = [a, a]
    m = copy.deepcopy(l)
    return m[0] is m[1], m[0] is a, x + 1


@case(ops=1)
def deepcopy_cycle(x):
    c = Cp(1)
    c.me = c
    d = copy.deepcopy(c)
    return d.me is d, d is c, x + 1


@case(ops=1)
def copy_custom(x):
    c = CpC(1)
    return copy.copy(c).v, copy.deepcopy(c).v, x + 1


@case(ops=1)
def copy_reduce(x):
    return copy.copy(CpR(1)).v, copy.deepcopy(CpR(1)).v, x + 1


@case(ops=1)
def copy_state(x):
    c = copy.copy(CpG(x))
    return c.v + 1, c.restored, hasattr(c, "w")


@case(ops=2)
def deepcopy_dc(x):
    d = copy.deepcopy(D(1))
    e = copy.copy(D(x))
    return d, e.a + 1, d == D(1), x + 1


@case(ops=1)
def deepcopy_types(x):
    return copy.deepcopy(
        (
            1,
            "a",
            None,
            torch.float32,
            int,
            len,
            frozenset([1]),
            {1, 2},
            OrderedDict(a=1),
            NT(1, [2]),
            collections.deque([1]),
            E.A,
            range(3),
            x.shape,
        )
    ), x + 1


@case(ops=1)
def deepcopy_slots(x):
    s = copy.deepcopy(S(1))
    t = copy.copy(S(x))
    return s, t.a + 1


@case(ops=1, args=lambda: (torch.randn(3, 4), Cp([1, {"q": 2}])))
def deepcopy_arg(x, c):
    d = copy.deepcopy(c)
    d.v[1]["q"] = 3
    e = copy.copy(c)
    e.v = 1
    return c.v, d.v, e.v, x + 1


@case(ops=1, args=lambda: (torch.randn(3, 4), {"a": [1], "b": {"c": 2}}))
def deepcopy_dict_arg(x, c):
    d = copy.deepcopy(c)
    d["a"].append(2)
    return d, c, x + 1


@case(ops=1)
def deepcopy_dictsub(x):
    d = copy.deepcopy(Out(loss=1))
    return d, x + 1


@case(graphs=2, ops=2)
def deepcopy_tensor(x):
    y = copy.deepcopy(x.detach())
    return y + 1


@case(ops=1)
def copy_tensor(x):
    l = copy.copy([x])
    return l[0] is x, l[0] + 1
