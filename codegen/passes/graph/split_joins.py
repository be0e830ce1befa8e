"""Split the readers of a joined result, so that the joined result is never in memory.

In:  the stores of a lowering.
Out: `lowering.stores`. The stores of the parts are gone; each reader has a store for each part.

    t[:, :32] = -x[:, 32:]; t[:, 32:] = x[:, :32]; out = x * cos + t * sin        (a rotary embedding)
    ->  out[:, :32] = x[:, :32] * cos[:, :32] + -x[:, 32:] * sin[:, :32];  out[:, 32:] = ...

The pass splits only elementwise readers. Each part of a reduction would need the whole join.
"""

from __future__ import annotations

from capture_records import dataclass
from codegen.kernel import index_algebra as ix
from codegen.kernel.index_algebra import Index
from codegen.kernel.program import is_input_memory
from codegen.lower.graph import MAX_DEPTH, Lowering
from codegen.lower.tensor_expr import (
    Assignment,
    Fill,
    Map,
    Padded,
    Position,
    SizeValue,
    Stored,
    TensorExpr,
    View,
    children,
    topological,
)
from codegen.lower.view import strided_slice
from codegen.passes.steps.calls import step_reads, step_writes

ELEMENTWISE = (Map, View, Stored, Fill, Position, SizeValue)
MOST_DEFINITIONS = 256  # in all parts together: each part is compiled separately


def split_joins(lowering: Lowering) -> None:
    """Changes `lowering.stores`."""
    tried = {name for step in lowering.steps for name in (*step_reads(step), *step_writes(step))}
    pending = True
    while pending:
        pending = False
        replaced: set[int] = set()
        for join in _joins(lowering, tried):
            touched = {id(store) for store in (*join.readers, *join.stores)}
            if touched & replaced:
                pending = True  # a join of joins: the next round finds it among the changed stores
                continue
            tried.add(join.whole.buffer)
            if all(_divides(lowering, join, reader) for reader in join.readers):
                _split(lowering, join)
                replaced |= touched


@dataclass(frozen=True, slots=True)
class Part:
    value: TensorExpr
    start: Index
    size: Index


@dataclass(frozen=True, slots=True)
class _Join:
    """The join of `parts` along `dim` of `whole`. The parts are in the order of their `stores`.

    `readers`: the stores of the values that read it.
    """

    whole: Stored
    dim: int
    parts: tuple[Part, ...]
    stores: tuple[Assignment, ...]
    readers: tuple[Assignment, ...]


def _joins(lowering: Lowering, tried: set[str]) -> list[_Join]:
    """The joins among the present stores, without the buffers that were tried before."""
    filled: dict[str, list[Assignment]] = {}
    for store in lowering.stores:
        filled.setdefault(store.target.buffer, []).append(store)
    buffers = lowering.program.buffers
    reading: dict[str, list[tuple[Assignment, Stored]]] = {
        name: []
        for name, stores in filled.items()
        if len(stores) > 1 and name not in tried and buffers[name].kind == "temp"
    }
    for store in lowering.stores if reading else ():
        for value in topological([store.value]):
            if isinstance(value, Stored) and value.buffer in reading:
                reading[value.buffer].append((store, value))
    found = [_join(filled[name], readings) for name, readings in reading.items() if readings]
    return [join for join in found if join is not None]


def _join(stores: list[Assignment], reading: list[tuple[Assignment, Stored]]) -> _Join | None:
    """None if the stores do not fill the buffer one after the other, or something else reads it."""
    whole = reading[0][1]
    ranks = {len(store.target.shape) for store in stores}
    if any(value is not whole for _, value in reading) or whole.offset != 0 or ranks != {len(whole.shape)}:
        return None
    parts: list[Part] = []
    dims = {dim for store in stores for dim in _shorter(store.target, whole)}
    dim = min(dims, default=0)
    start: Index = 0
    for store in stores:
        size = store.value.shape[dim]
        if _shorter(store.target, whole) != [dim] or store.target.offset != ix.times(
            start, whole.strides[dim]
        ):
            return None
        parts.append(Part(store.value, start, size))
        start = ix.plus(start, size)
    readers = tuple(store for store, _ in reading)
    return _Join(whole, dim, tuple(parts), tuple(stores), readers) if start == whole.shape[dim] else None


