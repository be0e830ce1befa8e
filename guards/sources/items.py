"""Sources of items of containers, of parts of a tensor, and of objects behind weak references.

In:  the source of the container, and an index or key.
Out: a source.

    args[0]["scale"]   ->   DictItemSource(ItemSource(LocalSource("args"), 0), "scale")
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import field
from typing import Any, ClassVar
from weakref import ref as weak_reference

import torch

from capture_records import dataclass
from guards.lookup import Unresolved, dict_get, dict_items, isinstance_raw, safe_repr, stored_length
from guards.properties.iterator_state import part_of
from guards.sources.base import DerivedSource
from guards.values import NUMPY_INTS, ObjectRef, is_constant


@dataclass(frozen=True, eq=False)
class ItemSource(DerivedSource):
    """The stored item of a list, a tuple or a subclass, past its `__getitem__`. `label` is the name of the
    item in a named tuple. Only texts use it.
    """

    index: int
    label: str | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.label}" if self.label else f"{self.parent.text}[{self.index}]"

    def read(self, owner: Any) -> Any:
        for kind in (tuple, list):
            if isinstance_raw(owner, kind):
                if not 0 <= self.index < kind.__len__(owner):
                    raise Unresolved(f"index {self.index} is out of range")
                return kind.__getitem__(owner, self.index)
        raise Unresolved(f"not a list or tuple: {type(owner).__name__}")


@dataclass(frozen=True, eq=False)
class DequeItemSource(DerivedSource):
    """An item of a `collections.deque`."""

    index: int

    @property
    def text(self) -> str:
        return f"{self.parent.text}[{self.index}]"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, deque) or not 0 <= self.index < deque.__len__(owner):
            raise Unresolved(f"no item {self.index} in {safe_repr(owner)}")
        return deque.__getitem__(owner, self.index)


@dataclass(frozen=True, eq=False)
class DictItemSource(DerivedSource):
    """A value of a dict by key. The key is a constant or any other hashable object. Such an object is matched
    by identity and not kept alive.
    """

    key: Any

    def __post_init__(self) -> None:
        if not is_constant(self.key) and not isinstance(self.key, ObjectRef):
            object.__setattr__(self, "key", ObjectRef(self.key, hash_value=hash(self.key)))
        super().__post_init__()

    @property
    def text(self) -> str:
        return (
            f"{self.parent.text}[{self.key.text if isinstance(self.key, ObjectRef) else safe_repr(self.key)}]"
        )

    def read(self, owner: Any) -> Any:
        key = self.key.get() if isinstance(self.key, ObjectRef) else self.key
        if key is None and self.key is not None:
            raise Unresolved("the key no longer exists")
        return dict_get(owner, key)


@dataclass(frozen=True, eq=False)
class DictKeySource(DerivedSource):
    """A key of a dict by its position in iteration order. The dict needs a `DictKeysGuard` or a
    `LengthGuard`.
    """

    position: int

    @property
    def text(self) -> str:
        return f"list({self.parent.text})[{self.position}]"

    def read(self, owner: Any) -> Any:
        return _dict_position(owner, self.position)[0]


@dataclass(frozen=True, eq=False)
class DictValueSource(DerivedSource):
    """A value of a dict by its position in iteration order."""

    position: int

    @property
    def text(self) -> str:
        return f"list({self.parent.text}.values())[{self.position}]"

    def read(self, owner: Any) -> Any:
        return _dict_position(owner, self.position)[1]


def _dict_position(owner: Any, position: int) -> tuple[Any, Any]:
    if not isinstance_raw(owner, dict):
        raise Unresolved(f"not a dict: {type(owner).__name__}")
    item = next(itertools.islice(dict_items(owner), position, None), None)
    if item is None:
        raise Unresolved(f"fewer than {position + 1} keys")
    return item


@dataclass(frozen=True, eq=False)
class IteratorPartSource(DerivedSource):
    """The object that a built-in iterator walks over, or another of its arguments, by index. It is Unresolved
    when the iterator is exhausted.

    `IteratorStateGuard` says how far the iterator has come.
    """

    index: int

    @property
    def text(self) -> str:
        return f"part {self.index} of {self.parent.text}"

    def read(self, owner: Any) -> Any:
        return part_of(owner, self.index)


# --- tensors and references -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GradSource(DerivedSource):
    """`tensor.grad` of an exact Tensor or Parameter. It may be None."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}.grad"

    def read(self, owner: Any) -> Any:
        if type(owner) not in (torch.Tensor, torch.nn.Parameter):
            raise Unresolved(f"not a plain tensor: {type(owner).__name__}")
        if not owner.is_leaf and not owner.retains_grad:
            return None  # reading it would warn
        return vars(torch._C.TensorBase)["grad"].__get__(owner)


@dataclass(frozen=True, eq=False)
class ShapeSource(DerivedSource):
    """A size, a stride or the storage offset of a tensor. (The dim of a storage offset is 0.)"""

    what: str
    dim: int = 0
    is_int: ClassVar[bool] = True

    @property
    def text(self) -> str:
        if self.what == "storage_offset":
            return f"{self.parent.text}.storage_offset()"
        return f"{self.parent.text}.{self.what}({self.dim})"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, torch.Tensor):
            raise Unresolved(f"not a tensor: {type(owner).__name__}")
        with torch._C.DisableTorchFunctionSubclass():
            if self.what == "storage_offset":
                return owner.storage_offset()
            values = owner.shape if self.what == "size" else owner.stride()
        if not 0 <= self.dim < len(values):
            raise Unresolved(f"{self.parent.text} has {len(values)} dims")
        return values[self.dim]


@dataclass(frozen=True, eq=False)
class LengthSource(DerivedSource):
    """The stored length of a built-in container or of an instance of a subclass."""

    is_int: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"len({self.parent.text})"

    def read(self, owner: Any) -> Any:
        found = stored_length(owner)
        if found is None:
            raise Unresolved(f"no length: {type(owner).__name__}")
        return found


@dataclass(frozen=True, eq=False)
class FloatSource(DerivedSource):
    """A float that is no nan, as a number of a condition (see `guards.conditions`).

    Another guard knows its type: that of a plain float, or `np.float64`.
    """

    is_int: ClassVar[bool] = True  # a guard program has its bits

    @property
    def text(self) -> str:
        return self.parent.text

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, float) or math.isnan(owner):
            raise Unresolved(f"not a float that compares: {type(owner).__name__}")
        return float.__float__(owner)


@dataclass(frozen=True, eq=False)
class NumpyIntSource(DerivedSource):
    """A whole number of NumPy as an int. `kind` is the name of its type, one of `NUMPY_INTS`."""

    kind: str
    is_int: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"int({self.parent.text})"

    @property
    def number_type(self) -> type:
        return NUMPY_INTS[self.kind]

    def read(self, owner: Any) -> Any:
        kind = type(owner)
        if kind is not self.number_type:
            raise Unresolved(f"not a {self.kind}: {kind.__name__}")
        return int(owner)


@dataclass(frozen=True, eq=False)
class WeakrefSource(DerivedSource):
    """The object of a plain `weakref.ref`. It is Unresolved when the object is dead."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}()"

    def read(self, owner: Any) -> Any:
        found = owner() if type(owner) is weak_reference else None
        if found is None:
            raise Unresolved("not a live weak reference")
        return found
