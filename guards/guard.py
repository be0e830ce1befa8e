"""Guards: what has to hold for a captured frame to be used again.

In:  a source and the value found there while capturing.
Out: `Guard`, plain data, one factory for each kind. A guard records only what it needs: an id, a length, a
     shape; objects are held weakly where their type allows it.

    type_match(LocalSource("x"), [1, 2])     ->  type(x) is list
    length_match(LocalSource("x"), [1, 2])   ->  len(x) == 2
    constant_match(LocalSource("n"), 3)      ->  n == 3, exactly an int

Factories that need several guards return a list. Everything raises GuardError where the value can't carry
such a guard.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any

import torch

from guards import conditions as shapes
from guards.conditions import ShapeExpression
from guards.kinds import GuardKind
from guards.lookup import (
    Unresolved,
    dict_items,
    has_attribute,
    instance_dict,
    isinstance_raw,
    safe_repr,
    set_elements,
)
from guards.properties.buffer import LONGEST_FORMAT, BufferProperties
from guards.properties.global_state import read_global_state
from guards.properties.iterator_state import numbers_of
from guards.properties.set_layout import layout_of
from guards.properties.tensor import TensorProperties, storage_key
from guards.sources import AttrSource, DictValueSource, GlobalsSource, GlobalStateSource, GradSource, Source
from guards.values import NUMPY_NUMBERS, PLAIN_VALUE, ObjectRef, constant_identity, is_constant


class GuardError(TypeError):
    """A guard of this kind can't be made from this value."""


@dataclass(frozen=True, eq=False)
class Guard:
    """`kind` has to hold of `sources` (one, except for guards between several). `payload` is what was seen,
    in the form that the kind needs.
    """

    sources: tuple[Source, ...]
    kind: GuardKind
    payload: Any = None
    user_stack: traceback.StackSummary | None = field(default=None)

    def __post_init__(self) -> None:
        vars(self)["_identity"] = (self.kind, self.sources, payload_identity(self.payload))

    @property
    def source(self) -> Source:
        return self.sources[0]

    @property
    def text(self) -> str:
        """The condition as a user would read it."""
        from guards.failure import describe

        return describe(self)

    def references(self) -> Iterable[ObjectRef]:
        """Every object that the guard names."""
        yield from _references(self.payload)
        for source in self.sources:
            yield from source.references

    def with_stack(self, user_stack: traceback.StackSummary | None) -> Guard:
        """The same guard, with the user's lines that asked for it."""
        return Guard(self.sources, self.kind, self.payload, user_stack)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guard) and self._identity == other._identity  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._identity)  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return self.text


def payload_identity(payload: Any) -> Any:
    """A hashable form of a payload: constants by exact value."""
    if isinstance(payload, tuple) and not isinstance(payload, torch.Size):
        return tuple(map(payload_identity, payload))
    return constant_identity(payload) if is_constant(payload) else payload


def _references(payload: Any) -> Iterable[ObjectRef]:
    if isinstance(payload, ObjectRef):
        yield payload
    elif isinstance(payload, TensorProperties):
        yield payload.type
    elif type(payload) is tuple:
        for item in payload:
            yield from _references(item)


# --- identity, types, constants ---------------------------------------------------------------------------


def type_match(source: Source, value: Any) -> Guard:
    """The exact type is that of `value`."""
    return Guard((source,), GuardKind.TYPE, ObjectRef(type(value)))


def id_match(source: Source, value: Any) -> Guard:
    """The very same object."""
    return Guard((source,), GuardKind.ID, ObjectRef(value))


def not_none(source: Source) -> Guard:
    return Guard((source,), GuardKind.NOT_NONE)


def constant_match(source: Source, value: Any) -> Guard:
    """An equal constant of the same type (see `guards.values.is_constant`), or one of NumPy's numbers."""
    if not is_constant(value) and type(value) not in NUMPY_NUMBERS:
        raise GuardError(
            f"{source.text} = {safe_repr(value)} is no constant; guard its parts, or use id_match"
        )
    return Guard((source,), GuardKind.CONSTANT, value)


