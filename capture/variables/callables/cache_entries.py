"""What a function under `functools.lru_cache` holds, read without a call.

In:  the function, the arguments of a call.
Out: the dict that is its cache, the key that it keeps for the call, what it finds there: the result itself,
     or the link of the list that holds it where the cache is bounded. As long as that is found, a call gives
     the same object; `cache_clear()` and eviction take it away.
"""

from __future__ import annotations

import functools
import gc
import itertools
from typing import Any, NamedTuple

from guards.values import is_constant


class CachedCall(NamedTuple):
    cache: dict[Any, Any]
    key: Any  # the very object
    found: Any


def entry_for(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CachedCall | None:
    """None where there is none yet, or none that could be looked up without code of the program."""
    parts = _parts(function)
    if parts is None or not all(map(is_plain_key, [*args, *kwargs.values()])):
        return None
    cache, mark, typed = parts
    key = _key(mark, typed, args, kwargs)
    held = next((k for k in cache if k == key), None) if key in cache else None
    return None if held is None else CachedCall(cache, held, cache[held])


def cache_of(function: Any) -> dict[Any, Any] | None:
    parts = _parts(function)
    return None if parts is None else parts[0]


def is_full(function: Any) -> bool:
    """Whether another entry takes one away."""
    info = functools._lru_cache_wrapper.cache_info(function)
    return info.maxsize is not None and info.currsize >= info.maxsize


def is_plain_key(value: Any) -> bool:
    """Whether its hash is Python's own: by value for constants, by address for objects."""
    if is_constant(value):
        return True
    return type(value).__hash__ is object.__hash__ and type(value).__eq__ is object.__eq__


def _parts(function: Any) -> tuple[dict[Any, Any], object, bool] | None:
    """Its cache, what it puts between positional arguments and keywords, whether it tells types apart. None
    in an interpreter that has them elsewhere.
    """
    found = gc.get_referents(function)[-6:]
    if len(found) != 6:
        return None
    cache, _, mark, _, _, attributes = found
    if type(cache) is not dict or type(mark) is not object or attributes is not vars(function):
        return None
    parameters = attributes.get("cache_parameters")
    if getattr(parameters, "__code__", None) not in _PARAMETERS:
        return None
    return cache, mark, parameters()["typed"]


#: of what `cache_parameters` is, with and without arguments of the decorator
_PARAMETERS = {
    made.cache_parameters.__code__ for made in (functools.lru_cache(len), functools.lru_cache(1)(len))
}


def _key(mark: object, typed: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not typed and not kwargs:
        return args[0] if len(args) == 1 and type(args[0]) in (int, str) else args
    key = (*args, mark, *itertools.chain.from_iterable(kwargs.items())) if kwargs else args
    return (*key, *map(type, args), *map(type, kwargs.values())) if typed else key
