"""Dicts, their views and their kin, in every form."""

from __future__ import annotations

import types
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict

import torch

from tests.capture.registry import case


@case(ops=3)
def setdefault(x):
    d = {}
    d.setdefault("a", x + 1)
    d.setdefault("a", x + 2)
    return d["a"] + d.setdefault("b", x)


@case(ops=7)
def update_forms(x):
    d = {"a": x}
    d.update({"b": x + 1})
    d.update([("c", x + 2)])
    d.update(e=x * 2)
    d.update({"f": 1}, g=2)
    return sum(v for v in d.values() if isinstance(v, torch.Tensor)), list(d)


@case(ops=2)
def plain_or(x):
    a = {"a": x}
    b = {"b": x + 1}
    c = a | b
    c |= {"z": x * 2}
    c |= [("y", x)]
    return c


@case(ops=2)
def fromkeys(x):
    d = dict.fromkeys("abc", x + 1)
    e = dict.fromkeys(["q"])
    return d["a"] + d["c"], e


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


@case(ops=3)
def dict_reversed(x):
    d = dict(a=x, b=x + 1)
    return list(reversed(d)), [v * 2 for v in reversed(d.values())], list(reversed(d.keys()))


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


@case(ops=2)
def views(x):
    d = {"a": x, "b": x + 1}
    e = {"b": 1, "c": 2}
    return d.keys() & e.keys(), d.keys() | e.keys(), d.keys() - e.keys(), d.keys() ^ e.keys(), x + 1


@case(ops=1)
def views2(x):
    d = {"a": 1, "b": 2}
    e = {"b": 2, "c": 2}
    return (
        d.items() & e.items(),
        d.items() | e.items(),
        d.keys() <= e.keys(),
        d.keys() == {"a", "b"},
        d.keys().isdisjoint(["z"]),
        x + 1,
    )


@case(ops=1)
def views_set(x):
    d = {"a": 1, "b": 2}
    return d.keys() & {"a"}, {"a"} & d.keys(), d.keys() - ["a"], d.keys() | ["q"], x + 1


@case(ops=1)
def view_contains(x):
    d = {"a": 1, "b": 2}
    return ("a", 1) in d.items(), 2 in d.values(), "a" in d.keys(), x + 1


@case(ops=3)
def view_live(x):
    d = {"a": x}
    k = d.keys()
    v = d.values()
    d["b"] = x + 1
    return len(k), list(k), sum(v)


@case(ops=1)
def view_return(x):
    d = {"a": x + 1}
    return d.keys(), d.values(), d.items()


@case(ops=2)
def view_mapping(x):
    d = {"a": x + 1}
    return d.keys().mapping["a"] + 1


@case(ops=2)
def pop(x):
    d = {"a": x, "b": x + 1}
    v = d.pop("a")
    w = d.pop("zz", None)
    try:
        d.pop("q")
    except KeyError as e:
        s = repr(e)
    return v + 1, w, d, s


@case(ops=2)
def popitem(x):
    d = {"a": x, "b": x + 1}
    k, v = d.popitem()
    d.clear()
    try:
        d.popitem()
    except KeyError as e:
        s = str(e)
    return k, v * 2, s


@case(ops=1)
def plain_del(x):
    d = {"a": x, "b": x + 1}
    del d["a"]
    return d


@case(ops=2)
def dict_ctor(x):
    return dict(a=x + 1), dict([("a", x)], b=2), dict({"a": x}, c=3), dict(zip("ab", (x, x + 1)))


@case(ops=5)
def dict_get(x):
    d = {1: x, (2, 3): x + 1, None: x + 2, True: x + 3}
    return d.get(1) + d[(2, 3)] + d[None], len(d), d.get("q", 7)


@case(ops=1)
def dict_eq(x):
    return {"a": 1} == {"a": 1}, {"a": 1} != {"a": 2}, {} == {}, {"a": [1, 2]} == {"a": [1, 2]}, x + 1


@case(ops=3)
def dict_comp(x):
    return {k: v * 2 for k, v in {"a": x, "b": x + 1}.items()}, {k for k in "ab"}


@case(ops=2)
def tensor_keys(x):
    d = {x: 1}
    y = x + 1
    d[y] = 2
    return d[x], d[y], x in d, y * 2


@case(ops=3)
def tensor_keys2(x):
    d = {}
    a = x + 1
    b = x + 2
    d[a] = "a"
    d[b] = "b"
    return [d[k] for k in (a, b)], a + b, len(d)


@case(ops=4)
def type_keys(x):
    d = {int: x, str: x + 1, torch.Tensor: x + 2, list: 3}
    return d[int] + d[type("a")] + d[type(x)], d[type([])]


@case(ops=1)
def fn_keys(x):
    d = {torch.sin: 1, torch.cos: 2, len: 3}
    return d[torch.sin], d[len], x + d[torch.cos]


@case(ops=1)
def dtype_keys(x):
    d = {torch.float32: x + 1, torch.int64: 2}
    return d[x.dtype]


class K2:
    def __init__(self, v):
        self.v = v

    def __hash__(self):
        return hash(self.v)

    def __eq__(self, o):
        return isinstance(o, K2) and self.v == o.v


