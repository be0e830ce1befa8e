"""Sources: where a value comes from, as plain data.

In:  made by the symbolic interpreter for every value that it takes from the frame.
Out: read by guards (what to check), by `guards.program` (how to load it), by failure texts and by whoever writes bytecode that reloads it.

    self.linear.weight   ->   AttrSource(AttrSource(LocalSource("self"), "linear"), "weight")

Two sources are equal when they name the same place. `resolve` finds the value in a frame without running user code; no source knows any bytecode.
"""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass, field, fields
from types import CellType, MethodType, ModuleType
from typing import Any, ClassVar
from weakref import ref as weak_reference

from guards.lookup import (
    Unresolved,
    dict_get,
    dict_items,
    function_field,
    instance_dict,
    isinstance_raw,
    raw_attribute,
    safe_repr,
    type_lookup,
    type_mro,
)
from guards.namespace import FrameNamespace
from guards.values import ObjectRef, constant_identity, is_constant

_MODULE_DICT: Any = vars(ModuleType)["__dict__"]


@dataclass(frozen=True, eq=False)
class Source:
    """A place. `base` is the source of the object that it is read from, None for a root."""

    is_int: ClassVar[bool] = False  # a machine integer rather than an object (sizes and strides)

    def __post_init__(self) -> None:
        identity = (type(self), *(_field_identity(getattr(self, f.name)) for f in fields(self) if f.compare))
        object.__setattr__(self, "_identity", identity)
        object.__setattr__(self, "_hash", hash(identity))

    @property
    def base(self) -> Source | None:
        return None

    @property
    def text(self) -> str:
        """How a user would write it."""
        raise NotImplementedError(type(self).__name__)

    def resolve(self, frame: FrameNamespace) -> Any:
        """The value in this frame. Raises Unresolved where the place does not exist. Runs no user code."""
        raise NotImplementedError(type(self).__name__)

    def chain(self) -> list[Source]:
        """From the root to this source."""
        above = self.base.chain() if self.base is not None else []
        return [*above, self]

    @property
    def root(self) -> Source:
        return self.chain()[0]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Source) and self._hash == other._hash and self._identity == other._identity  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return self.text


def _field_identity(value: Any) -> Any:
    if isinstance(value, (Source, ObjectRef)):
        return value
    return constant_identity(value) if is_constant(value) else ("id", id(value))


# --- roots -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LocalSource(Source):
    """An argument of the frame, as bound at entry."""

    name: str

    @property
    def text(self) -> str:
        return self.name

    def resolve(self, frame: FrameNamespace) -> Any:
        if self.name not in frame.locals:
            raise Unresolved(f"local {self.name!r} is unbound")
        return frame.locals[self.name]


@dataclass(frozen=True, eq=False)
class FreeCellSource(Source):
    """The cell object of a free variable of the frame's function."""

    name: str

    @property
    def text(self) -> str:
        return f"cell({self.name})"

    def resolve(self, frame: FrameNamespace) -> Any:
        names = frame.function.__code__.co_freevars
        if self.name not in names:
            raise Unresolved(f"{frame.function.__name__} has no free variable {self.name!r}")
        return (frame.function.__closure__ or ())[names.index(self.name)]


@dataclass(frozen=True, eq=False)
class CellSource(Source):
    """The contents of a free variable of the frame's function."""

    name: str

    @property
    def base(self) -> Source:
        return FreeCellSource(self.name)

    @property
    def text(self) -> str:
        return self.name

    def resolve(self, frame: FrameNamespace) -> Any:
        return _cell_contents(self.base.resolve(frame))


@dataclass(frozen=True, eq=False)
class GlobalSource(Source):
    """A global of the frame's own module. For an inlined function of another module use `ModuleAttrSource`."""

    name: str

    @property
    def text(self) -> str:
        return f"G[{self.name!r}]"

    def resolve(self, frame: FrameNamespace) -> Any:
        return dict_get(frame.globals, self.name)


@dataclass(frozen=True, eq=False)
class BuiltinSource(Source):
    """A name of the frame's builtins. That no global hides it is a guard of its own: `guard.builtin_not_hidden`."""

    name: str

    @property
    def text(self) -> str:
        return self.name

    def resolve(self, frame: FrameNamespace) -> Any:
        return dict_get(frame.builtins, self.name)


@dataclass(frozen=True, eq=False)
class GlobalsSource(Source):
    """The frame's globals, the dict itself."""

    @property
    def text(self) -> str:
        return "globals()"

    def resolve(self, frame: FrameNamespace) -> Any:
        return frame.globals


