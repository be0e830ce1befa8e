"""`__reduce_ex__` and copies of objects in plain Python, for `copy.copy`, `copy.deepcopy` and `pickle`.

In:  an instance whose class has no `__reduce__` of its own.
Out: the tuple that `object.__reduce_ex__` gives: a function that makes a bare instance, its arguments, state,
     list items, dict items.
"""

from __future__ import annotations

import collections
import copy
import copyreg
from typing import Any


def reduce_ex(owner: Any, protocol: int, /) -> Any:
    if type(owner).__reduce__ is not object.__reduce__:
        return owner.__reduce__()
    if protocol < 2:
        return copyreg._reduce_ex(owner, protocol)  # type: ignore[attr-defined]
    cls = type(owner)
    if hasattr(cls, "__getnewargs_ex__"):
        args, kwargs = owner.__getnewargs_ex__()
        make, made_from = copyreg.__newobj_ex__, (cls, args, kwargs)  # type: ignore[attr-defined]
    else:
        args = owner.__getnewargs__() if hasattr(cls, "__getnewargs__") else ()
        make, made_from = copyreg.__newobj__, (cls, *args)  # type: ignore[attr-defined]
    items = iter(owner) if isinstance(owner, list) else None
    entries = iter(owner.items()) if isinstance(owner, dict) else None
    return make, made_from, owner.__getstate__(), items, entries


def reduce(owner: Any, /) -> Any:
    return copyreg._reduce_ex(owner, 0)  # type: ignore[attr-defined]


def reduce_container(owner: Any, protocol: int = 4, /) -> Any:
    """`__reduce__` of the containers that define it."""
    cls, state = type(owner), getattr(owner, "__dict__", None) or None
    if isinstance(owner, (set, frozenset)):
        return cls, (list(owner),), state
    if isinstance(owner, collections.deque):
        return cls, () if owner.maxlen is None else ((), owner.maxlen), state, iter(owner)
    if isinstance(owner, collections.defaultdict):
        args = () if owner.default_factory is None else (owner.default_factory,)
        return cls, args, None, None, iter(owner.items())
    return cls, (), state, None, iter(owner.items())


#: Classes whose instances `reduce_container` serves, with the instances of their subclasses.
REDUCED_CONTAINERS = (set, frozenset, collections.deque, collections.defaultdict, collections.OrderedDict)


def getstate(owner: Any, slot_names: tuple[str, ...], /) -> Any:
    state = (owner.__dict__ if hasattr(owner, "__dict__") else None) or None
    slots = {name: getattr(owner, name) for name in slot_names if hasattr(owner, name)}
    return (state, slots) if slots else state


def copy_object(value: Any, /) -> Any:
    """`copy.copy` of an object that is no built-in container."""
    cls = type(value)
    if issubclass(cls, type):
        return value
    copier = getattr(cls, "__copy__", None)
    if copier is not None:
        return copier(value)
    reductor = copyreg.dispatch_table.get(cls)
    reduced = value.__reduce_ex__(4) if reductor is None else reductor(value)
    if isinstance(reduced, str):
        return value
    return copy._reconstruct(value, None, *reduced)  # type: ignore[attr-defined]