@case(ops=2)
def user_key(x):
    d = {K2(1): x, K2(2): x + 1}
    return d[K2(1)] + d[K2(2)], K2(3) in d, len(d)


class K3:
    pass


@case(ops=3)
def ident_key(x):
    a = K3()
    b = K3()
    d = {a: x, b: x + 1}
    return d[a] * 2 + d[b], K3() in d


@case(ops=2, args=lambda: (torch.randn(3, 4), {"a": torch.randn(3, 4), "b": 2}))
def mutate_arg(x, d):
    d["c"] = x + 1
    d["a"] = d["a"] * 2
    del d["b"]
    return d["c"]


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


@case(ops=1, args=lambda: (torch.randn(3, 4), Counter("aab")))
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


class MyDD(defaultdict):
    pass


@case(ops=6)
def dict_int_keys(x):
    d = {i: x + i for i in range(4)}
    return sum(d[i] for i in d if i % 2)


@case(ops=1)
def nested(x):
    d = {"a": {"b": {"c": x}}}
    d["a"]["b"]["d"] = x + 1
    return d["a"]["b"]


@case(ops=1)
def dict_unpack(x):
    a = {"x": x}

    def f(x, y=2, **k):
        return x * y, k

    return f(**a, y=3, z=1), {**a, "q": 1}


@case(ops=1)
def dict_iter_mut(x):
    d = {"a": 1}
    try:
        for k in d:
            d[k + "z"] = 2
    except RuntimeError as e:
        return str(e), x + 1


@case(ops=1)
def dict_in_str(x):
    d = {"a": 1, "b": [1, 2]}
    return f"{d}", str(d), repr(d), x + 1


@case(ops=1)
def od_str(x):
    return str(OrderedDict(a=1)), repr(defaultdict(list, {"a": [1]})), str(Counter("a")), x + 1


@case(ops=2)
def sorted_items(x):
    d = {"b": x, "a": x + 1}
    return [k for k, v in sorted(d.items())], min(d), max(d, key=d.get) if False else 0, x + 1


@case(ops=1)
def items_sort(x):
    d = {"b": 2, "a": 1}
    return sorted(d.items(), key=lambda kv: kv[1]), max(d, key=d.get), x + 1


@case(ops=1)
def dict_len_bool(x):
    d = {}
    r = [bool(d), len(d)]
    d["a"] = x
    return r, bool(d), not d, x + 1


@case(ops=3)
def dict_or_in_loop(x):
    acc = {}
    for i in range(3):
        acc = {**acc, i: x + i}
    return acc


@case(ops=1)
def dict_unhashable(x):
    try:
        d = {[]: 1}
    except TypeError as e:
        return str(e), x + 1


@case(ops=1)
def dict_keyerr(x):
    d = {"a": 1}
    try:
        d["q"]
    except KeyError as e:
        return e.args, x + 1


@case(ops=1)
def hash_types(x):
    return {1.0: "f"}[1], {True: "t"}[1], {"a": 1}.get(0), x + 1


@case(ops=3)
def dict_setdefault_mut(x):
    d = {}
    for k in "aab":
        d.setdefault(k, []).append(x)
    return {k: sum(v) for k, v in d.items()}


@case(ops=3)
def dict_methods_unbound(x):
    d = {"a": x}
    dict.update(d, b=x + 1)
    dict.__setitem__(d, "c", x + 2)
    return dict.get(d, "a") + dict.__getitem__(d, "c"), dict.pop(d, "b")


@case(ops=1)
def dict_contains_dunder(x):
    d = {"a": 1}
    return d.__contains__("a"), d.__len__(), d.__getitem__("a"), d.__eq__({"a": 1}), d.__ne__({}), x + 1


@case(ops=1)
def dict_dunder_or(x):
    d = {"a": 1}
    return d.__or__({"b": 2}), d.__ior__({"c": 3}), x + 1


@case(ops=3)
def dict_sub_iter(x):
    d = MyDict(a=x, b=x + 1)
    return [k for k in d], [v * 2 for v in d.values()], {**d}, dict(d), "a" in d


@case(ops=1)
def dict_walrus(x):
    d = {"a": x}
    if (v := d.get("a")) is not None:
        return v + 1


@case(ops=1)
def identity(x):
    d = {}
    e = {"d": d, "d2": d}
    return e, e["d"] is e["d2"], x + 1


@case(ops=1)
def key_order(x):
    d = {"a": 1, "b": 2}
    d["a"] = 3
    del d["b"]
    d["b"] = 4
    return list(d), x + 1


@case(ops=1, args=lambda: (torch.randn(3, 4), {"a": 1, "b": 2, "c": 3}))
def reorder_arg(x, d):
    d["a"] = d.pop("a")
    return x + 1


@case(ops=2, args=lambda: (torch.randn(3, 4), {1: "x", 2: "y"}))
def arg_int_keys(x, d):
    return [x + k for k in d], [v for v in d.values()]


@case(ops=3, args=lambda: (torch.randn(3, 4), {torch.float32: 1, torch.nn.ReLU: 2, len: 3}))
def arg_obj_keys(x, d):
    return x + d[torch.float32] + d[torch.nn.ReLU] + d[len]