def contents_match(source: Source, value: Any) -> Guard:
    """An instance of a class on top of int, float, complex, str or bytes that holds an equal value."""
    base = next((b for b in PLAIN_VALUE if isinstance_raw(value, b)), None)
    if base is None:
        raise GuardError(f"{source.text} = {safe_repr(value)} holds no constant")
    return Guard((source,), GuardKind.CONTENTS, PLAIN_VALUE[base](value))


def int_range(source: Source, low: int | None, high: int | None) -> Guard:
    """An exact int (not a bool) with low <= value <= high; None is open. Bounds fit 64 bits."""
    return Guard((source,), GuardKind.INT_RANGE, (low, high))


def bool_match(source: Source, value: Any) -> Guard:
    """Whether a built-in container or str is empty, as `if value:` asks."""
    return Guard((source,), GuardKind.BOOL, raw_length(value, source) > 0)


def object_aliasing(source_a: Source, source_b: Source) -> Guard:
    """Both places hold the same object."""
    return Guard((source_a, source_b), GuardKind.OBJECT_ALIASING)


def objects_distinct(sources: Sequence[Source]) -> Guard:
    """No two of the places hold the same object."""
    return Guard(tuple(sources), GuardKind.OBJECTS_DISTINCT)


def weakref_alive(source: Source) -> Guard:
    """`source` is a plain weakref.ref whose object lives."""
    return Guard((source,), GuardKind.WEAKREF_ALIVE)


# --- containers -------------------------------------------------------------------------------------------

_LENGTHS: tuple[tuple[type, Callable[[Any], int]], ...] = (
    (list, list.__len__),
    (tuple, tuple.__len__),
    (dict, dict.__len__),
    (set, set.__len__),
    (frozenset, frozenset.__len__),
    (str, str.__len__),
    (bytes, bytes.__len__),
    (deque, deque.__len__),
    (range, range.__len__),
)


def raw_length(value: Any, source: Source | None = None) -> int:
    """The stored length of a built-in container, past any `__len__` of a subclass. Raises GuardError for
    other types.
    """
    for kind, length in _LENGTHS:
        if isinstance_raw(value, kind):
            return length(value)
    raise GuardError(
        f"{source.text if source else 'value'} of type {type(value).__name__} has no length to guard"
    )


def length_match(source: Source, value: Any) -> Guard:
    """The length of a list, tuple, dict, set, frozenset, str, bytes, deque, range or a subclass."""
    return Guard((source,), GuardKind.LENGTH, raw_length(value, source))


def key_payload(key: Any) -> Any:
    """A dict key or set element in a payload: a constant, or an ObjectRef with its hash."""
    return key if is_constant(key) else ObjectRef(key, hash_value=hash(key))


def dict_keys(source: Source, mapping: dict[Any, Any]) -> Guard:
    """Exactly these keys in this order. Keys that are no constants are compared by identity."""
    return Guard((source,), GuardKind.DICT_KEYS, tuple(key_payload(key) for key, _ in dict_items(mapping)))


def dict_contains(source: Source, key: Any, present: bool) -> Guard:
    """The dict has the key, or lacks it."""
    return Guard((source,), GuardKind.DICT_CONTAINS, (key_payload(key), present))


def builtin_not_hidden(name: str) -> Guard:
    """No global of the frame hides the builtin of that name."""
    return dict_contains(GlobalsSource(), name, False)


def set_contents(source: Source, value: set[Any] | frozenset[Any]) -> Guard:
    """Exactly these elements; those that are no constants by identity. Raises GuardError past 1,000 elements."""
    elements = set_elements(value)
    if len(elements) > 1000:
        raise GuardError(f"{source.text} has {len(elements)} elements; too many to guard")
    return Guard((source,), GuardKind.SET_CONTENTS, tuple(map(key_payload, elements)))


def set_layout(source: Source, value: set[Any] | frozenset[Any]) -> Guard:
    """The same elements come in the same order, from the set and from what is made of it. Beside
    `set_contents`. Raises GuardError where hashes don't tell elements apart.
    """
    layout = layout_of(value)
    if len(set(layout[3::2])) < len(set_elements(value)):
        raise GuardError(f"{source.text} has elements of the same hash")
    return Guard((source,), GuardKind.SET_LAYOUT, layout)


