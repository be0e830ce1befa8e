"""Dicts and their views, in every form."""

from __future__ import annotations

import torch

from tests.capture.cases.containers.dict_kinds import MyDict
from tests.capture.cases.registry import case


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


@case(ops=3)
def dict_reversed(x):
    d = dict(a=x, b=x + 1)
    return list(reversed(d)), [v * 2 for v in reversed(d.values())], list(reversed(d.keys()))


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


FIRST_AND_SECOND = {(int, str): 2, (str, str): 3, (str, int): 4}


@case(1, 1)
def keys_are_tuples_of_classes(x):
    return x * FIRST_AND_SECOND[type(1), type("")]


@case(1, 1)
def keys_are_tuples_of_classes_that_are_missing(x):
    return (
        x * FIRST_AND_SECOND.get((int, int), 7),
        (int, str) in FIRST_AND_SECOND,
        (float, str) in FIRST_AND_SECOND,
    )


@case(1, 1)
def keys_of_classes_that_the_frame_finds(x):
    found = [(a, b) for a, b in FIRST_AND_SECOND if issubclass(bool, a) and issubclass(str, b)]
    return x * FIRST_AND_SECOND[found[0]]


@case(1, 1)
def keys_are_members_of_an_enumeration_of_torch(x):
    kinds = torch.nn.attention.SDPBackend
    seen = dict.fromkeys([kinds.MATH, kinds.FLASH_ATTENTION, kinds.MATH])
    return x * len(seen), kinds.MATH in seen, kinds.CUDNN_ATTENTION in seen
