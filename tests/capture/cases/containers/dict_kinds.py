"""Relatives of dict: OrderedDict, defaultdict, ChainMap, Counter, UserDict, mapping proxies, subclasses."""

from __future__ import annotations

import types
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict

import torch

from tests.capture.cases.registry import case


@case(ops=2)
def od_move(x):
    d = OrderedDict(a=x, b=x + 1, c=x + 2)
    d.move_to_end("a")
    d.move_to_end("c", last=False)
    return list(d.items())


@case(ops=2)
def od_popitem(x):
    d = OrderedDict([("a", x), ("b", x + 1)])
    k, v = d.popitem(last=False)
    k2, v2 = d.popitem()
    return k, k2, v + v2


@case(ops=1)
def od_fromkeys(x):
    d = OrderedDict.fromkeys([1, 2], x)
    return d[1] + d[2], d


@case(ops=1)
def od_eq(x):
    return OrderedDict(a=1, b=2) == OrderedDict(b=2, a=1), OrderedDict(a=1, b=2) == {"b": 2, "a": 1}, x + 1


@case(ops=1)
def od_or(x):
    a = OrderedDict(a=x)
    b = OrderedDict(b=x + 1)
    c = a | b
    return c, type(c | {"z": 1}).__name__, type({"z": 1} | a).__name__


@case(ops=2)
def od_reversed(x):
    d = OrderedDict(a=x, b=x + 1)
    return list(reversed(d)), list(reversed(d.items()))[0][1] * 2


@case(ops=2)
def dd(x):
    d = defaultdict(list)
    d["a"].append(x)
    d["a"].append(x + 1)
    d["b"]
    return d["a"][0] * d["a"][1], dict(d), len(d)


@case(ops=3)
def dd_lambda(x):
    d = defaultdict(lambda: x * 2)
    return d["a"] + d["b"], "a" in d, d.get("zz")


@case(ops=1)
def dd_missing(x):
    d = defaultdict(int)
    d["a"] += 1
    d["b"] += 2
    try:
        e = defaultdict()
        e["q"]
    except KeyError as er:
        s = str(er)
    return x * d["a"], dict(d), s


@case(ops=1)
def dd_factory(x):
    d = defaultdict(list)
    d.default_factory = dict
    d["q"]["w"] = x + 1
    return d


@case(ops=1)
def dd_copy(x):
    d = defaultdict(list, {"a": [x]})
    e = d.copy()
    e["b"].append(x + 1)
    f = d | {"c": [1]}
    return d, e, f


@case(ops=3)
def chainmap(x):
    c = ChainMap({"a": x}, {"a": x + 1, "b": x + 2})
    return c["a"] + c["b"], list(c), len(c), "z" in c


@case(ops=3)
def chainmap_child(x):
    c = ChainMap({"a": x}, {"b": x + 2})
    d = c.new_child({"a": x * 3})
    d["q"] = 1
    return d["a"] + d["b"], d.maps[0], d.get("n", 5)


@case(ops=1)
def counter(x):
    c = Counter("aabbb")
    c["q"] += 2
    return x * c["b"], c.most_common(1), c["zzz"], sorted(c.elements())


@case(ops=1)
def counter_ops(x):
    c = Counter(a=3, b=1)
    d = Counter(a=1, b=2)
    return x + 1, c + d, c - d, c & d, c | d


@case(ops=1)
def counter_update(x):
    c = Counter()
    c.update(["a", "b", "a"])
    c.subtract(["a"])
    return x * c["a"], dict(c), c.total()


@case(ops=2)
def userdict(x):
    d = UserDict({"a": x})
    d["b"] = x + 1
    return d["a"] * d["b"], len(d), list(d)


@case(ops=2)
def userlist(x):
    d = UserList([x])
    d.append(x + 1)
    return d[0] * d[1], len(d)


@case(ops=2)
def mappingproxy(x):
    d = {"a": x}
    p = types.MappingProxyType(d)
    d["b"] = x + 1
    return p["b"] * 2, list(p), len(p), "a" in p