@dataclass(frozen=True, eq=False)
class FunctionSource(Source):
    """The function that the frame runs."""

    @property
    def text(self) -> str:
        return "<this function>"

    def resolve(self, frame: FrameNamespace) -> Any:
        return frame.function


@dataclass(frozen=True, eq=False)
class ConstantSource(Source):
    """An object that the program holds by a strong reference: modules, classes of libraries, functions of torch."""

    value: Any
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_identity", (ConstantSource, id(self.value)))
        object.__setattr__(self, "_hash", hash((ConstantSource, id(self.value))))

    @property
    def text(self) -> str:
        if self.name is not None:
            return self.name
        return self.value.__name__ if type(self.value) is ModuleType else safe_repr(self.value)

    def resolve(self, frame: FrameNamespace) -> Any:
        return self.value


@dataclass(frozen=True, eq=False)
class GlobalStateSource(Source):
    """State of the thread or the process that has no object (grad mode, default dtype, ...). Only for guards: it has no value to load."""

    name: str = "torch"

    @property
    def text(self) -> str:
        return f"global state of {self.name}"

    def resolve(self, frame: FrameNamespace) -> Any:
        raise Unresolved("global state is not an object; guard it with guard.global_state()")


# --- attributes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DerivedSource(Source):
    """A place inside another object."""

    parent: Source

    @property
    def base(self) -> Source:
        return self.parent

    def resolve(self, frame: FrameNamespace) -> Any:
        return self.read(self.parent.resolve(frame))

    def read(self, owner: Any) -> Any:
        """The value inside `owner`. Raises Unresolved."""
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True, eq=False)
class AttrSource(DerivedSource):
    """An attribute, raw: slot or member, instance dict, the type's MRO, then `_parameters`, `_buffers`, `_modules` of an nn.Module.

    Also slots, dataclass fields, members of built-in types (`slice.start`, `range.stop`, `partial.func`, `method.__self__`) and attributes of
    classes. The raw entry of a class is not bound: a method is the plain function.
    """

    name: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.name}"

    def read(self, owner: Any) -> Any:
        return raw_attribute(owner, self.name)


@dataclass(frozen=True, eq=False)
class TypeAttrSource(DerivedSource):
    """`parent` is a class; the raw entry of its MRO. With `after`, of the part of the MRO behind that class, as `super(after, obj).name`."""

    name: str
    after: ObjectRef | None = None

    @property
    def text(self) -> str:
        if self.after is None:
            return f"{self.parent.text}.{self.name}"
        return f"super({safe_repr(self.after.get())}, {self.parent.text}).{self.name}"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, type):
            raise Unresolved(f"not a class: {safe_repr(owner)}")
        if self.after is None:
            found = type_lookup(owner, self.name, self)
            if found is self:
                raise Unresolved(f"{owner!r} has no attribute {self.name!r}")
            return found
        return self._read_after(type_mro(owner))

    def _read_after(self, mro: tuple[type, ...]) -> Any:
        start = self.after.get() if self.after is not None else None
        behind = itertools.dropwhile(lambda klass: klass is not start, mro)
        next(behind, None)
        for klass in behind:
            namespace = type.__dict__["__dict__"].__get__(klass)
            if self.name in namespace:
                return namespace[self.name]
        raise Unresolved(f"no class behind {safe_repr(start)} has {self.name!r}")


@dataclass(frozen=True, eq=False)
class ModuleAttrSource(DerivedSource):
    """A name in the dict of a Python module (`__getattr__` of the module does not count)."""

    name: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.name}"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, ModuleType):
            raise Unresolved(f"not a module: {safe_repr(owner)}")
        return dict_get(_MODULE_DICT.__get__(owner), self.name)


@dataclass(frozen=True, eq=False)
class DictSource(DerivedSource):
    """The instance `__dict__`."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}.__dict__"

    def read(self, owner: Any) -> Any:
        found = instance_dict(owner)
        if found is None:
            raise Unresolved(f"{type(owner).__name__} has no __dict__")
        return found


@dataclass(frozen=True, eq=False)
class TypeSource(DerivedSource):
    """The type of the value (not its `__class__`)."""

    @property
    def text(self) -> str:
        return f"type({self.parent.text})"

    def read(self, owner: Any) -> Any:
        return type(owner)


@dataclass(frozen=True, eq=False)
class MroItemSource(DerivedSource):
    """`parent` is a class; its MRO at `index`."""

    index: int

    @property
    def text(self) -> str:
        return f"{self.parent.text}.__mro__[{self.index}]"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, type) or self.index >= len(type_mro(owner)):
            raise Unresolved(f"no class {self.index} in the MRO of {safe_repr(owner)}")
        return type_mro(owner)[self.index]


FUNCTION_FIELDS = ("__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__")


@dataclass(frozen=True, eq=False)
class FunctionFieldSource(DerivedSource):
    """A field of a plain function, one of `FUNCTION_FIELDS`; an absent one is None."""

    field: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.field}"

    def read(self, owner: Any) -> Any:
        return function_field(owner, self.field)


@dataclass(frozen=True, eq=False)
class CellContentsSource(DerivedSource):
    """`parent` is a cell; what it holds."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}.cell_contents"

    def read(self, owner: Any) -> Any:
        return _cell_contents(owner)


