"""The table of guards and worlds: see `world.Case`. A new kind of guard adds a row here."""

from __future__ import annotations

import enum
import gc
import itertools
import weakref
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import torch

from guards import sources as s
from guards.conditions import ComputedSource, apply, constant, load, size
from guards.guard import Guard
from guards.kinds.attributes import (
    ClassLacksGuard,
    FunctionGuard,
    HasAttributeGuard,
    NoAttributeGuard,
    module_guards,
)
from guards.kinds.constants import ConstantGuard, ContentsGuard, IntRangeGuard
from guards.kinds.containers import (
    DictContainsGuard,
    DictKeysGuard,
    LengthGuard,
    SetContentsGuard,
    SetLayoutGuard,
)
from guards.kinds.identity import DistinctObjectsGuard, ExactTypeGuard, IdentityGuard, SameObjectGuard
from guards.kinds.iterators import IteratorStateGuard
from guards.kinds.sizes import ShapeGuard, free_stride_guards
from guards.kinds.state import GlobalStateGuard
from guards.kinds.tensors import BufferGuard, SharedStorageGuard, TensorGuard, UnwrittenTensorGuard
from guards.values import ObjectRef
from tests.guards.world import Case, World, X, Y, Z

Point = namedtuple("Point", "a b")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = 1


@dataclass
class Data:
    a: int = 1
    shared = "class attribute"


