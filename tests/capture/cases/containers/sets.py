"""Sets and frozensets."""

from __future__ import annotations

import torch

from tests.capture.cases.registry import case


@case(ops=2)
def set_tensors(x):
    y = x + 1
    s = {x, y, x}
    s.add(y)
    return x in s, len(s), y * 2


@case(ops=2)
def set_tensors2(x):
    s = set()
    s.add(x)
    s.discard(x)
    s.update([x, x + 1])
    return len(s), x * 2


@case(ops=1)
def set_tensor_iter(x):
    s = {x}
    return [v + 1 for v in s]


@case(ops=1)
def set_modules(x):
    m = torch.nn.ReLU
    s = {m, torch.nn.GELU}
    return m in s, type(x) in {torch.Tensor}, x + 1


@case(ops=1)
def set_types(x):
    s = {int, float}
    return type(1) in s, str in s, s | {str} >= s, x + 1


@case(ops=1)
def set_ops(x):
    a = {1, 2, 3}
    b = {2, 3, 4}
    return a & b, a | b, a - b, a ^ b, a < b, a <= {1, 2, 3, 4}, a >= b, a == {3, 2, 1}, a != b, x + 1


@case(ops=1)
def set_methods(x):
    a = {1, 2, 3}
    return (
        a.union([4], (5,)),
        a.intersection([1, 2], [2]),
        a.difference([1]),
        a.symmetric_difference([1, 9]),
        a.issubset(range(5)),
        a.issuperset([1]),
        a.isdisjoint([7]),
        x + 1,
    )


@case(ops=1)
def set_inplace(x):
    a = {1, 2, 3}
    b = a
    a |= {4}
    a &= {1, 2, 4}
    a -= {1}
    a ^= {2, 7}
    return b, a is b, x + 1


@case(ops=1)
def set_inplace2(x):
    a = {1, 2, 3}
    a.update([4], [5])
    a.intersection_update([1, 4, 5])
    a.difference_update([1])
    a.symmetric_difference_update([4, 8])
    return a, x + 1


@case(ops=1)
def set_remove(x):
    a = {1, 2}
    a.remove(1)
    try:
        a.remove(9)
    except KeyError as e:
        return e.args, a, x + 1


@case(ops=1)
def set_pop(x):
    a = {5}
    v = a.pop()
    try:
        a.pop()
    except KeyError as e:
        return v, str(e), x + 1


@case(ops=1)
def set_clear_copy(x):
    a = {1, 2}
    b = a.copy()
    a.clear()
    return a, b, bool(a), len(b), x + 1


@case(ops=1)
def plain_frozenset(x):
    a = frozenset([1, 2])
    b = a | {3}
    d = {a: x}
    return b, type(b).__name__, d[frozenset([2, 1])] + 1, {1} | a, type({1} | a).__name__


@case(ops=1)
def frozenset_eq(x):
    return (
        frozenset([1]) == {1},
        hash(frozenset([1, 2])) == hash(frozenset([2, 1])),
        frozenset([1]) in {frozenset([1])},
        x + 1,
    )


@case(ops=1)
def set_comp(x):
    return {i % 3 for i in range(10)}, sorted({c for c in "hello"}), x + 1


@case(ops=3)
def set_sorted(x):
    s = {3, 1, 2}
    return sorted(s), sum(s), max(s), min(s), [x + i for i in s]


@case(ops=1)
def set_err(x):
    try:
        {1} | [2]
    except TypeError as e:
        r = str(e)
    try:
        {[]}
    except TypeError as e:
        q = str(e)
    return r, q, x + 1


@case(ops=1)
def set_dunders(x):
    a = {1, 2}
    return (
        a.__contains__(1),
        a.__len__(),
        a.__or__({3}),
        a.__and__({1}),
        a.__sub__({1}),
        a.__xor__({1, 5}),
        a.__eq__({1, 2}),
        a.__le__({1, 2, 3}),
        a.__ior__({9}),
        x + 1,
    )


@case(ops=1)
def set_notimpl(x):
    a = {1}
    return a.__or__([1]), a.__eq__(3), a.__lt__([1]), x + 1


@case(ops=1)
def set_dict_keys(x):
    return {1, 2} & {1: 0}.keys(), {1: 0}.keys() | {5}, set({1: 0, 2: 0}), x + 1


@case(ops=1, args=lambda: (torch.randn(3, 4), {1, 2, 3}))
def set_arg(x, s):
    s.add(4)
    s.discard(1)
    s |= {7}
    return x + len(s), 3 in s


@case(ops=3, args=lambda: (torch.randn(3, 4), {1, 2, 3}))
def set_arg_iter(x, s):
    return [x + i for i in s], sum(s)


@case(ops=1, args=lambda: (torch.randn(3, 4), frozenset({"a", "b"})))
def fs_arg(x, s):
    return x + len(s), "a" in s, sorted(s)


class MySet(set):
    def twice(self):
        return [i * 2 for i in sorted(self)]


@case(ops=1)
def myset(x):
    s = MySet([1, 2])
    s.add(5)
    return s.twice(), len(s), x + 1, s


@case(ops=1, args=lambda: (torch.randn(3, 4), MySet([1, 2])))
def myset_arg(x, s):
    s.add(9)
    return s.twice(), x + 1


class MyFS(frozenset):
    pass


@case(ops=1)
def myfs(x):
    s = MyFS([1, 2])
    return 1 in s, len(s), x + 1


@case(ops=1)
def ordered_set(x):
    d = dict.fromkeys([3, 1, 2])
    return list(d), x + 1


FUNCTIONS_IN_C = {torch.relu, torch.tanh, len}
FROZEN_FUNCTIONS = frozenset((torch.nn.functional.gelu, torch.sin))


@case(ops=2)
def functions_in_c(x):
    if torch.relu in FUNCTIONS_IN_C and torch.sin not in FUNCTIONS_IN_C and len in FUNCTIONS_IN_C:
        x = x + 1
    found = torch.nn.functional.gelu in FROZEN_FUNCTIONS, torch.cos in FROZEN_FUNCTIONS
    return x * len(FUNCTIONS_IN_C), found, [f is len for f in FUNCTIONS_IN_C]
