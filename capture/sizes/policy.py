"""The decision which sizes, ints and floats become symbols.

In:  the `dynamic` setting, marks on tensors, and the values that earlier captures of the same code saw.
Out: `SizePolicy`: the dims of a tensor that are symbols, and whether an int or float is a symbol.

    dynamic=None:  a capture sees x[3, 4], the next one x[5, 4]   ->   dim 0 of x is a symbol from now on

A size or int counts as changing if two captures of a code object found different values at the same place.
What is a symbol before a graph break is one in the resume function from the start, and so is a number that
nobody knows before (`x.item()`, the item of a loop).
Values are remembered for each converter and code object. `capture.reset()` calls `forget_all`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from dataclasses import field, replace
from inspect import CO_VARARGS
from types import CodeType, MappingProxyType
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from cache.code_table import CodeTable
from capture.bytecode import resume
from capture.policy import marks
from capture_records import dataclass
from guards.namespace import STACK_ITEM
from guards.sources import (
    AttrSource,
    ConstantSource,
    DictItemSource,
    FreeCellSource,
    FunctionFieldSource,
    ItemSource,
    LengthSource,
    LocalSource,
    NumpyIntSource,
    ShapeSource,
    Source,
)

DYNAMIC = -1  # stands for a remembered size or stride that changed
#: a number in a module, a global or a default is a setting, which may have some values
VALUES_OF_SETTINGS = 4
VALUES_OF_TEXTS = 2
#: a loop that had this many lengths has others to come: an unrolled one would be captured for each of them
LENGTHS_OF_LOOPS = 2
#: the same of a loop with so many turns: to capture it takes seconds
LENGTHS_OF_LONG_LOOPS, LONG = 1, 64
#: an operation can't run on symbols: these are numbers in the next attempt, so many times one after the other
MOST_STEPS = 3
INT64 = range(-(2**63), 2**63)
#: fields of a function that programs usually don't change
FIXED_FIELDS = (
    "__defaults__",
    "__kwdefaults__",
    "__globals__",
    "__annotations__",
)


@dataclass
class Seen:
    """The values that the captures of one code object saw, by the text of their sources.

    DYNAMIC stands for a size or stride that changed; None for an iterator position that changed, and for the
    sizes and strides of a tensor whose number of dims changed. `floats` has a few of the values;
    `floats_of_whole` are those of the function that the code is a part of. `written` has the attributes,
    items and globals that the code sets. `lengths` has the lengths of existing lists, by their place;
    `objects` those that glances saw of a list that no argument is, by its id; the parts of a function share
    them. `loops` has the lengths of loops, which all codes share: a loop may be captured with several
    callers. They share `fixing`, too: the instructions that needed the value of a float that has had many.
    `kinds` has the places of items whose kind has changed (`capture/sizes/item_kinds.py`).
    """

    sizes: dict[str, list[int] | None] = field(default_factory=dict)
    strides: dict[str, list[int] | None] = field(default_factory=dict)
    ints: dict[str, set[int]] = field(default_factory=dict)
    floats: dict[str, set[float]] = field(default_factory=dict)
    floats_of_whole: dict[str, set[float]] = field(default_factory=dict)
    texts: dict[str, set[str]] = field(default_factory=dict)
    positions: dict[str, int | None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    lengths: dict[Any, set[int]] = field(default_factory=dict)
    objects: dict[int, set[int]] = field(default_factory=dict)
    loops: dict[Any, set[int]] = field(default_factory=dict)
    fixing: set[Any] = field(default_factory=set)
    kinds: dict[str, int] = field(default_factory=dict)
    owned: bool = False  # sizes and strides are of one owner of the method
    alone: bool = True  # no other owner of the method has values of its own

    def as_data(self) -> dict[str, Any]:
        """What is known of sizes and numbers, for JSON. Owners can't be told apart in the next process."""
        return {
            "sizes": self._for_any_owner(self.sizes),
            "strides": self._for_any_owner(self.strides),
            "ints": {place: sorted(values) for place, values in self.ints.items()},
            "floats": {place: sorted(values) for place, values in self.floats.items()},
            "positions": self.positions,
            "lengths": {place: sorted(seen) for place, seen in self.lengths.items() if type(place) is str},
            "written": sorted(self.written),
            "kinds": self.kinds,
        }

    def _for_any_owner(self, layouts: dict[str, list[int] | None]) -> dict[str, list[int] | None]:
        """The sizes of one owner are no change beside those of another one."""
        if not self.owned:
            return layouts
        changing = {place: dims for place, dims in layouts.items() if dims is None or DYNAMIC in dims}
        return changing if self.alone else {}

    def has_symbols(self) -> bool:
        """Whether a size, a stride or an int has changed: a capture would make it a symbol of sympy."""
        layouts = (*self.sizes.values(), *self.strides.values())
        return any(known is None or DYNAMIC in known for known in layouts) or any(
            len(values) > 1 for values in self.ints.values()
        )

    def learn(self, data: dict[str, Any]) -> None:
        """Take over what an earlier process saw, where this process has seen nothing."""
        for name in ("sizes", "strides", "positions", "kinds"):
            for place, value in data.get(name, {}).items():
                getattr(self, name).setdefault(place, value)
        for name in ("ints", "floats"):
            for place, values in data.get(name, {}).items():
                getattr(self, name).setdefault(place, set(values))
        for place, values in data.get("lengths", {}).items():
            self.lengths.setdefault(place, set()).update(values)
        self.written.update(data.get("written", ()))