def _cell_contents(cell: Any) -> Any:
    if type(cell) is not CellType:
        raise Unresolved(f"not a cell: {safe_repr(cell)}")
    try:
        return cell.cell_contents
    except ValueError:
        raise Unresolved("the cell is empty") from None


@dataclass(frozen=True, eq=False)
class MethodFieldSource(DerivedSource):
    """`parent` is a bound method; its `__self__` or `__func__`."""

    field: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.field}"

    def read(self, owner: Any) -> Any:
        if type(owner) is not MethodType:
            raise Unresolved(f"not a bound method: {safe_repr(owner)}")
        return owner.__self__ if self.field == "__self__" else owner.__func__


# --- items -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ItemSource(DerivedSource):
    """An item of a list or tuple (or a subclass: the stored item, past any `__getitem__`). `label` is its name in a named tuple, for texts alone."""

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
    """A value of a dict by key. The key is a constant, or any hashable object (then matched by identity, and not kept alive)."""

    key: Any

    def __post_init__(self) -> None:
        if not is_constant(self.key) and not isinstance(self.key, ObjectRef):
            object.__setattr__(self, "key", ObjectRef(self.key, hash_value=hash(self.key)))
        super().__post_init__()

    @property
    def text(self) -> str:
        return f"{self.parent.text}[{self.key.text if isinstance(self.key, ObjectRef) else safe_repr(self.key)}]"

    def read(self, owner: Any) -> Any:
        key = self.key.get() if isinstance(self.key, ObjectRef) else self.key
        if key is None and self.key is not None:
            raise Unresolved("the key no longer exists")
        return dict_get(owner, key)


@dataclass(frozen=True, eq=False)
class DictKeySource(DerivedSource):
    """A key of a dict by its position in iteration order. Guard the dict with `dict_keys` or at least `length_match`."""

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


_ITERATOR_STATE: dict[type, str] = {type(iter([])): "sequence", type(iter(())): "sequence"}


@dataclass(frozen=True, eq=False)
class IteratorSequenceSource(DerivedSource):
    """The list or tuple that a list or tuple iterator still walks over (Unresolved when it is exhausted).

    Guard its position with `guard.iterator_position`.
    """

    @property
    def text(self) -> str:
        return f"sequence of {self.parent.text}"

    def read(self, owner: Any) -> Any:
        if type(owner) not in _ITERATOR_STATE:
            raise Unresolved(f"not a list or tuple iterator: {type(owner).__name__}")
        state = owner.__reduce__()
        if len(state) != 3:
            raise Unresolved("the iterator is exhausted")
        return state[1][0]


# --- tensors and references ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GradSource(DerivedSource):
    """`tensor.grad` of an exact Tensor or Parameter; None when there is none."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}.grad"

    def read(self, owner: Any) -> Any:
        import torch

        if type(owner) not in (torch.Tensor, torch.nn.Parameter):
            raise Unresolved(f"not a plain tensor: {type(owner).__name__}")
        if not owner.is_leaf and not owner.retains_grad:
            return None  # reading it would warn
        return vars(torch._C.TensorBase)["grad"].__get__(owner)


@dataclass(frozen=True, eq=False)
class ShapeSource(DerivedSource):
    """A size or stride of a tensor, or its storage offset (dim 0 then): an integer."""

    what: str
    dim: int = 0
    is_int: ClassVar[bool] = True

    @property
    def text(self) -> str:
        if self.what == "storage_offset":
            return f"{self.parent.text}.storage_offset()"
        return f"{self.parent.text}.{self.what}({self.dim})"

    def read(self, owner: Any) -> Any:
        import torch

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
class WeakrefSource(DerivedSource):
    """`parent` is a plain `weakref.ref`; what it refers to (Unresolved when dead)."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}()"

    def read(self, owner: Any) -> Any:
        found = owner() if type(owner) is weak_reference else None
        if found is None:
            raise Unresolved("not a live weak reference")
        return found
