"""Polyfills of methods of OrderedDict, defaultdict and deque that call the subclass of an instance.

In:  an instance of a subclass of one of these classes.
Out: the result of CPython's C code. `METHODS` maps the built-in class and the method's name to the polyfill.

`OrderedDict.pop`, `popitem` and `clear` need no polyfill, because they don't call the methods of a subclass.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any


def ordered_copy(owner: Any, /) -> Any:
    result = type(owner)()
    for key in OrderedDict.__iter__(owner):
        result[key] = owner[key]
    return result


def ordered_or(left: Any, right: Any, /) -> Any:
    if not isinstance(right, dict):
        return NotImplemented
    result = type(left)(left)
    OrderedDict.update(result, right)
    return result


def ordered_ror(right: Any, left: Any, /) -> Any:
    if not isinstance(left, dict):
        return NotImplemented
    result = type(right)(left)
    OrderedDict.update(result, right)
    return result


def ordered_setdefault(owner: Any, /, key: Any, default: Any = None) -> Any:
    if key in owner:
        return owner[key]
    owner[key] = default
    return default


def default_copy(owner: Any, /) -> Any:
    return type(owner)(owner.default_factory, owner)


def default_or(left: Any, right: Any, /) -> Any:
    if not isinstance(right, dict):
        return NotImplemented
    result = type(left)(left.default_factory, left)
    dict.update(result, right)
    return result


def default_ror(right: Any, left: Any, /) -> Any:
    if not isinstance(left, dict):
        return NotImplemented
    result = type(right)(right.default_factory, left)
    dict.update(result, right)
    return result


def deque_copy(owner: Any, /) -> Any:
    return type(owner)(owner) if owner.maxlen is None else type(owner)(owner, owner.maxlen)


def deque_add(owner: Any, other: Any, /) -> Any:
    if not isinstance(other, deque):
        raise TypeError(f'can only concatenate deque (not "{type(other).__name__}") to deque')
    result = deque_copy(owner)
    deque.extend(result, other)
    return result


def deque_mul(owner: Any, count: int, /) -> Any:
    result = deque_copy(owner)
    deque.__imul__(result, count)
    return result


METHODS: dict[tuple[type, str], Callable[..., Any]] = {
    (OrderedDict, "copy"): ordered_copy,
    (OrderedDict, "__or__"): ordered_or,
    (OrderedDict, "__ror__"): ordered_ror,
    (OrderedDict, "setdefault"): ordered_setdefault,
    (defaultdict, "copy"): default_copy,
    (defaultdict, "__copy__"): default_copy,
    (defaultdict, "__or__"): default_or,
    (defaultdict, "__ror__"): default_ror,
    (deque, "copy"): deque_copy,
    (deque, "__copy__"): deque_copy,
    (deque, "__add__"): deque_add,
    (deque, "__mul__"): deque_mul,
    (deque, "__rmul__"): deque_mul,
}