class SizeHistory:
    """The values that the captures of one converter saw. `glances` has what was seen before the first one.

    Modules and optimizers share the functions of their class: the sizes that `Sequential.forward` sees of one
    model say nothing of another. So the first of them have sizes of their own.
    """

    def __init__(self) -> None:
        self._seen: CodeTable[_Owned] = CodeTable()
        self.glances: CodeTable[dict[tuple[int, bool], Seen]] = CodeTable()
        self._loops: dict[Any, set[int]] = {}
        self._fixing: set[Any] = set()
        _histories.add(self)

    def of(self, frame: Any) -> Seen:
        """What the captures of frames of this code, and of this owner, saw."""
        original = resume.point_of(frame.code).original
        owned = self._owned(frame.code)
        if original is not frame.code:  # they are parts of one function
            whole = self._owned(original).shared
            owned.shared.written, owned.shared.objects = whole.written, whole.objects
            owned.shared.floats_of_whole = whole.floats
        return owned.of(owner_of(frame, original))

    def _owned(self, code: CodeType) -> _Owned:
        owned = self._seen.get(code)
        if owned is None:
            owned = self._seen[code] = _Owned(Seen(loops=self._loops, fixing=self._fixing))
        return owned

    def clear(self) -> None:
        self._seen.clear()
        self._loops.clear()
        self._fixing.clear()
        self.glances.clear()


#: Owners with sizes of their own. Where a class has more modules than that, they are layers.
MOST_OWNERS = 3


class _Owned:
    """What was seen of one code object: numbers are `shared`, sizes and strides belong to an owner."""

    def __init__(self, shared: Seen) -> None:
        self.shared = shared
        self.by_owner = WeakIdKeyDictionary()

    def of(self, owner: Any) -> Seen:
        seen = None if owner is None else self.by_owner.get(owner)
        if seen is not None:
            return seen
        if owner is None or len(self.by_owner) == MOST_OWNERS:
            return self.shared
        alone = not self.by_owner
        seen = self.by_owner[owner] = replace(self.shared, sizes={}, strides={}, owned=True, alone=alone)
        for other in () if alone else self.by_owner.values():
            other.alone = False
        return seen


OWNERS = (torch.nn.Module, torch.optim.Optimizer)


