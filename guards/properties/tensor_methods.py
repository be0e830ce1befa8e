"""Whether the methods of tensors are those of torch. The interpreter knows `x.sum()` only as torch's method.

In:  the contents of the classes of tensors at the moment of the call.
Out: a flag, which is a field of `guards.properties.global_state`. `native/tensors/tensor_methods.c` looks
     through the same table, `PRISTINE`.

    torch.Tensor.sum = mine; methods_are_replaced()   ->   True

Names that torch does not know belong to the user. They are guarded one by one where they are read.
"""

from __future__ import annotations

import operator
import os
import types
from typing import Any

import torch

#: Python and its library write these names on demand. `__repr__`: the text of a tensor is never captured.
NEUTRAL = frozenset(
    ("__abstractmethods__", "__annotations__", "__dict__", "__doc__", "__module__", "__repr__")
    + ("__slotnames__", "__weakref__")
)
#: built-in classes that have most special names of operators and protocols, and the other special names
# fmt: off
_PROTOCOLS = (
    complex, dict, float, int, list, memoryview, object, str, types.CoroutineType, types.FunctionType,
)
_SPECIAL = (
    "__aenter__", "__aiter__", "__bytes__", "__delete__", "__divmod__", "__enter__", "__exit__", "__fspath__",
    "__getattr__", "__missing__", "__rdivmod__", "__set__", "__set_name__",
)
# fmt: on
MISSING = ...


def _contents(cls: type) -> dict[str, Any]:
    """The entries that Python finds in the class, of all names. No descriptor is called."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base))
    return found


def _is_foreign(name: str, found: Any) -> bool:
    """Whether somebody replaced the method before this module could see that of torch."""
    written = isinstance(found, types.FunctionType) and name in vars(torch._C.TensorBase)
    return written and not found.__code__.co_filename.startswith(os.path.dirname(torch.__file__))


def _pristine(cls: type) -> dict[str, Any]:
    special = [n for c in _PROTOCOLS for n in vars(c) if n.startswith("__")]
    contents = _contents(cls)
    names = {*_SPECIAL, *special, *contents} - NEUTRAL
    found = {name: contents.get(name, MISSING) for name in sorted(names)}
    return {name: None if _is_foreign(name, value) else value for name, value in found.items()}


#: class -> name -> the entry of torch, or MISSING. The last class derives from all others.
PRISTINE: dict[type, dict[str, Any]] = {c: _pristine(c) for c in (torch.Tensor, torch.nn.Parameter)}


def _entries() -> list[Any]:
    """What the classes hold now: names and values."""
    found: list[Any] = []
    for cls in PRISTINE:
        found += vars(cls)
        found += vars(cls).values()
    return found


class _Look:
    """The last look: the contents of the classes, kept alive, and its result. The table was the first."""

    contents = _entries()
    replaced = any(
        value is None and _contents(cls)[name] is not None
        for cls, names in PRISTINE.items()
        for name, value in names.items()
    )


_last = _Look()


def _differs(row: tuple[type, dict[str, Any]]) -> bool:
    cls, pristine = row
    contents = _contents(cls)
    return not all(map(operator.is_, (contents.get(name, MISSING) for name in pristine), pristine.values()))


def methods_are_replaced() -> bool:
    contents = _entries()
    if len(contents) != len(_last.contents) or not all(map(operator.is_, contents, _last.contents)):
        _last.contents = contents
        _last.replaced = any(map(_differs, PRISTINE.items()))
    return _last.replaced