def iterator_state(source: Source, iterator: Any) -> Guard:
    """A built-in iterator, view or deque (`guards.properties.iterator_state`) that has come as far as this
    one; GuardError where that can't be told.
    """
    try:
        return Guard((source,), GuardKind.ITERATOR_STATE, numbers_of(iterator))
    except Unresolved as reason:
        raise GuardError(f"{source.text}: {reason}, {safe_repr(iterator)}") from None


def buffer_match(source: Source, value: Any) -> Guard:
    """Class, element format, shape and strides of an object with a buffer. Raises GuardError for formats that
    are more than a few characters.

    Only for classes written in C, whose buffers are given out without running user code.
    """
    properties = BufferProperties.of(value)
    if len(properties.format) > LONGEST_FORMAT:
        raise GuardError(f"{source.text} has elements of format {properties.format!r}")
    return Guard((source,), GuardKind.BUFFER, properties)


# --- attributes, functions, modules -----------------------------------------------------------------------


def no_attr(source: Source, name: str) -> Guard:
    """The instance `__dict__` lacks the name (the class attribute of that name is what counts)."""
    return Guard((source,), GuardKind.NO_ATTRIBUTE, name)


def has_attr(source: Source, value: Any, name: str) -> Guard:
    """The outcome of a raw look-up of `name`, as `AttrSource` does it, is still: found, or not found. Raises
    Undecided where only user code can tell.
    """
    return Guard((source,), GuardKind.HAS_ATTRIBUTE, (name, has_attribute(value, name)))


def class_lacks(source: Source, name: str) -> Guard:
    """`source` is a class: neither it nor a base has the name (what the metaclass has does not count)."""
    return Guard((source,), GuardKind.CLASS_LACKS, name)


def function_match(source: Source, fn: FunctionType, *, defaults: bool = True, closure: bool = True) -> Guard:
    """A plain function with the same code, the same objects as defaults and the same cells.

    Leave `defaults` or `closure` out where their parts are guarded one by one (`FunctionFieldSource`,
    `CellContentsSource`).
    """
    if not isinstance_raw(fn, FunctionType):
        raise GuardError(f"{source.text} is not a plain function: {safe_repr(fn)}")
    keyword = fn.__kwdefaults__
    payload = (
        ObjectRef(fn.__code__),
        ObjectRef(fn.__defaults__) if defaults else None,
        (None if keyword is None else tuple((k, ObjectRef(v)) for k, v in keyword.items()))
        if defaults
        else False,
        tuple(map(ObjectRef, fn.__closure__ or ())) if closure else False,
    )
    return Guard((source,), GuardKind.FUNCTION, payload)


MODULE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def module_match(source: Source, module: torch.nn.Module) -> list[Guard]:
    """An nn.Module of the same type and training flag, with the same hooks. Guard the attributes that you use
    one by one on top.
    """
    namespace = instance_dict(module) or {}
    guards = [type_match(source, module)]
    if "training" in namespace:
        guards.append(constant_match(AttrSource(source, "training"), namespace["training"]))
    for name in MODULE_HOOKS:
        hooks = namespace.get(name)
        if hooks is None:
            continue
        hook_source = AttrSource(source, name)
        guards.append(length_match(hook_source, hooks))
        guards += [
            id_match(DictValueSource(hook_source, i), hook) for i, (_, hook) in enumerate(dict_items(hooks))
        ]
    return guards


# --- tensors and shapes -----------------------------------------------------------------------------------


def tensor_match(
    source: Source,
    tensor: torch.Tensor,
    dynamic_dims: Iterable[int] = (),
    *,
    check_leaf: bool = False,
    strides: bool = True,
) -> Guard:
    """dtype, device, layout, dispatch keys, requires_grad, exact type, number of dims, sizes and strides.

    `dynamic_dims`: their sizes are free, and so are the strides that depend on them (those of every dim
    outside of them in memory); the strides are guarded by `dynamic_strides`. `check_leaf`: also `is_leaf`
    (needed where the graph writes to the tensor in place).
    """
    return Guard(
        (source,),
        GuardKind.TENSOR_MATCH,
        TensorProperties.of(tensor, tuple(dynamic_dims), check_leaf, strides),
    )


