"""Values that guards hold: constants, and references to objects.

In:  any Python object.
Out: `is_constant`. `constants_equal`: 1, True, 1.0, 0.0 and -0.0 all differ, and a NaN equals itself bit by
     bit. `constant_identity`: a hashable form of the same relation. `ObjectRef`: remembers an object, and
     does not keep it alive where that is possible.

    constants_equal(1, True)   ->   False
"""

from __future__ import annotations

import enum
import struct
from typing import Any
from weakref import ref as weak_reference

import numpy as np
import torch

from guards.lookup import safe_repr, type_mro

SCALAR_TYPES = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented))
TORCH_CONSTANT_TYPES = (torch.dtype, torch.device, torch.layout, torch.memory_format)
SEQUENCE_TYPES = (tuple, torch.Size)
RANGE_TYPES = (slice, range)

#: NumPy's numbers whose bytes say all: not those with bytes of no meaning, nor times with a unit
NUMPY_NUMBERS = frozenset(
    kind
    for kind in np.sctypeDict.values()
    if issubclass(kind, (np.number, np.bool_)) and kind().itemsize <= 8 and kind is not np.timedelta64
)

#: NumPy's whole numbers that are ints of 64 bits, by the names of their types
NUMPY_INTS: dict[str, type[np.integer[Any]]] = {
    kind.__name__: kind for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32)
}


def numpy_int_kind(value: Any) -> str | None:
    """The name in `NUMPY_INTS` of the value's exact type, or None. No code of the program runs."""
    return next((name for name, kind in NUMPY_INTS.items() if type(value) is kind), None)


_SINGLETONS = frozenset(
    (bool, type(None), type(Ellipsis), type(NotImplemented), torch.dtype, torch.layout, torch.memory_format)
)


def is_constant(value: Any) -> bool:
    """Whether a `ConstantGuard` can hold this value.

    Constants are scalars, torch's dtypes, devices, layouts and sizes, enum members, and tuples, frozensets,
    slices and ranges of constants. The type has to be exact: a subclass of int may carry more.
    """
    kind = type(value)
    if kind in SCALAR_TYPES or kind in TORCH_CONSTANT_TYPES or enum.Enum in type_mro(kind):
        return True
    if kind in SEQUENCE_TYPES or kind is frozenset:
        return all(map(is_constant, value))
    return kind is range or (kind is slice and all(map(is_constant, (value.start, value.stop, value.step))))


def constant_identity(value: Any) -> Any:
    """A hashable form of a constant. Two forms are equal exactly when the constants are equal."""
    kind = type(value)
    if kind is float:
        return (kind, struct.pack("d", value))
    if kind is complex:
        return (kind, struct.pack("dd", value.real, value.imag))
    if kind in SEQUENCE_TYPES:
        return (kind, tuple(map(constant_identity, value)))
    if kind is frozenset:
        return (kind, frozenset(map(constant_identity, value)))
    if kind in RANGE_TYPES:
        return (kind, tuple(map(constant_identity, (value.start, value.stop, value.step))))
    if kind in (int, str, bytes, torch.device):
        return (kind, value)
    return (kind, id(value))


#: reads the plain value in an instance of a class on top of a built-in class, past the methods of that class
PLAIN_VALUE: dict[type, Any] = {
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: bytes.__bytes__,
}


def constants_equal(expected: Any, actual: Any) -> bool:
    """Whether a program sees no difference when `actual` stands for the constant `expected`."""
    if expected is actual:
        return True
    if type(expected) is not type(actual) or type(expected) in _SINGLETONS or isinstance(expected, enum.Enum):
        return False
    if type(expected) in NUMPY_NUMBERS:
        return bool(expected.tobytes() == actual.tobytes())
    return is_constant(actual) and bool(constant_identity(expected) == constant_identity(actual))


def weakly(value: Any) -> weak_reference[Any] | None:
    """None where the type of the object allows no weak reference."""
    try:
        return weak_reference(value)
    except TypeError:
        return None


class ObjectRef:
    """An object by identity. The reference is weak where the type of the object allows that. Else it is
    strong, and no other object can get the same id.

    A guard with a weak ObjectRef has to be dropped when the object dies: see `GuardSet.weak_objects`.
    """

    __slots__ = ("_get", "_text", "hash_value", "id", "is_weak")

    def __init__(self, obj: Any, *, hash_value: int | None = None, text: str | None = None) -> None:
        self.id = id(obj)
        self.hash_value = hash_value  # of a dict key
        self._text = text
        try:
            self._get: Any = weak_reference(obj)
            self.is_weak = True
        except TypeError:
            self._get = lambda: obj
            self.is_weak = False
            self._text = self._text or safe_repr(obj)

    @property
    def text(self) -> str:
        """The object as a reader knows it. For a weak reference it is made late, because most are never
        shown.
        """
        if self._text is None:
            obj = self._get()
            if obj is None:
                return "an object that is gone"
            self._text = safe_repr(obj)
        return self._text

    def get(self) -> Any:
        """The object, or None when it is dead."""
        return self._get()

    def is_same(self, other: Any) -> bool:
        return id(other) == self.id and (not self.is_weak or self._get() is other)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, ObjectRef) and self.id == other.id and self._get() is other._get()

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"ObjectRef({self.text})"


#: references to what is compared by address because there is one of it
SINGLE_REFS: dict[Any, ObjectRef] = {value: ObjectRef(value) for value in (None, False, True)}