@case(ops=1)
def mappingproxy_err(x):
    p = types.MappingProxyType({"a": x})
    try:
        p["b"] = 1
    except TypeError as e:
        return str(e), x + 1


@case(ops=1, args=lambda: (torch.randn(3, 4), OrderedDict(a=torch.randn(3, 4), b=2)))
def mutate_od(x, d):
    d.move_to_end("a")
    d["z"] = x + 1
    d.popitem(last=False)
    return list(d)


@case(ops=2, args=lambda: (torch.randn(3, 4), defaultdict(list, {"a": [1]})))
def mutate_dd(x, d):
    d["a"].append(x + 1)
    d["b"].append(x + 2)
    return len(d)


@case(ops=2, args=lambda: (torch.randn(3, 4), Counter("aab")))  # the count is a symbol
def counter_arg(x, c):
    c["a"] += 1
    c.update("zz")
    return x * c["a"], c["nope"]


@case(ops=3, args=lambda: (torch.randn(3, 4), ChainMap({"a": 1}, {"b": 2})))
def chainmap_arg(x, c):
    c["n"] = x + 1
    return x * c["a"] + c["b"]


@case(ops=2, args=lambda: (torch.randn(3, 4), UserDict({"a": 1})))
def userdict_arg(x, c):
    c["n"] = x + 1
    return x * c["a"]


class MyDict(dict):
    def __missing__(self, k):
        return k + "!"

    def total(self):
        return sum(self.values())


@case(ops=3)
def mydict(x):
    d = MyDict(a=x, b=x + 1)
    return d["zz"], d.total(), d.get("q"), len(d)


@case(ops=3, args=lambda: (torch.randn(3, 4), MyDict(a=torch.ones(3, 4))))
def mydict_arg(x, d):
    d["n"] = x + 1
    d.extra = 5
    return d.total(), d["qq"]


class AttrDict(dict):
    def __getattr__(self, k):
        try:
            return self[k]
        except KeyError:
            raise AttributeError(k)

    def __setattr__(self, k, v):
        self[k] = v


@case(ops=2)
def attrdict(x):
    d = AttrDict(a=x)
    d.b = x + 1
    return d.a * d.b, hasattr(d, "q"), dict(d)


@case(ops=2, args=lambda: (torch.randn(3, 4), AttrDict(a=torch.ones(3, 4))))
def attrdict_arg(x, d):
    d.b = x + 1
    return d.a * d.b, getattr(d, "q", 3)


class SetItemDict(dict):
    def __setitem__(self, k, v):
        super().__setitem__(k, v * 2)

    def __getitem__(self, k):
        return super().__getitem__(k) + 1


@case(ops=2)
def setitemdict(x):
    d = SetItemDict()
    d["a"] = x
    return d["a"], d


class MyOD(OrderedDict):
    def first(self):
        return next(iter(self.values()))


@case(ops=2)
def myod(x):
    d = MyOD(a=x, b=x + 1)
    d.move_to_end("a")
    return d.first() * 2, d


@case(ops=1)
def od_str(x):
    return str(OrderedDict(a=1)), repr(defaultdict(list, {"a": [1]})), str(Counter("a")), x + 1


@case(1, 2)
def attributes_of_an_ordered_dict(x):
    made = OrderedDict(a=x)
    made.note = 3
    made.double = x * 2
    return made.note, made.double, hasattr(made, "other"), made["a"] + 1


def state_of_a_module():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 5).state_dict(), torch.ones(3, 4)


@case(1, 1, state_of_a_module)
def attributes_of_an_existing_ordered_dict(state, x):
    return x * 2, hasattr(state, "_metadata"), hasattr(state, "other"), sorted(state._metadata[""])


@case(1, 4, lambda: (torch.nn.Linear(4, 4), torch.ones(3, 4)))
def state_dict_of_a_module(model, x):
    state = model.state_dict()
    return model(x) + state["bias"], list(state), dict(state._metadata)


@case(1, 1)
def an_ordered_dict_keeps_its_attributes(x):
    made = OrderedDict(a=x + 1)
    made.note = [3]
    return made, made.note