def _shorter(target: Stored, whole: Stored) -> list[int]:
    """The dims along which the target is only a part."""
    return [
        dim
        for dim, (size, all_of_it) in enumerate(zip(target.shape, whole.shape, strict=True))
        if size != all_of_it
    ]


def _divides(lowering: Lowering, join: _Join, reader: Assignment) -> bool:
    """Whether a part of the reader needs only one part of the join, and that part of its other operands."""
    values = topological([reader.value])
    if any(not isinstance(value, ELEMENTWISE) for value in values):
        return False
    made_of: set[TensorExpr] = {join.whole}
    for value in values:
        if not made_of.isdisjoint(children(value)):
            if not isinstance(value, Map):
                return False
            made_of.add(value)
    depth = reader.value.depth + max(part.value.depth for part in join.parts)
    shared = any(other is not reader and other.value in made_of for other in lowering.stores)
    is_input = is_input_memory(lowering.program.buffers[reader.target.buffer])
    return (
        not shared
        and not is_input
        and depth <= MAX_DEPTH
        and len(values) * len(join.parts) <= MOST_DEFINITIONS
    )


def _split(lowering: Lowering, join: _Join) -> None:
    name, divided = join.whole.buffer, set(map(id, join.readers))
    known: list[dict[TensorExpr, TensorExpr]] = [{join.whole: part.value} for part in join.parts]
    stores: list[Assignment] = []
    for store in lowering.stores:
        if id(store) in divided:
            for part, values in zip(join.parts, known, strict=True):
                value = part_of(store.value, join.dim, part, values)
                stores.append(Assignment(value, place_of(store.target, join.dim, part)))
        elif store.target.buffer != name:
            stores.append(store)
    lowering.stores[:] = stores
    del lowering.program.buffers[name]


def part_of(value: TensorExpr, dim: int, part: Part, known: dict[TensorExpr, TensorExpr]) -> TensorExpr:
    """The definition of one part. `known`: parts by definition, so shared definitions stay shared."""
    found = known.get(value)
    if found is None:
        if isinstance(value, Map):
            args = tuple(part_of(arg, dim, part, known) for arg in value.args)
            found = Map(value.op, args, value.dtype)
        elif isinstance(value, Fill):
            shape = (*value.shape[:dim], part.size, *value.shape[dim + 1 :])
            found = Fill(shape, value.dtype, value.value)
        elif isinstance(value, Padded):
            found = _part_of_padded(value, dim, part)
        else:
            found = strided_slice(value, dim, part.start, 1, part.size)
        known[value] = found
    return found


def _part_of_padded(value: Padded, dim: int, part: Part) -> TensorExpr:
    """A part inside of the base along `dim` has no padding; a part outside of it is only the fill."""
    shape = (*value.shape[:dim], part.size, *value.shape[dim + 1 :])
    begin, size = value.begin[dim], value.base.shape[dim]
    if not all(isinstance(number, int) for number in (begin, size, part.start, part.size)):
        return strided_slice(value, dim, part.start, 1, part.size)
    end, base_end = ix.plus(part.start, part.size), ix.plus(begin, size)
    if end <= begin or part.start >= base_end:  # type: ignore[operator]
        return Fill(shape, value.dtype, value.fill)
    if part.start < begin or end > base_end:  # type: ignore[operator]
        return strided_slice(value, dim, part.start, 1, part.size)
    inside = strided_slice(value.base, dim, ix.minus(part.start, begin), 1, part.size)
    begins = (*value.begin[:dim], 0, *value.begin[dim + 1 :])
    return inside if inside.shape == shape and not any(begins) else Padded(inside, shape, begins, value.fill)


def place_of(target: Stored, dim: int, part: Part) -> Stored:
    shape = (*target.shape[:dim], part.size, *target.shape[dim + 1 :])
    offset = ix.plus(target.offset, ix.times(part.start, target.strides[dim]))
    return Stored(shape, target.dtype, target.buffer, target.strides, offset)