class Plain:
    kind = "plain"

    def __init__(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def method(self) -> int:
        return 1

    @property
    def computed(self) -> int:
        raise AssertionError("a guard ran user code")


def _never(self: Any, name: str) -> Any:
    raise AssertionError("a guard ran user code")


def _not_to_be_run(*args: Any) -> Any:
    raise AssertionError("a guard ran user code")


class MyInt(int):
    __eq__ = __int__ = __index__ = __hash__ = _not_to_be_run  # type: ignore[assignment]


class MyFloat(float):
    __eq__ = __float__ = __hash__ = _not_to_be_run  # type: ignore[assignment]


class MyStr(str):
    __eq__ = __str__ = __hash__ = _not_to_be_run  # type: ignore[assignment]


class Hostile(Plain):
    """Has everything that a guard must not call."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("a guard ran __getattr__")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a guard ran __eq__")

    def __hash__(self) -> int:
        return hash("a")

    def __len__(self) -> int:
        raise AssertionError("a guard ran __len__")

    def __bool__(self) -> bool:
        raise AssertionError("a guard ran __bool__")


class MyList(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        raise AssertionError("a guard ran __len__")


class MyTensor(torch.Tensor):
    pass


class Child(Plain):
    def method(self) -> int:
        return super().method()


def put(name: str, value: Any) -> Any:
    """The change: that argument is now `value` (made now, if it is a lambda)."""
    return lambda w: w.names.__setitem__(
        name, value() if getattr(value, "__name__", "") == "<lambda>" else value
    )


def drop(name: str) -> Any:
    return lambda w: w.names.pop(name)


def do(code: str) -> Any:
    """The change as statements over x, y, z."""
    return lambda w: exec(code, {"torch": torch, **w.names})


def annotated(mark: Any = 3) -> Any:
    names: dict[str, Any] = {"mark": mark}
    code = compile("def inner(a: mark): ...", __file__, "exec", dont_inherit=True)  # it evaluates annotations
    exec(code, names)
    return names["inner"]


def make_function(default: Any = 1, *, keyword: Any = 2) -> Any:
    captured = []

    def inner(a: Any = default, *, k: Any = keyword) -> Any:
        return a, k, captured

    return inner


def _more_threads(w: World) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    w.stack.callback(torch.set_num_threads, before)


def leave(context: Any) -> Any:
    return lambda w: w.stack.enter_context(context())


def _iterator(at: int, items: Any) -> Any:
    iterator = iter(items)
    for _ in range(at):
        next(iterator)
    return iterator


class _Two:
    def __init__(self) -> None:
        self.a, self.b = 1, 2


def _same_list_iterator(w: World) -> None:
    w.names["x"] = _iterator(1, w.names["y"])


IDENTITY = [
    Case("type", lambda: {"x": [1]}, lambda w: [ExactTypeGuard.of(X, w.x)],
         {"another list": put("x", lambda: [2])},
         {"tuple": put("x", (1,)), "subclass": put("x", lambda: MyList([1])), "unbound": drop("x"),
          "hostile": put("x", lambda: Hostile())}),
    Case("bool is no int", lambda: {"x": 1}, lambda w: [ExactTypeGuard.of(X, w.x)], {"2": put("x", 2)},
         {"True": put("x", True)}),
    Case("NumPy's number", lambda: {"x": np.int32(5), "y": np.float64(0.0), "z": np.bool_(True)},
         lambda w: [ConstantGuard.of(X, w.x), ConstantGuard.of(Y, w.y), ConstantGuard.of(Z, w.z)],
         {"equal": lambda w: w.names.update(x=np.int32(5), y=np.float64(0.0), z=np.bool_(True))},
         {"6": put("x", np.int32(6)), "wider": put("x", np.int64(5)), "int": put("x", 5),
          "-0.0": put("y", np.float64(-0.0)), "float": put("y", 0.0), "False": put("z", np.bool_(False))}),
    Case("constant", lambda: {"x": 5, "y": "text", "z": (1, (2.5, None))},
         lambda w: [ConstantGuard.of(X, 5), ConstantGuard.of(Y, "text"), ConstantGuard.of(Z, w.z)],
         {"equal": lambda w: w.names.update(x=int("5"), y="".join(["te", "xt"]),
                                            z=(int("1"), (float("2.5"), None)))},
         {"6": put("x", 6), "float": put("x", 5.0), "longer": put("y", "text "),
          "inner": put("z", (1, (2.5, 0))), "inner type": put("z", (True, (2.5, None))),
          "list": put("z", lambda: [1, (2.5, None)]), "hostile": put("x", lambda: Hostile())}),
    Case("contents", lambda: {"x": MyInt(5), "y": MyStr("text"), "z": MyFloat(0.0)},
         lambda w: [ContentsGuard.of(X, w.x), ContentsGuard.of(Y, w.y), ContentsGuard.of(Z, w.z)],
         {"equal": lambda w: w.names.update(x=MyInt(5), y=MyStr("text"), z=MyFloat(0.0)),
          "plain": put("x", 5)},
         {"6": put("x", MyInt(6)), "True": put("x", True), "float": put("x", 5.0),
          "longer": put("y", MyStr("text ")), "bytes": put("y", b"text"), "sign": put("z", MyFloat(-0.0)),
          "hostile": put("x", lambda: Hostile())}),
    Case("enum", lambda: {"x": Color.RED}, lambda w: [ConstantGuard.of(X, w.x)], {},
         {"other": put("x", Color.BLUE), "value": put("x", 1)}),
    Case("int range", lambda: {"x": 5, "y": 5},
         lambda w: [IntRangeGuard.of(X, 2, 8), IntRangeGuard.of(Y, 2, None)],
         {"2": put("x", 2), "8": put("x", 8), "large": put("y", 2**62)},
         {"1": put("x", 1), "9": put("x", 9), "True": put("x", True), "beyond 64 bits": put("y", 1 << 65),
          "float": put("x", 5.0)}),
    Case("id", lambda: {"x": Plain()}, lambda w: [IdentityGuard.of(X, w.x)], {"attribute": do("x.a = 1")},
         {"another": put("x", lambda: Plain()), "hostile": put("x", lambda: Hostile()),
          "None": put("x", None)}),
    Case("id of a list", lambda: {"x": [1]}, lambda w: [IdentityGuard.of(X, w.x)],
         {"grown": do("x.append(1)")}, {"equal": put("x", lambda: [1])}),
    Case("aliasing", lambda: (lambda v: {"x": v, "y": v})([1]), lambda w: [SameObjectGuard.of(X, Y)],
         {"both": lambda w: w.names.update(x=1, y=1)},
         {"equal": put("x", lambda: [1]), "unbound": drop("y")}),
    Case("distinct", lambda: {"x": [1], "y": [1], "z": 3}, lambda w: [DistinctObjectsGuard.of([X, Y, Z])],
         {"others": put("x", lambda: [2])},
         {"same": lambda w: w.names.update(x=w.y), "first and last": lambda w: w.names.update(x=w.z)}),
    Case("weakref target", lambda: (lambda v: {"x": weakref.ref(v), "y": [v]})(Plain()),
         lambda w: [IdentityGuard.of(s.WeakrefSource(X), w.y[0])],
         {},
         {"dead": lambda w: (w.y.clear(), gc.collect()),
          "of another": lambda w: w.names.update(x=weakref.ref(Plain))}),
]  # fmt: skip

CONTAINERS = [
    Case("length of list", lambda: {"x": [1, 2]}, lambda w: [LengthGuard.of(X, w.x)],
         {"others": put("x", lambda: [3, 4])},
         {"grown": do("x.append(1)"), "shrunk": do("x.pop()"), "int": put("x", 2),
          "hostile": put("x", lambda: Hostile())}),
    Case("length of subclass", lambda: {"x": MyList([1, 2])}, lambda w: [LengthGuard.of(X, w.x)],
         {"item": do("x[0] = 9")},
         {"grown": do("x.append(1)")}),
    *(Case(f"length of {type(value).__name__}", lambda value=value: {"x": value},
           lambda w: [LengthGuard.of(X, w.x)], {"equal": put("x", same)},
           {"longer": put("x", longer)})
      for value, same, longer in (
          ((1, 2), (3, 4), (1,)), ({1: 2}, {3: 4}, {}), ({1, 2}, {3, 4}, {1}),
          (frozenset({1}), frozenset({2}), frozenset()), ("ab", "cd", "é"),
          (b"ab", b"cd", b"a"), (deque([1, 2]), deque([2, 3]), deque([1])),
          (range(3), range(0, 6, 2), range(4)))),
    Case("dict keys", lambda: {"x": {"a": 1, 2: 3, (1, "b"): 4}}, lambda w: [DictKeysGuard.of(X, w.x)],
         {"values": do("x['a'] = 9"), "equal dict": put("x", lambda: {"a": 0, 2: 0, (1, "b"): 0})},
         {"reordered": put("x", lambda: {2: 3, "a": 1, (1, "b"): 4}),
          "key as float": put("x", lambda: {"a": 1, 2.0: 3, (1, "b"): 4}),
          "more": do("x[5] = 6"), "fewer": do("del x['a']"), "moved": do("x['a'] = x.pop('a')"),
          "list": put("x", lambda: ["a", 2, (1, "b")]),
          "hostile key": put("x", lambda: {Hostile(): 1, 2: 3, (1, "b"): 4})}),
    Case("ordered dict keys", lambda: {"x": OrderedDict(a=1, b=2, c=3)},
         lambda w: [DictKeysGuard.of(X, w.x), IdentityGuard.of(s.DictValueSource(X, 2), 3)],
         {"plain dict": put("x", lambda: dict(a=1, b=2, c=3))},
         {"moved": do("x.move_to_end('a')"), "to front": do("x.move_to_end('c', last=False)")}),
    Case("dict keys by identity", lambda: (lambda k: {"x": {k: 1}, "y": k})(torch.ones(2)),
         lambda w: [DictKeysGuard.of(X, w.x)],
         {"value": do("x[y] = 2")}, {"equal tensor": put("x", lambda: {torch.ones(2): 1})}),
    Case("key present", lambda: {"x": {"a": 1, 5: 2}},
         lambda w: [DictContainsGuard.of(X, "a", True), DictContainsGuard.of(X, 5, True)],
         {"5 as True int": do("x[5.0] = 3"), "more": do("x.update(dict.fromkeys(range(100)))")},
         {"deleted": do("del x['a']"), "other": do("del x[5]"), "no dict": put("x", 3)}),
    Case("key absent", lambda: {"x": {"a": 1}},
         lambda w: [DictContainsGuard.of(X, "b", False), DictContainsGuard.of(X, 7, False)],
         {"others": do("x['c'] = 1"), "cleared": do("x.clear()")},
         {"added": do("x['b'] = 1"), "as float": do("x[7.0] = 1")}),
    Case("dict item", lambda: {"x": {"a": 1, 1: 2, None: 3, (1, 2): 4}},
         lambda w: [ConstantGuard.of(s.DictItemSource(X, key), value) for key, value in w.x.items()],
         {"reordered": put("x", lambda: {(1, 2): 4, None: 3, True: 2, "a": 1}),
          "after growth": do("[x.setdefault(i, 0) for i in range(2, 99)]")},
         {"value": do("x['a'] = 2"), "tuple's value": do("x[(1, 2)] = 5"), "deleted": do("del x[None]"),
          "list": put("x", lambda: [0, 2])}),
    Case("dict item after deletions", lambda: {"x": {i: str(i) for i in range(20)}},
         lambda w: [ConstantGuard.of(s.DictItemSource(X, 19), "19")],
         {"holes": do("[x.pop(i) for i in range(15)]"),
          "rebuilt": do("[x.pop(i) for i in range(15)]; x.update({-i: '' for i in range(1, 40)})")},
         {"gone": do("del x[19]")}),
    Case("dict item by object", lambda: (lambda k: {"x": {k: 1}, "y": k})(torch.ones(2)),
         lambda w: [ConstantGuard.of(s.DictItemSource(X, w.y), 1)],
         {"more": do("x[torch.ones(2)] = 2")},
         {"value": do("x[y] = 2"), "equal key": put("x", lambda: {torch.ones(2): 1})}),
    Case("dict key and value by position", lambda: {"x": {"a": 1, "b": 2}},
         lambda w: [ConstantGuard.of(s.DictKeySource(X, 1), "b"),
                    ConstantGuard.of(s.DictValueSource(X, 1), 2)],
         {"first value": do("x['a'] = 3")},
         {"reordered": put("x", lambda: {"b": 2, "a": 1}), "shorter": do("del x['b']"),
          "list": put("x", lambda: [1])}),
    Case("dict position after deletions", lambda: {"x": {i: str(i) for i in range(20)}},
         lambda w: [ConstantGuard.of(s.DictKeySource(X, 3), 3),
                    ConstantGuard.of(s.DictValueSource(X, 3), "3")],
         {"holes behind": do("[x.pop(i) for i in range(8, 20)]"),
          "hole in front": do("x.clear(); x.update({i: str(i) for i in range(-1, 9)}); x.pop(-1)"),
          "rebuilt": do("x.pop(19); x.update({-i: '' for i in range(1, 40)})")},
         {"hole before": do("del x[1]"), "first again": do("x[0] = x.pop(0)"),
          "emptied": do("[x.pop(i) for i in range(4, 20)]; x.pop(0)")}),
    Case("set", lambda: {"x": {1, "a", (2, 3)}}, lambda w: [SetContentsGuard.of(X, w.x)],
         {"equal": put("x", lambda: {(2, 3), "a", 1}),
         "frozen": put("x", frozenset({(2, 3), "a", 1}))},
         {"more": do("x.add(5)"), "other": put("x", lambda: {1, "a", (2, 4)}),
          "bool": put("x", lambda: {True, "a", (2, 3)}),
          "hostile": put("x", lambda: {Hostile(), "b", 1}), "list": put("x", lambda: [1, "a", (2, 3)])}),
    Case("set layout", lambda: {"x": {8, 0}}, lambda w: [SetLayoutGuard.of(X, w.x)],
         {"equal": put("x", lambda: {8, 0}), "frozen": put("x", frozenset([8, 0]))},
         {"other order": put("x", lambda: {0, 8}), "more": do("x.add(5)"),
          "larger table": do("x.update(range(20, 40)); x.difference_update(range(20, 40))"),
          "place left behind": do("x.add(5); x.discard(5)"),
          "popped and put back": do("x.add(x.pop())"), "list": put("x", lambda: [8, 0])}),
    Case("set of objects", lambda: (lambda k: {"x": {k}, "y": k})(torch.ones(2)),
         lambda w: [SetContentsGuard.of(X, w.x)], {"rebuilt": lambda w: w.names.update(x={w.y})},
         {"equal": put("x", lambda: {torch.ones(2)})}),
    Case("array", lambda: {"x": np.ones((2, 3), np.float32)}, lambda w: [BufferGuard.of(X, w.x)],
         {"other": put("x", lambda: np.zeros((2, 3), np.float32))},
         {"dtype": put("x", lambda: np.ones((2, 3))), "shape": put("x", lambda: np.ones((3, 2), np.float32)),
          "dims": put("x", lambda: np.ones(6, np.float32)),
          "strides": put("x", lambda: np.ones((3, 2), np.float32).T), "frozen": do("x.setflags(write=False)"),
          "no number": put("x", lambda: np.ones((2, 3), "M8[s]")), "list": put("x", lambda: [1]),
          "bytes": put("x", lambda: b"abc")}),
    Case("items", lambda: {"x": [1, (2, [3])], "y": deque([5, 6]), "z": Point(7, 8)},
         lambda w: [ConstantGuard.of(s.ItemSource(X, 0), 1),
                    ConstantGuard.of(s.ItemSource(s.ItemSource(s.ItemSource(X, 1), 1), 0), 3),
                    ConstantGuard.of(s.DequeItemSource(Y, 1), 6),
                    ConstantGuard.of(s.ItemSource(Z, 1, "b"), 8)],
         {"grown": do("x.append(1)"), "tuple": put("x", lambda: (1, (2, [3])))},
         {"inner": do("x[1][1][0] = 4"), "short": do("x.pop()"), "deque": do("y.rotate(1)"),
          "short deque": do("y.pop()"), "field": put("z", Point(7, 9)),
          "dict": put("x", lambda: {0: 1})}),
    Case("list iterator", lambda: (lambda v: {"x": _iterator(1, v), "y": v})([1, 2, 3]),
         lambda w: [IteratorStateGuard.of(X, w.x), IdentityGuard.of(s.IteratorPartSource(X, 0), w.y)],
         {"another at 1": _same_list_iterator},
         {"moved": do("next(x)"), "exhausted": do("list(x)"),
          "other list": put("x", lambda: _iterator(1, [1, 2, 3])), "list": put("x", lambda: [1])}),
    Case("tuple iterator", lambda: {"x": _iterator(0, (1, 2))}, lambda w: [IteratorStateGuard.of(X, w.x)],
         {"another": put("x", lambda: iter((4, 5)))},
         {"moved": do("next(x)"), "exhausted": do("list(x)")}),
    Case("reversed list", lambda: {"x": reversed([1, 2, 3])},
         lambda w: [IteratorStateGuard.of(X, w.x),
                    ConstantGuard.of(s.ItemSource(s.IteratorPartSource(X, 0), 2), 3)],
         {"another": put("x", lambda: reversed([4, 5, 3]))},
         {"moved": do("next(x)"), "exhausted": do("list(x)"),
          "longer": put("x", lambda: reversed([1, 2, 3, 4]))}),
    Case("range iterator", lambda: {"x": _iterator(1, range(2, 9, 3))},
         lambda w: [IteratorStateGuard.of(X, w.x)],
         {"another": put("x", lambda: _iterator(1, range(2, 10, 3)))},
         {"moved": do("next(x)"), "exhausted": do("list(x)"),
          "start": put("x", lambda: _iterator(1, range(1, 9, 3))),
          "step": put("x", lambda: _iterator(1, range(2, 9, 4))),
          "large": put("x", lambda: iter(range(2**70))), "range": put("x", lambda: range(2, 9, 3))}),
    Case("dict iterator", lambda: (lambda v: {"x": _iterator(1, v), "y": v})({"a": 1, "b": 2, "c": 3}),
         lambda w: [IteratorStateGuard.of(X, w.x), IdentityGuard.of(s.IteratorPartSource(X, 0), w.y)],
         {"another at 1": lambda w: w.names.__setitem__("x", _iterator(1, w.names["y"])),
          "value": do("y['b'] = 5")},
         {"moved": do("next(x)"), "exhausted": do("list(x)"), "key": do("y.update(z=1)"),
          "fewer": do("y.popitem()"), "swapped": do("(y.pop('a'), y.update(a=1))"),
          "other dict": put("x", lambda: _iterator(1, {"a": 1, "b": 2, "c": 3}))}),
    Case("dict items iterator", lambda: {"x": _iterator(1, {"a": 1, "b": 2}.items())},
         lambda w: [IteratorStateGuard.of(X, w.x)],
         {"another": put("x", lambda: _iterator(1, {"c": 1, "d": 2}.items()))},
         {"moved": do("next(x)"), "exhausted": do("list(x)"),
          "fewer": put("x", lambda: _iterator(1, {"a": 1}.items())), "list": put("x", lambda: [1])}),
    Case("dict values iterator", lambda: {"x": _iterator(0, {}.values())},
         lambda w: [IteratorStateGuard.of(X, w.x)],
         {"another": put("x", lambda: iter({}.values()))},
         {"exhausted": do("list(x)"), "more": put("x", lambda: iter({1: 1}.values()))}),
    Case("instance dict iterator", lambda: (lambda v: {"x": _iterator(1, vars(v)), "y": v})(_Two()),
         lambda w: [IteratorStateGuard.of(X, w.x)],
         {"written": do("setattr(y, 'a', 5)")},
         {"moved": do("next(x)"), "added": do("setattr(y, 'c', 5)"), "fewer": do("delattr(y, 'a')")}),
    Case("view of a dict", lambda: (lambda v: {"x": v.items(), "y": v})({"a": 1}),
         lambda w: [ExactTypeGuard.of(X, w.x), IteratorStateGuard.of(X, w.x),
                    IdentityGuard.of(s.IteratorPartSource(X, 0), w.y)],
         {"another": lambda w: w.names.__setitem__("x", w.names["y"].items())},
         {"keys": lambda w: w.names.__setitem__("x", w.names["y"].keys()),
          "other dict": put("x", lambda: {"a": 1}.items())}),
    Case("limit of a deque", lambda: {"x": deque([1], 3)}, lambda w: [IteratorStateGuard.of(X, w.x)],
         {"another": put("x", lambda: deque(maxlen=3))},
         {"limit": put("x", lambda: deque([1], 4)), "none": put("x", lambda: deque([1])),
          "list": put("x", lambda: [1])}),
    Case("enumerate", lambda: {"x": enumerate([7, 8], 5)},
         lambda w: [IteratorStateGuard.of(X, w.x),
                    IteratorStateGuard.of(s.IteratorPartSource(X, 0), iter([7]))],
         {"another": put("x", lambda: enumerate([1], 5))},
         {"moved": do("next(x)"), "start": put("x", lambda: enumerate([7, 8])),
          "large": put("x", lambda: enumerate([7], 2**70)),
          "inner moved": put("x", lambda: enumerate(_iterator(1, [7, 8]), 5)),
          "inner": put("x", lambda: enumerate("ab", 5))}),
    Case("zip", lambda: {"x": zip([1, 2], (3, 4))},
         lambda w: [IteratorStateGuard.of(X, w.x),
                    IteratorStateGuard.of(s.IteratorPartSource(X, 1), iter((3,)))],
         {"another": put("x", lambda: zip([], (5,)))},
         {"moved": do("next(x)"), "strict": put("x", lambda: zip([1], (3,), strict=True)),
          "one": put("x", lambda: zip([1])),
          "three": put("x", lambda: zip([1], (3,), (3,)))}),
    Case("map", lambda: {"x": map(abs, [1, 2], [3])},
         lambda w: [IteratorStateGuard.of(X, w.x), IdentityGuard.of(s.IteratorPartSource(X, 0), abs),
                                                                 IteratorStateGuard.of(s.IteratorPartSource(X,
                                                                     2), iter([3]))],
         {"another": put("x", lambda: map(abs, (), []))},
         {"function": put("x", lambda: map(len, [1], [3])), "one": put("x", lambda: map(abs, [1])),
          "moved": put("x", lambda: map(abs, [], _iterator(1, [3])))}),
    Case("filter", lambda: {"x": filter(None, [1, 2])},
         lambda w: [IteratorStateGuard.of(X, w.x), ConstantGuard.of(s.IteratorPartSource(X, 0), None),
                                                                   IteratorStateGuard.of(
                                                                       s.IteratorPartSource(X, 1),
                                                                       iter([3]))],
         {"another": put("x", lambda: filter(None, [3]))},
         {"function": put("x", lambda: filter(bool, [1])), "moved": do("next(x)")}),
    Case("count", lambda: {"x": itertools.count(3, 2)},
         lambda w: [IteratorStateGuard.of(X, w.x), ConstantGuard.of(s.IteratorPartSource(X, 0), 2)],
         {"moved to": put("x", lambda: _iterator(1, itertools.count(1, 2)))},
         {"moved": do("next(x)"), "start": put("x", lambda: itertools.count(4, 2)),
          "step": put("x", lambda: itertools.count(3)),
          "large": put("x", lambda: itertools.count(2**70, 2)),
          "float": put("x", lambda: itertools.count(3.0, 2))}),
    Case("count by one", lambda: {"x": itertools.count(3)},
         lambda w: [IteratorStateGuard.of(X, w.x), ConstantGuard.of(s.IteratorPartSource(X, 0), 1)],
         {"moved to": put("x", lambda: _iterator(1, itertools.count(2)))},
         {"moved": do("next(x)"), "float": put("x", lambda: itertools.count(3.0)),
          "step": put("x", lambda: itertools.count(3, 2)),
          "large": put("x", lambda: itertools.count(2**70))}),
    Case("repeat", lambda: {"x": itertools.repeat("a", 3)},
         lambda w: [IteratorStateGuard.of(X, w.x), ConstantGuard.of(s.IteratorPartSource(X, 0), "a")],
         {"moved to": put("x", lambda: _iterator(1, itertools.repeat("a", 4)))},
         {"moved": do("next(x)"), "endless": put("x", lambda: itertools.repeat("a")),
          "other": put("x", lambda: itertools.repeat("b", 3))}),
]  # fmt: skip

A = s.AttrSource(X, "a")
METHOD = s.AttrSource(X, "method")


def _module_world() -> dict[str, Any]:
    return {"x": torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())}


def _patch_class(cls: type, name: str, value: Any) -> Any:
    def change(w: World) -> None:
        before = cls.__dict__.get(name)
        setattr(cls, name, value)
        w.stack.callback(lambda: delattr(cls, name) if before is None else setattr(cls, name, before))

    return change


FIRST = s.AttrSource(X, "0")
WEIGHT = s.AttrSource(FIRST, "weight")

ATTRIBUTES = [
    Case("attribute", lambda: {"x": Plain(a=1, b=2)}, lambda w: [ConstantGuard.of(A, 1)],
         {"another": put("x", lambda: Plain(a=1)), "other order": put("x", lambda: Plain(c=0, b=0, a=1)),
          "with a dict": do("vars(x)"),
          "many": put("x", lambda: Plain(**{f"k{i}": i for i in range(60)}, a=1))},
         {"changed": do("x.a = 2"), "deleted": do("del x.a"), "no attributes": put("x", 1),
          "not run": put("x", lambda: Hostile()),
          "on class and gone": put("x", lambda: Plain())}),
    Case("slot", lambda: {"x": Slots()}, lambda w: [ConstantGuard.of(A, 1)], {},
         {"changed": do("x.a = 2"), "deleted": do("del x.a"),
         "other class": put("x", lambda: Plain(b=1))}),
    Case("dataclass", lambda: {"x": Data()},
         lambda w: [ConstantGuard.of(A, 1), ConstantGuard.of(s.AttrSource(X, "shared"), "class attribute")],
         {},
         {"changed": do("x.a = 2"), "shadowed": do("x.shared = 1")}),
    Case("method", lambda: {"x": Plain()}, lambda w: [FunctionGuard.of(METHOD, Plain.method)],
         {"another": put("x", lambda: Plain(a=1))},
         {"on the instance": do("x.method = lambda: 3"),
          "class patched": _patch_class(Plain, "method", lambda self: 2)}),
    Case("class attribute", lambda: {"x": Child()},
         lambda w: [ConstantGuard.of(s.AttrSource(s.TypeSource(X), "kind"), "plain"),
         ConstantGuard.of(s.TypeAttrSource(s.TypeSource(X), "kind"), "plain")],
         {"on the instance": do("x.kind = 1")},
         {"patched": _patch_class(Plain, "kind", "new"),
          "in the subclass": _patch_class(Child, "kind", "new")}),
    Case("super", lambda: {"x": Child()},
         lambda w: [FunctionGuard.of(s.TypeAttrSource(s.TypeSource(X), "method", ObjectRef(Child)),
                                     Plain.method)],
         {"own method": _patch_class(Child, "method", lambda self: 5)},
         {"patched": _patch_class(Plain, "method", lambda self: 2), "other class": put("x", 1)}),
    Case("mro", lambda: {"x": Child()},
         lambda w: [IdentityGuard.of(s.MroItemSource(s.TypeSource(X), 1), Plain)], {},
         {"other": put("x", lambda: Plain())}),
    Case("no attribute", lambda: {"x": Plain(a=1)}, lambda w: [NoAttributeGuard.of(X, "kind")],
         {"other": do("x.b = 1"), "with a dict": do("vars(x)")},
         {"set": do("x.kind = 1"), "through the dict": do("vars(x)['kind'] = 1")}),
    Case("has attribute", lambda: {"x": Plain(a=1)},
         lambda w: [HasAttributeGuard.of(X, w.x, name) for name in ("a", "b", "kind")],
         {"value": do("x.a = 2")},
         {"deleted": do("del x.a"), "added": do("x.b = 1"), "on the class": _patch_class(Plain, "b", 1),
          "property": _patch_class(Plain, "b", Plain.computed),
          "__getattr__": _patch_class(Plain, "__getattr__", _never),
          "__getattribute__": _patch_class(Plain, "__getattribute__", _never)}),
    Case("lookup overridden", lambda: {"x": Plain(a=1)}, lambda w: [ConstantGuard.of(A, 1)],
         {"__getattr__": _patch_class(Plain, "__getattr__", _never)},
         {"__getattribute__": _patch_class(Plain, "__getattribute__", _never),
          "property": _patch_class(Plain, "a", Plain.computed)}),
    Case("Python module without", lambda: {"x": ModuleType("m")},
         lambda w: [HasAttributeGuard.of(X, w.x, "a")], {"other": do("x.b = 1")},
         {"added": do("x.a = 1"), "__getattr__": do("x.__getattr__ = len")}),
    Case("instance dict", lambda: {"x": Plain(a=1)}, lambda w: [DictKeysGuard.of(s.DictSource(X), {"a": 1})],
         {"value": do("x.a = 2")}, {"more": do("x.b = 1"), "none": put("x", 1)}),
    Case("members of C types", lambda: {"x": slice(1, 2), "y": partial(print, 1), "z": range(3)},
         lambda w: [ConstantGuard.of(s.AttrSource(X, "stop"), 2),
                    IdentityGuard.of(s.AttrSource(Y, "func"), print),
                    ConstantGuard.of(s.AttrSource(Z, "start"), 0)],
         {"step": put("x", slice(0, 2, 3))},
         {"stop": put("x", slice(1, 3)), "func": put("y", lambda: partial(len)),
          "start": put("z", range(1, 3))}),
    Case("bound method", lambda: (lambda p: {"x": p.method, "y": p})(Plain()),
         lambda w: [IdentityGuard.of(s.MethodFieldSource(X, "__self__"), w.y),
                    FunctionGuard.of(s.MethodFieldSource(X, "__func__"), Plain.method)],
         {"bound again": lambda w: w.names.update(x=w.y.method)},
         {"of another": put("x", lambda: Plain().method), "function": put("x", Plain.method)}),
    Case("method of a built-in object", lambda: (lambda l: {"x": l.append, "y": l})([]),
         lambda w: [IdentityGuard.of(s.BuiltinSelfSource(X, ObjectRef(s.descriptor_of(w.x))), w.y)],
         {"bound again": lambda w: w.names.update(x=w.y.append)},
         {"of another": put("x", lambda: [].append), "another method": lambda w: w.names.update(x=w.y.pop),
          "bound method": put("x", Plain().method), "function": put("x", len)}),
    Case("function", lambda: {"x": make_function()}, lambda w: [FunctionGuard.of(X, w.x)],
         {"attribute": do("x.note = 1")},
         {"defaults": do("x.__defaults__ = (5,)"), "keyword": do("x.__kwdefaults__['k'] = 5"),
          "keyword gone": do("x.__kwdefaults__ = None"),
          "another closure": put("x", make_function()),
          "code": do("x.__code__ = (lambda captured: lambda: captured)(1).__code__"),
          "builtin": put("x", len)}),
    Case("function by code", lambda: {"x": make_function()},
         lambda w: [FunctionGuard.of(X, w.x, defaults=False, closure=False)],
         {"another closure": put("x", make_function(7))}, {"other code": put("x", Plain.method)}),
    Case("function fields", lambda: {"x": make_function(5)},
         lambda w: [ConstantGuard.of(s.ItemSource(s.FunctionFieldSource(X, "__defaults__"), 0), 5),
         ConstantGuard.of(s.DictItemSource(s.FunctionFieldSource(X, "__kwdefaults__"), "k"), 2),
         LengthGuard.of(s.CellContentsSource(s.ItemSource(s.FunctionFieldSource(X, "__closure__"), 0)), [])],
         {"another": put("x", make_function(5))},
         {"default": put("x", make_function(6)), "keyword": put("x", make_function(5, keyword=3)),
          "closure": do("x.__closure__[0].cell_contents.append(1)"),
          "no default": do("x.__defaults__ = None"), "empty cell": do("del x.__closure__[0].cell_contents")}),
    Case("function names", lambda: {"x": make_function()},
         lambda w: [ConstantGuard.of(s.FunctionFieldSource(X, n), getattr(w.x, n)) for n in
         ("__name__", "__qualname__", "__doc__", "__module__")],
         {"code": do("x.__code__ = (lambda captured: lambda: captured)(1).__code__")},
         {"name": do("x.__name__ = 'a'"), "qualname": do("x.__qualname__ = 'a'"),
          "doc": do("x.__doc__ = 'a'"), "module": do("x.__module__ = 'a'"), "builtin": put("x", len)}),
    Case("function annotations", lambda: {"x": annotated(), "y": make_function(), "z": lambda: 1},
         lambda w: [ConstantGuard.of(s.DictItemSource(s.FunctionFieldSource(X, "__annotations__"), "a"), 3),
                    LengthGuard.of(s.FunctionFieldSource(Y, "__annotations__"), w.y.__annotations__),
                    LengthGuard.of(s.FunctionFieldSource(Z, "__annotations__"), {})],
         {"not read yet": put("x", lambda: annotated()), "another": put("y", lambda: make_function()),
          "none yet": put("z", lambda: lambda: 1), "returned to none": do("z.__annotations__ = None")},
         {"item": do("x.__annotations__['a'] = 4"), "another one": put("x", lambda: annotated(4)),
          "without": do("del x.__annotations__"), "more": do("z.__annotations__['k'] = 1"),
          "builtin": put("z", len)}),
    Case("class names", lambda: {"x": type("Named", (Plain,), {})},
         lambda w: [ConstantGuard.of(s.ClassNameSource(X, n), "Named") for n in s.CLASS_NAMES],
         {"attribute": do("x.a = 1")},
         {"name": do("x.__name__ = 'a'"), "qualname": do("x.__qualname__ = 'a'"), "of C": put("x", int),
          "no class": put("x", 1)}),
    Case("class lacks", lambda: {"x": Child(), "y": Child},
         lambda w: [ClassLacksGuard.of(s.TypeSource(X), "b"), ClassLacksGuard.of(s.TypeSource(X), "__call__"),
                    ClassLacksGuard.of(Y, "mro")],
         {"on the object": do("x.b = 1")},
         {"added": _patch_class(Child, "b", 1), "on the base": _patch_class(Plain, "b", 1),
          "call": _patch_class(Child, "__call__", len),
          "no class": put("y", 1)}),
    Case("state of the process", lambda: {"x": 1},
         lambda w: [ConstantGuard.of(s.StateSource(f, a), f(*a)) for f, a in
         ((torch.get_num_threads, ()), (torch.get_autocast_dtype, ("cpu",)))], {"other": put("x", 2)},
         {"threads": _more_threads}),
    Case("Python module", lambda: {"x": ModuleType("m")},
         lambda w: (w.x.__dict__.update(a=1),
                    [ConstantGuard.of(s.ModuleAttrSource(X, "a"), 1), ConstantGuard.of(A, 1)])[1],
         {"more": do("x.b = 1")},
         {"changed": do("x.a = 2"), "deleted": do("del x.a"),
          "object": put("x", lambda: Plain(a=1, b=2) and 1)}),
    Case("module", _module_world,
         lambda w: [*module_guards(X, w.x), TensorGuard.of(WEIGHT, w.x[0].weight),
                    IdentityGuard.of(WEIGHT, w.x[0].weight)],
         {"values": do("x[0].weight.data.zero_()"), "train": do("x.train()"),
          "buffer": do("x.register_buffer('b', torch.ones(1))")},
         {"eval": do("x.eval()"), "hook": do("x.register_forward_hook(lambda *a: None)"),
          "pre-hook": do("x.register_forward_pre_hook(lambda *a: None)"),
          "equal weight": do("x[0].weight = torch.nn.Parameter(x[0].weight.detach().clone())"),
          "deleted": do("del x[0].weight"),
          "frozen": do("x[0].weight.requires_grad_(False)"), "double": do("x.double()"),
          "other layer": do("x[0] = torch.nn.Linear(2, 2)"),
          "in __dict__": do("x[0].__dict__['weight'] = 3"),
          "on the class": _patch_class(torch.nn.Linear, "weight", 3)}),
]  # fmt: skip


def _inference_tensor() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(2, 3)


def _tensor(w: World) -> list[Guard]:
    return [TensorGuard.of(X, w.x)]


def _computed() -> ComputedSource:
    """`min(2**y, int(x * 12))`"""
    power = apply("pow", constant(2), load(Y))
    found = apply("min", power, apply("trunc", apply("fmul", load(s.FloatSource(X)), constant(12.0))))
    return ComputedSource(found.sources, found.code)


def _aliased() -> dict[str, Any]:
    base = torch.ones(4)
    return {"x": base[:2], "y": base[2:], "z": torch.ones(2)}


TENSORS = [
    Case("tensor", lambda: {"x": torch.ones(2, 3)}, _tensor,
         {"another": put("x", lambda: torch.zeros(2, 3)), "written": do("x.zero_()")},
         {"dtype": put("x", lambda: torch.ones(2, 3, dtype=torch.float64)),
          "size": put("x", lambda: torch.ones(2, 4)),
          "strides": put("x", lambda: torch.ones(3, 2).t()), "dims": put("x", lambda: torch.ones(2, 3, 1)),
          "resized": do("x.resize_(3, 2)"),
          "requires_grad": do("x.requires_grad_()"),
          "subclass": put("x", lambda: torch.ones(2, 3).as_subclass(MyTensor)),
          "parameter": put("x", lambda: torch.nn.Parameter(torch.ones(2, 3))),
          "device": put("x", lambda: torch.ones(2, 3, device="meta")),
          "sparse": put("x", lambda: torch.ones(2, 3).to_sparse()),
          "conjugate": put("x", lambda: torch.ones(2, 3, dtype=torch.complex64).conj()),
          "inference tensor": put("x", lambda: _inference_tensor()), "retyped": do("x.data = x.double()"),
          "number": put("x", 1), "None": put("x", None)}),
    Case("tensor that requires grad", lambda: {"x": torch.ones(2, requires_grad=True)}, _tensor,
         {"with grad": do("(x * 2).sum().backward()"),
          "not a leaf": put("x", lambda: torch.ones(2, requires_grad=True) * 1)},
         {"flipped": do("x.requires_grad_(False)"), "detached": lambda w: w.names.update(x=w.x.detach())}),
    Case("leaf", lambda: {"x": torch.ones(2, requires_grad=True)},
         lambda w: [TensorGuard.of(X, w.x, check_leaf=True)], {"grad": do("x.sum().backward()")},
         {"not a leaf": put("x", lambda: torch.ones(2, requires_grad=True) * 1)}),
    Case("dynamic size", lambda: {"x": torch.ones(4, 3, 2)}, lambda w: [TensorGuard.of(X, w.x, (1,))],
         {"longer": put("x", lambda: torch.ones(4, 7, 2))},
         {"other dim": put("x", lambda: torch.ones(5, 3, 2)),
          "inner stride": put("x", lambda: torch.ones(4, 2, 3).transpose(1, 2)),
          "dims": put("x", lambda: torch.ones(4, 3))}),
    Case("dynamic size with strides", lambda: {"x": torch.ones(4, 3, 2)},
         lambda w: [TensorGuard.of(X, w.x, (1,)), *free_stride_guards(X, w.x, (1,))],
         {"longer": put("x", lambda: torch.ones(4, 7, 2))},
         {"slice of a longer one": put("x", lambda: torch.ones(4, 7, 2)[:, :5])}),
    Case("no strides", lambda: {"x": torch.ones(4, 3)}, lambda w: [TensorGuard.of(X, w.x, strides=False)],
         {"transposed": put("x", lambda: torch.ones(3, 4).t())},
         {"size": put("x", lambda: torch.ones(3, 4))}),
    Case("scalar and many dims", lambda: {"x": torch.ones(()), "y": torch.ones(1, 2, 1, 2, 1, 2)},
         lambda w: [TensorGuard.of(X, w.x), TensorGuard.of(Y, w.y)],
         {"value": put("x", lambda: torch.zeros(()))},
         {"one dim": put("x", lambda: torch.ones(1)), "size": put("y", lambda: torch.ones(1, 2, 1, 2, 1, 3)),
         "stride": put("y", lambda: torch.ones(1, 2, 1, 2, 2, 1).transpose(4, 5))}),
    Case("sparse", lambda: {"x": torch.eye(3).to_sparse()}, _tensor,
         {"values": put("x", lambda: torch.ones(3, 3).to_sparse())},
         {"dense": put("x", lambda: torch.eye(3))}),
    Case("no aliasing", lambda: {"x": torch.ones(2), "y": torch.ones(2), "z": torch.ones(2)},
         lambda w: [SharedStorageGuard.none([X, Y, Z])],
         {"other": put("x", lambda: torch.ones(3))},
         {"same": lambda w: w.names.update(z=w.x), "view": lambda w: w.names.update(z=w.x[1:]),
          "number": put("y", 1),
         "the same memory": lambda w: w.names.update(z=torch.from_numpy(w.x.numpy()))}),
    Case("aliasing of tensors", _aliased, lambda w: [SharedStorageGuard.of([X, Y, Z], [w.x, w.y, w.z])],
         {"other group": lambda w: w.names.update(_aliased())},
         {"apart": lambda w: w.names.update(y=torch.ones(2)), "all": lambda w: w.names.update(z=w.x)}),
    Case("no grad yet", lambda: {"x": torch.ones(2, requires_grad=True)},
         lambda w: [IdentityGuard.of(s.GradSource(X), None)], {"written": do("x.data.zero_()")},
         {"grad": do("x.sum().backward()"), "number": put("x", 1)}),
    Case("grad", lambda: (lambda t: (t.sum().backward(), {"x": t})[1])(torch.ones(2, requires_grad=True)),
         lambda w: [TensorGuard.of(s.GradSource(X), w.x.grad)], {"accumulated": do("x.sum().backward()")},
         {"none": do("x.grad = None"),
         "not a leaf": lambda w: w.names.update(x=w.x * 2)}),
    Case("condition on floats", lambda: {"x": 2.5, "y": 3},
         lambda w: [ShapeGuard.of(apply("lt", constant(2), load(s.FloatSource(X)))),
                    ShapeGuard.of(apply("le", apply("mul", load(s.FloatSource(X)), load(Y)), constant(9.0)))],
         {"larger": put("x", 2.75), "negative": put("y", -4)},
         {"at the bound": put("x", 2.0), "too large": put("x", 3.5),
          "inf times an int": put("x", float("inf")), "nan": put("x", float("nan")),
          "an int": put("x", 3), "no int": put("y", 3.0)}),
    Case("condition on lengths", lambda: {"x": [1, 2], "y": deque([1])},
         lambda w: [ShapeGuard.of(apply("le", load(s.LengthSource(X)), constant(3))),
                    ShapeGuard.of(apply("lt", load(s.LengthSource(Y)), load(s.LengthSource(X))))],
         {"longer": do("x.append(3)"), "shorter": do("y.clear()"), "a subclass": put("x", MyList([1, 2, 3]))},
         {"too long": do("x.extend((3, 4))"), "as long": do("y.append(2)"), "number": put("x", 1)}),
    Case("conditions on numbers of NumPy", lambda: {"x": np.int64(7), "y": np.uint8(3)},
         lambda w: [ShapeGuard.of(apply("lt", load(s.NumpyIntSource(X, "int64")), constant(9))),
                    ShapeGuard.of(apply("lt", load(s.NumpyIntSource(Y, "uint8")),
                                        load(s.NumpyIntSource(X, "int64"))))],
         {"another": put("x", np.int64(8)), "smaller": put("y", np.uint8(0))},
         {"too large": put("x", np.int64(9)), "negative": put("x", np.int64(-7)), "an int": put("x", 7),
          "another type": put("x", np.int32(7)), "a float": put("x", np.float64(7)), "a bool": put("y", True),
          "an array": put("y", lambda: np.array([3], np.uint8)), "none": put("x", None)}),
    Case("computed numbers", lambda: {"x": 2.5, "y": 7},
         lambda w: [ShapeGuard.of(apply("lt", load(_computed()), constant(50))),
                    ShapeGuard.of(apply("eq", apply("mod", load(_computed()), constant(2)), constant(0)))],
         {"another": put("y", 5), "negative": put("x", -3.5)},
         {"too large": put("x", 10.0), "of another remainder": put("x", 2.6), "overflow": put("y", 63),
          "no power": put("y", -1), "no int": put("y", 7.0), "nan": put("x", float("nan"))}),
    Case("unwritten", lambda: {"x": torch.ones(2), "y": torch.ones(2)},
         lambda w: [UnwrittenTensorGuard.of(X, w.x)], {"read": do("x + 1"), "another": do("y.add_(1)")},
         {"written": do("x.add_(1)"), "copied to": do("x.copy_(y)"), "a part": do("x[0] = 3"),
          "other memory": do("x.data = y"), "number": put("x", 1)}),
    Case("an unwritten empty tensor", lambda: {"x": torch.ones(0)},
         lambda w: [UnwrittenTensorGuard.of(X, w.x)], {"read": do("x + 1")}, {"written": do("x.add_(1)")}),
    Case("shape expression", lambda: {"x": torch.ones(4, 6), "y": 3},
         lambda w: [ShapeGuard.of(apply("le", size(X, 0), constant(8))),
                    ShapeGuard.of(apply("eq", apply("mod", size(X, 1), load(Y)), constant(0))),
                    ShapeGuard.of(apply("eq", load(s.ShapeSource(X, "stride", 0)), size(X, 1)))],
         {"smaller": put("x", lambda: torch.ones(2, 9)), "other divisor": put("y", 2)},
         {"too large": put("x", lambda: torch.ones(9, 6)), "not divisible": put("y", 4),
          "division by zero": put("y", 0), "no int": put("y", 3.0), "True": put("y", True),
          "beyond 64 bits": put("y", 1 << 70), "transposed": put("x", lambda: torch.ones(6, 4).t()),
          "one dim": put("x", lambda: torch.ones(4))}),
]  # fmt: skip


def _global(w: World, **names: Any) -> None:
    w.globals.update(names)


def _with_global(w: World) -> list[Guard]:
    w.globals["scale"] = 3
    return [
        ConstantGuard.of(s.GlobalSource("scale"), 3),
        ConstantGuard.of(s.DictItemSource(s.GlobalsSource(), "scale"), 3),
    ]


def _set_cell(value: Any) -> Any:
    return lambda w: setattr(w.function.__closure__[0], "cell_contents", value)


class _FunctionMode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class _DispatchMode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _default_dtype(w: World) -> None:
    torch.set_default_dtype(torch.float64)
    w.stack.callback(torch.set_default_dtype, torch.float32)


def _deterministic(w: World) -> None:
    torch.use_deterministic_algorithms(True)
    w.stack.callback(torch.use_deterministic_algorithms, False)


FRAME = [
    Case("global", dict, _with_global, {"others": lambda w: _global(w, **{f"n{i}": i for i in range(200)})},
         {"changed": lambda w: _global(w, scale=4), "deleted": lambda w: w.globals.pop("scale"),
          "as bool": lambda w: _global(w, scale=True)}),
    Case("builtin", dict,
         lambda w: [IdentityGuard.of(s.BuiltinSource("len"), len),
                    DictContainsGuard.builtin_not_hidden("len")], {"other global": lambda w: _global(w, n=1)},
         {"hidden": lambda w: _global(w, len=len), "replaced": lambda w: w.builtins.update(len=max),
          "deleted": lambda w: w.builtins.pop("len")}),
    Case("free variable", dict,
         lambda w: [ConstantGuard.of(s.CellSource("free"), "free"),
                    IdentityGuard.of(s.FreeCellSource("free"), w.function.__closure__[0])],
         {"equal": _set_cell("fre" + str("e"))},
         {"changed": _set_cell(1), "empty": lambda w: delattr(w.function.__closure__[0], "cell_contents")}),
    Case("function of the frame", dict, lambda w: [IdentityGuard.of(s.FunctionSource(), w.function)], {},
         {"made again": lambda w: setattr(w, "function", World({}).function)}),
    Case("constant", dict,
         lambda w: [ConstantGuard.of(s.ModuleAttrSource(s.ConstantSource(torch), "__name__"), "torch")]),
    Case("global state", dict, lambda w: [GlobalStateGuard.of()],
         {"grad again": leave(torch.enable_grad),
          "threads": lambda w: torch.set_num_threads(torch.get_num_threads())},
         {"no grad": leave(torch.no_grad), "inference": leave(torch.inference_mode),
          "autocast": leave(lambda: torch.autocast("cpu", torch.bfloat16)),
          "default dtype": _default_dtype, "deterministic": _deterministic,
          "function mode": leave(_FunctionMode), "dispatch mode": leave(_DispatchMode),
          "no torch function": leave(torch._C.DisableTorchFunctionSubclass),
          "vmap": lambda w: (torch._C._functorch._vmap_increment_nesting(2, "error"),
                             w.stack.callback(torch._C._functorch._vmap_decrement_nesting))}),
    Case("any grad mode", dict, lambda w: [GlobalStateGuard.of().in_any_grad_mode()],
         {"grad again": leave(torch.enable_grad), "no grad": leave(torch.no_grad)},
         {"inference": leave(torch.inference_mode), "default dtype": _default_dtype,
          "autocast": leave(lambda: torch.autocast("cpu", torch.bfloat16)),
          "function mode": leave(_FunctionMode), "dispatch mode": leave(_DispatchMode)}),
    Case("autocast on", dict,
         lambda w: (w.stack.enter_context(torch.autocast("cpu", torch.bfloat16)), [GlobalStateGuard.of()])[1],
         {"same again": leave(lambda: torch.autocast("cpu", torch.bfloat16))},
         {"off": leave(lambda: torch.autocast("cpu", enabled=False)),
          "other dtype": leave(lambda: torch.autocast("cpu", torch.float16))}),
]  # fmt: skip

CASES = [*IDENTITY, *CONTAINERS, *ATTRIBUTES, *TENSORS, *FRAME]