def tensor_unwritten(source: Source, tensor: torch.Tensor) -> Guard:
    """Nothing was written to the tensor, and its memory is the same. (What is written past autograd's eyes,
    through `tensor.data` or NumPy, is not seen.)
    """
    if tensor.is_inference():
        raise GuardError(f"{source.text} is an inference tensor: writes to it are not counted")
    return Guard((source,), GuardKind.TENSOR_UNWRITTEN, (tensor._version, tensor.data_ptr()))


def dynamic_strides(source: Source, tensor: torch.Tensor, dynamic_dims: Iterable[int]) -> list[Guard]:
    """Conditions for the strides that `tensor_match` leaves free: as `free_strides` says."""
    guards = []
    for dim, inner in free_strides(tensor, dynamic_dims).items():
        if inner is None:
            expected = shapes.constant(tensor.stride(dim))
        else:
            expected = shapes.apply("mul", shapes.size(source, inner), shapes.stride(source, inner))
        guards.append(shape_expression(shapes.apply("eq", shapes.stride(source, dim), expected)))
    return guards


def free_strides(tensor: torch.Tensor, dynamic_dims: Iterable[int]) -> dict[int, int | None]:
    """The dims whose stride `tensor_match` leaves free, each with the dim inside of it: its stride is the
    size times the stride of that one.

    None where no dim is inside of it in this way (a slice of a larger tensor): the stride stays what it is.
    """
    sizes, strides = tuple(tensor.shape), tensor.stride()
    free = [
        d for d, s in enumerate(TensorProperties.of(tensor, tuple(dynamic_dims)).strides or ()) if s is None
    ]
    return {dim: _dim_inside(sizes, strides, dim) for dim in free}


def _dim_inside(sizes: tuple[int, ...], strides: tuple[int, ...], dim: int) -> int | None:
    """A dim of a smaller stride where there is one. Of dims of size 1, whose strides are equal, the later is
    inside: none goes in a circle.
    """
    inside = [d for d, size in enumerate(sizes) if d != dim and strides[dim] == size * strides[d]]
    smaller = [d for d in inside if strides[d] < strides[dim]]
    return next((d for d in smaller or inside if d in smaller or d > dim), None)


def grad_none(source: Source, tensor: torch.Tensor) -> Guard:
    """Whether `tensor.grad` is None."""
    return Guard((source,), GuardKind.GRAD_NONE, GradSource(source).read(tensor) is None)


def tensor_aliasing(sources: Sequence[Source], tensors: Sequence[torch.Tensor]) -> Guard:
    """The same tensors as now share a storage: `payload[i]` is the first place with the storage of place i."""
    first: dict[int, int] = {}
    groups = tuple(first.setdefault(storage_key(tensor), i) for i, tensor in enumerate(tensors))
    return Guard(tuple(sources), GuardKind.TENSOR_ALIASING, groups)


def no_tensor_aliasing(sources: Sequence[Source]) -> Guard:
    """All these tensors are distinct objects on distinct storages."""
    return Guard(tuple(sources), GuardKind.TENSOR_ALIASING, tuple(range(len(sources))))


def shape_expression(expression: ShapeExpression) -> Guard:
    """A condition over sizes, strides and ints: see `guards.conditions`."""
    return Guard(expression.sources, GuardKind.SHAPE_EXPRESSION, expression)


# --- state of the process ---------------------------------------------------------------------------------


def global_state(function_modes: int | None = None) -> Guard:
    """Grad mode, inference mode, autocast, default dtype, deterministic flags, torch function and dispatch
    modes, functorch: as at this moment.

    Call it before a FakeTensorMode or another mode is entered. `function_modes`: so many, whatever there are
    at this moment.
    """
    state = read_global_state()
    if function_modes is not None:
        state = state._replace(function_modes=function_modes)
    return Guard((GlobalStateSource(),), GuardKind.GLOBAL_STATE, state)