def owner_of(frame: Any, original: CodeType) -> Any:
    """The module or optimizer whose method runs, or a wrapper of the method; `original` is its code."""
    has_self = original.co_argcount > 0
    if not has_self and not original.co_flags & CO_VARARGS:
        return None
    name = original.co_varnames[0 if has_self else original.co_kwonlyargcount]
    if name not in frame.code.co_varnames:
        return None
    first = frame.locals[frame.code.co_varnames.index(name)]
    if not has_self:
        first = first[0] if type(first) is tuple and first else None
    return first if issubclass(type(first), OWNERS) else None


_histories: weakref.WeakSet[SizeHistory] = weakref.WeakSet()


def forget_all() -> None:
    """Make every size static again."""
    for history in list(_histories):
        history.clear()


class SizePolicy:
    """The decisions for one capture.

    `dynamic` is the setting of `enable(dynamic=...)`. With `numbers`, nothing is symbolic, not even marked
    dims; `fixed` has the places that are not. `open_locals` are the arguments of a resume function that are
    known to differ from call to call. `may_break`: a loop may be left to Python, and only its body be
    captured.
    """

    def __init__(
        self,
        dynamic: bool | None,
        seen: Seen,
        *,
        numbers: bool = False,
        fixed: frozenset[str] = frozenset(),
        open_locals: resume.OpenLocals = MappingProxyType({}),
        may_break: bool = False,
    ) -> None:
        self.dynamic = dynamic
        self.seen = seen
        self.numbers = numbers
        self.fixed = fixed
        self.open_locals = open_locals
        self.may_break = may_break
        self.steps = 0  # how often places were added to `fixed`

    def dynamic_dims(
        self, tensor: torch.Tensor, source: Source, of_module: Callable[[Source], bool]
    ) -> dict[int, marks.DimRange | None]:
        """The dims that are symbols, with their ranges.

        A tensor of a module has only its marked dims, if the code does not set it, and those that have
        changed in the same module: a cache that grows. A tensor that the guards know by identity has none.
        A dim with None shares a symbol with equal sizes. A dim that is marked or that changed gets its own
        symbol.
        """
        if self.numbers or isinstance(source.root, ConstantSource):
            return {}
        static = {*marks.static_dims(tensor), *self._fixed_dims(tensor, source, "size")}
        marked = {dim: bounds for dim, bounds in marks.dynamic_dims(tensor).items() if dim not in static}
        if self.dynamic is False or isinstance(tensor, torch.nn.Parameter):
            return {**marked}
        is_state = of_module(source) and source.text not in self.seen.written
        if is_state and not self.seen.owned:
            return {**marked}
        alone = {**dict.fromkeys(self._changed_dims(tensor, source), UNBOUNDED), **marked}
        dims = range(tensor.dim()) if self.dynamic and not is_state else ()
        return {dim: alone.get(dim) for dim in {*dims, *alone} if dim not in static}

    def changed_strides(
        self, tensor: torch.Tensor, source: Source, of_module: Callable[[Source], bool]
    ) -> list[int]:
        """The dims whose stride has had several values."""
        fixed = self.numbers or self.dynamic is False or isinstance(source.root, ConstantSource)
        if fixed or isinstance(tensor, torch.nn.Parameter) or of_module(source):
            return []
        static = self._fixed_dims(tensor, source, "stride")
        changed = _changes(self.seen.strides, source.text, tensor.stride())
        return [dim for dim in changed if dim not in static]

    def _fixed_dims(self, tensor: torch.Tensor, source: Source, what: str) -> list[int]:
        if not self.fixed:
            return []
        return [dim for dim in range(tensor.dim()) if ShapeSource(source, what, dim).text in self.fixed]

    def as_numbers(self, places: frozenset[str] | None) -> SizePolicy:
        """The policy under which these places are not symbolic, either. Nothing is symbolic for None, after a
        few steps, and where the places are no symbols already.
        """
        fixed = self.fixed | (places or frozenset())
        if places is None or fixed == self.fixed or self.steps == MOST_STEPS:
            return SizePolicy(False, self.seen, numbers=True, may_break=self.may_break)
        made = SizePolicy(
            self.dynamic, self.seen, fixed=fixed, open_locals=self.open_locals, may_break=self.may_break
        )
        made.steps = self.steps + 1
        return made

    def _changed_dims(self, tensor: torch.Tensor, source: Source) -> list[int]:
        return _changes(self.seen.sizes, source.text, tensor.shape, self._opened(source) or ())

    def is_dynamic_int(self, value: int, source: Source, of_module: Callable[[Source], bool]) -> bool:
        """Whether an int is a symbol.

        Ints of the caller or of a closure are symbols after they had two values, also inside containers and
        plain objects; so are attributes, items and globals that the code itself changes. Other ints of
        modules, globals and defaults are settings: they may have some values.
        """
        if self.dynamic is False or value not in INT64:
            return False
        values = self.seen.ints.setdefault(source.text, set())
        values.add(value)
        if source.text in self.fixed:
            return False
        if _is_variable(source, of_module):
            return bool(self.dynamic) or len(values) > 1 or self._is_unknown(source)
        return len(values) > (1 if source.text in self.seen.written else VALUES_OF_SETTINGS)

    def breaks_at_places(self, items: int) -> bool:
        """Whether a symbol that is a place in a container of that many items breaks the graph. A few places
        have a capture each, without a break.
        """
        return self.may_break and items > VALUES_OF_SETTINGS

    def note_stores(
        self, places: Collection[str], numbers: Mapping[str, Any], unknown: Collection[str]
    ) -> bool:
        """Note which attributes, items and globals the code sets, and the numbers that it stores there. At
        the `unknown` places these are symbols, or known only when the graph has run.

        True if one of them had another value when the code read it as a constant.
        """
        self.seen.written.update(places)
        if self.dynamic is False:
            return False
        changed = self.note_numbers(numbers)
        for place in unknown:
            ints, floats = self.seen.ints.get(place, set()), self.seen.floats.get(place, set())
            if len(ints) == 1:
                ints.add(1 + max(ints))  # stands for any other one
                changed = True
            if len(floats) == 1:
                floats.add(math.inf)  # so does this
                changed = True
        return changed

    def note_numbers(self, numbers: Mapping[str, Any]) -> bool:
        """Note the numbers that places get. True if the code has read another one there as a constant."""
        changed = False
        kinds: dict[type, dict[str, set[Any]]] = {int: self.seen.ints, float: self.seen.floats}
        for place, value in () if self.dynamic is False else numbers.items():
            known = kinds.get(type(value), {}).get(place, set())
            if len(known) == 1 and value not in known:
                known.add(value)
                changed = True
        return changed

    def note_sizes(self, place: str, sizes: Sequence[Any]) -> bool:
        """Note the sizes, some of them symbols, of a tensor that the place gets. True if the code has read
        another one there as a constant.
        """
        known = self.seen.sizes.get(place)
        if self.dynamic is False or known is None or len(known) != len(sizes):
            return False
        dims = [d for d, size in enumerate(sizes) if known[d] != DYNAMIC and not _is_number(size, known[d])]
        for dim in dims:
            known[dim] = DYNAMIC
        return bool(dims)

    def open_dims_at(self, source: Source) -> frozenset[int] | None:
        """Not None if a value that nothing has read is known to change: a number, or dims of a tensor."""
        opened = self._opened(source)
        return self._changing_at(source.text) if opened is None else opened

    def open_places_below(self, source: Source) -> dict[str, frozenset[int]]:
        """The items of an existing list or tuple that are known to change, as `open_dims_at` has them: what
        follows the text of the source in theirs.
        """
        seen, begin = self.seen, f"{source.text}["
        found = {place: dims for place, dims in self.open_locals.items() if place.startswith(begin)}
        for place in (*seen.sizes, *seen.ints, *seen.floats):
            if place.startswith(begin) and (dims := self._changing_at(place)) is not None:
                found[place] = dims
        return {place.removeprefix(source.text): dims for place, dims in found.items()}

    def _changing_at(self, place: str) -> frozenset[int] | None:
        """Not None if a number or dims of a tensor at this place have changed."""
        if any(len(seen.get(place, ())) > 1 for seen in (self.seen.ints, self.seen.floats)):
            return frozenset()
        sizes = self.seen.sizes.get(place) or ()
        return frozenset(dim for dim, size in enumerate(sizes) if size == DYNAMIC) or None

    def _opened(self, source: Source) -> frozenset[int] | None:
        """What differs from call to call of an argument of a resume function, or of an item of one: the
        tensors in a list have as many rows as the function has found that gave it.
        """
        if not self.open_locals:
            return None
        if source.text in self.open_locals:
            return self.open_locals[source.text]
        root = source
        while isinstance(root, ItemSource):
            root = root.parent
        opened = self.open_locals.get(root.name) if isinstance(root, LocalSource) else None
        of_another_length = root is not source and opened is not None and resume.LENGTH in opened
        return None if of_another_length else opened

    def is_changing_text(self, value: str, source: Source, of_module: Callable[[Source], bool]) -> bool:
        """Whether a text differs from call to call. Some texts are settings, which have a few values."""
        if self.dynamic is False:
            return False
        texts = self.seen.texts.setdefault(source.text, set())
        if len(texts) <= VALUES_OF_TEXTS:
            texts.add(value)
        changes = _is_variable(source, of_module) or source.text in self.seen.written
        return self._is_unknown(source) or (changes and len(texts) > VALUES_OF_TEXTS)

    def _is_unknown(self, source: Source) -> bool:
        """Whether it is an open argument of a resume function, or an item of one."""
        while isinstance(source, (ItemSource, NumpyIntSource)):
            if source.text in self.open_locals:
                return True
            source = source.parent
        return isinstance(source, LocalSource) and source.name in self.open_locals

    def length_varies(self, place: Any, length: int) -> bool:
        """Whether the list at this place has had so many lengths that Python should walk over it."""
        return self._varies(self.seen.lengths, place, length)

    def list_varies(self, place: Any, value: Sized, length: int, source: Source) -> bool:
        """The same for an existing list, whose length glances may have seen at other places."""
        varies = self.length_varies(place, length)
        lengths = self.seen.lengths[place] | self.seen.objects.get(id(value), set())
        is_long = self.may_break and len(lengths) > LENGTHS_OF_LOOPS
        return varies or is_long or self.is_open_length(source)

    def is_open_length(self, source: Source | None) -> bool:
        """Whether the list or tensor is an argument of a resume function, and has another length, or other
        rows, in each call.
        """
        opened = self.open_locals.get(source.name, ()) if isinstance(source, LocalSource) else ()
        return self.may_break and resume.LENGTH in opened

    def note_length_of(self, value: Sized) -> None:
        """The list is no argument."""
        self.seen.objects.setdefault(id(value), set()).add(len(value))

    def note_lengths(self, place: Any, value: Sized, source: Source) -> None:
        """The lengths that a list, or others at its place, have had are values of this number."""
        lengths = self.seen.lengths.get(place, set()) | self.seen.objects.get(id(value), set())
        if lengths:
            self.seen.ints.setdefault(source.text, set()).update(lengths)

    def loop_varies(self, code: CodeType, index: int, length: int, symbolic: bool = True) -> bool:
        """The same for the loop that begins at an instruction.

        symbolic: whether the length is. Else there is nothing to break at, but it counts if the loop is long.
        """
        counts = symbolic or length >= LONG
        return counts and self._varies(self.seen.loops, _place(code, index), length) and symbolic

    def _varies(self, seen: dict[Any, set[int]], place: Any, length: int) -> bool:
        lengths = seen.setdefault(place, set())
        lengths.add(length)
        most = LENGTHS_OF_LOOPS if min(lengths) < LONG else LENGTHS_OF_LONG_LOOPS
        return self.may_break and len(lengths) > most

    def is_dynamic_float(self, value: float, source: Source, of_module: Callable[[Source], bool]) -> bool:
        """Whether a float is a symbol.

        The places of `is_dynamic_int` count. At any other place a float is a symbol after it had two values
        (the slope of a module). A learning rate is one from the start: schedules change it at each step.
        """
        if self.dynamic is False:
            return False
        values = self.seen.floats.setdefault(source.text, set())
        if len(values) <= VALUES_OF_SETTINGS:
            values.add(value)
        if source.text in self.fixed:
            return False
        if len(values) > 1 or _is_learning_rate(source) or self._is_unknown(source):
            return True
        return bool(self.dynamic) and _is_variable(source, of_module)

    def breaks_at_float(self, source: Source, code: CodeType, index: int) -> bool:
        """Whether an instruction that needs the value of a float that is a symbol breaks the graph.

        A few values have a capture each, without a break. Where the instruction has broken a graph before,
        also in another caller, it breaks at the second value.
        """
        if self._has_many_values(source.text):
            self.seen.fixing.add(_place(code, index))
        return self.may_break and _place(code, index) in self.seen.fixing

    def breaks_at_numbers(self, places: Collection[str]) -> bool:
        """Whether the graph breaks in front of an operation that can't run on symbols of these places. Else
        there is a capture for the present numbers.
        """
        return self.may_break and any(map(self._has_many_values, places))

    def _has_many_values(self, place: str) -> bool:
        """Whether a number has had too many values for a capture each. Sizes of tensors are not counted."""
        known = (self.seen.ints, self.seen.floats, self.seen.floats_of_whole)
        return any(len(seen.get(place, ())) > VALUES_OF_SETTINGS for seen in known)

    def is_moving_iterator(self, position: int, source: Source) -> bool:
        """Whether an existing iterator had two positions, or belongs to a loop with a graph break inside."""
        if isinstance(source.root, LocalSource) and source.root.name.startswith(STACK_ITEM):
            return True
        known = self.seen.positions.setdefault(source.text, position)
        if known != position:
            self.seen.positions[source.text] = known = None
        return known is None


