"""Parts of NumPy arrays at places that change from call to call.

In:  `array[key]` where numbers of the key are symbols: `rows[i]`, `text[at : at + length]`, `table[i, j]`.
Out: `part`: the view at these places, and what is left of the key.

`[]` itself would fix each number, since arrays have one shape for each entry. A view is taken axis by axis
instead. Of a slice only the length is fixed, by a guard, and that it lies inside of the array.

    text[at : at + 5, 0]   ->   narrow = text.narrow(0, at, 5); getitem = narrow[:, 0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from capture.variables.containers.ranges import SliceVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.symbolic import SymbolicVariable, is_symbolic
from capture.variables.tensors.numpy_whole import as_index, is_bool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.numpy_array import NumpyVariable

ALL = ConstantVariable(slice(None))
WHOLE = ConstantVariable(Ellipsis)


def part(tx: Interpreter, array: NumpyVariable, key: Variable) -> tuple[NumpyVariable, Variable]:
    """The view of the array at the symbols of the key, and the key below it; `WHOLE` if nothing is left.

    Numbers of NumPy are ints or bools in it. Beside that, keys without symbols, and those with an array or a
    list in them, stay as they are. So do symbols that are no places of the array now: NumPy says what it
    thinks of them.
    """
    key = realize(key)
    entries = [_whole(tx, v) for v in (key.items if isinstance(key, TupleVariable) else [key])]
    key = TupleVariable(entries) if isinstance(key, TupleVariable) else entries[0]
    axes = _axes(array, entries)
    if axes is None:
        return array, key
    left: list[Variable] = []
    for entry, axis in reversed(list(zip(entries, axes))):  # from the last axis: a row takes its own away
        taken = _one_part(tx, array, entry, axis) if axis is not None else None
        if taken is None:
            left.insert(0, entry)
        else:
            array = taken
            if isinstance(entry, SliceVariable):
                left.insert(0, ALL)
    if all(entry is ALL for entry in left):
        return array, WHOLE
    return array, TupleVariable(left) if isinstance(key, TupleVariable) else left[0]


def _whole(tx: Interpreter, entry: Variable) -> Variable:
    """The entry with ints in the place of NumPy's whole numbers, and bools: they decide about the layout."""
    entry = realize(entry)
    if isinstance(entry, SliceVariable):
        bounds = [as_index(realize(bound)) for bound in entry.parts]
        return entry if bounds == entry.parts else SliceVariable(bounds)
    return ConstantVariable(entry.truth(tx)) if is_bool(entry) else as_index(entry)


def is_whole(key: Variable) -> bool:
    return key is WHOLE


def read(tx: Interpreter, array: NumpyVariable, view: NumpyVariable) -> Variable:
    """What `[]` gives where the view is all that is asked for: a number in place of an array without axes."""
    return array.part_of(tx, view.tensor, view.example[()])


def _axes(array: NumpyVariable, entries: list[Variable]) -> list[int | None] | None:
    """The axis of each entry with symbols, None for other entries; None if nothing is to be done."""
    if not any(_has_symbol(entry) for entry in entries):
        return None
    if not all(_has_symbol(entry) or _is_plain(entry) for entry in entries):
        return None
    takes = [not (entry.is_exactly(None) or entry.is_exactly(Ellipsis)) for entry in entries]
    if sum(takes) > array.example.ndim or sum(entry.is_exactly(Ellipsis) for entry in entries) > 1:
        return None
    return list(_places(entries, takes, array.example.ndim))


def _places(entries: list[Variable], takes: list[bool], axes: int) -> Iterator[int | None]:
    axis = 0
    for entry, takes_axis in zip(entries, takes):
        if entry.is_exactly(Ellipsis):
            axis += axes - sum(takes)
        yield axis if _has_symbol(entry) else None
        axis += takes_axis


def _has_symbol(entry: Variable) -> bool:
    if isinstance(entry, SliceVariable):
        return any(is_symbolic(realize(bound)) for bound in entry.parts)
    return isinstance(entry, SymbolicVariable) and entry.python_type() is int and not entry.is_unbacked


def _is_plain(entry: Variable) -> bool:
    """Whether an entry without symbols takes part in views: a number, a slice, `None` or `...`."""
    if isinstance(entry, SliceVariable):
        return all(isinstance(realize(bound), ConstantVariable) for bound in entry.parts)
    return isinstance(entry, ConstantVariable) and type(entry.value) in (int, slice, type(None), type(...))


def _one_part(tx: Interpreter, array: NumpyVariable, entry: Variable, axis: int) -> NumpyVariable | None:
    size = array.example.shape[axis]
    before = (slice(None),) * axis
    if isinstance(entry, SymbolicVariable):
        if not -size <= entry.value.node.hint < size:
            return None
        example = array.example[(*before, entry.value.node.hint, ...)]
        return _view(tx, array, "select", [ConstantVariable(axis), entry], example)
    assert isinstance(entry, SliceVariable)
    bounds = _inside(tx, entry, size)
    if bounds is None:
        return None
    start, length = bounds
    example = array.example[(*before, slice(_now(start), _now(start) + length))]
    return _view(tx, array, "narrow", [ConstantVariable(axis), start, ConstantVariable(length)], example)


def _inside(tx: Interpreter, entry: SliceVariable, size: int) -> tuple[Variable, int] | None:
    """Where the slice begins, and its length. None for a step, and for what NumPy would cut off."""
    start, stop, step = map(realize, entry.parts)
    if not (step.is_exactly(None) or step.is_exactly(1)):
        return None
    first = _place(tx, start, 0, size)
    last = _place(tx, stop, size, size)
    if first is None or last is None or not tx.compare("<=", first, last).truth(tx):
        return None
    return first, tx.operate("-", last, first).as_constant()


def _place(tx: Interpreter, bound: Variable, default: int, size: int) -> Variable | None:
    """A bound, counted from the front. None if it lies outside."""
    if bound.is_exactly(None):
        return ConstantVariable(default)
    if bound.python_type() is not int or (isinstance(bound, SymbolicVariable) and bound.is_unbacked):
        return None
    if tx.compare("<", bound, ConstantVariable(0)).truth(tx):
        bound = tx.operate("+", bound, ConstantVariable(size))
    inside = tx.compare("<=", ConstantVariable(0), bound).truth(tx)
    return bound if inside and tx.compare("<=", bound, ConstantVariable(size)).truth(tx) else None


def _now(number: Variable) -> int:
    """The present value, without a guard."""
    found: int = number.value.node.hint if isinstance(number, SymbolicVariable) else number.as_constant()
    return found


def _view(
    tx: Interpreter, array: NumpyVariable, name: str, places: list[Variable], example: Any
) -> NumpyVariable:
    view = tx.output.call_method(tx, name, [array.tensor, *places], {})
    return cast("NumpyVariable", array.part_of(tx, view, example))