def _is_variable(source: Source, of_module: Callable[[Source], bool]) -> bool:
    """Whether programs usually change a number at this place."""
    if isinstance(source, LengthSource):
        return not isinstance(source.root, ConstantSource)
    if not isinstance(source.root, (LocalSource, FreeCellSource)) or of_module(source):
        return False
    return not any(
        isinstance(step, FunctionFieldSource) and step.field in FIXED_FIELDS for step in source.chain()
    )


def _is_learning_rate(source: Source) -> bool:
    """Whether it is `optimizer.param_groups[i]["lr"]`."""
    if not (isinstance(source, DictItemSource) and source.key == "lr"):
        return False
    group = source.parent
    groups = group.parent if isinstance(group, ItemSource) else None
    return isinstance(groups, AttrSource) and groups.name == "param_groups"


def _place(code: CodeType, index: int) -> Any:
    """The instruction of a function, in each of the code objects that are made of it."""
    return code.co_filename, code.co_firstlineno, code.co_qualname, index


def _is_number(size: Any, number: int) -> bool:
    return type(size) is int and size == number


UNBOUNDED = marks.DimRange(None, None)


def _changes(
    seen: dict[str, list[int] | None], name: str, values: Sequence[int], opened: Collection[int] = ()
) -> list[int]:
    """The dims whose number has changed, with those that are known to. What is seen is noted."""
    known = seen.setdefault(name, [DYNAMIC if dim in opened else value for dim, value in enumerate(values)])
    if known is None or len(known) != len(values):
        seen[name] = None
        return list(range(len(values)))
    for dim, value in enumerate(values):
        if known[dim] != value:
            known[dim] = DYNAMIC
    return [dim for dim, value in enumerate(known) if value == DYNAMIC]
