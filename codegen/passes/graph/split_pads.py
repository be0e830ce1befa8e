"""Compute a padded value only inside of its borders, and fill the rest.

In:  the stores of a lowering.
Out: `lowering.stores`. A result with a padded operand has one store for each piece between the borders.

    gx = pad(cross(y[:, :3], g), to 700 columns)        (the backward of x[:, :3])
    ->  gx[:, :3] = cross(y[:, :3], g);  gx[:, 3:] = 0

One loop over the whole result would compute values that the padding then hides. But one loop with a mask is
faster if the borders are thin and the base is only copied.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

from codegen.kernel.ops import OPS
from codegen.kernel.program import is_input_memory
from codegen.lower.graph import Lowering
from codegen.lower.tensor_expr import Assignment, Map, Padded, Stored, TensorExpr, children, topological
from codegen.passes.graph.split_joins import Part, part_of, place_of

WASTE = 1 << 15  # total cycles that the pieces must save
MOST_PIECES = 4
LOAD = 1  # cycles for each element


def split_pads(lowering: Lowering) -> None:
    """Changes `lowering.stores`."""
    result: list[Assignment] = []
    for store in lowering.stores:
        pieces = _pieces(store)
        if pieces and not _is_read(lowering, store):
            for dim, part in pieces:
                value = part_of(store.value, dim, part, {})
                result.append(Assignment(value, place_of(store.target, dim, part)))
        else:
            result.append(store)
    lowering.stores[:] = result


def _pieces(store: Assignment) -> list[tuple[int, Part]]:
    """The pieces between the borders along one dim. None if the pieces do not pay."""
    shape = [size for size in store.value.shape if isinstance(size, int)]
    padded = _padded_parts(store.value)
    if not padded or len(shape) < len(store.value.shape) or prod(shape) == 0:
        return []
    waste = [sum(_waste(value, dim, shape) for value in padded) for dim in range(len(shape))]
    dim = max(range(len(shape)), key=waste.__getitem__)
    borders = {0, shape[dim]}
    for value in padded:
        begin, size = value.begin[dim], value.base.shape[dim]
        if not isinstance(begin, int) or not isinstance(size, int):
            return []
        borders.update(border for border in (begin, begin + size) if 0 < border < shape[dim])
    if waste[dim] < WASTE or not 2 < len(borders) <= MOST_PIECES + 1:
        return []
    ordered = sorted(borders)
    return [(dim, Part(store.value, start, end - start)) for start, end in pairwise(ordered)]


def _padded_parts(value: TensorExpr) -> list[Padded]:
    """The padded values that `value` uses, element by element."""
    found: list[Padded] = []
    pending, seen = [value], {value}
    while pending:
        item = pending.pop()
        if isinstance(item, Padded):
            found.append(item)
        elif isinstance(item, Map):
            new = [arg for arg in item.args if arg not in seen]
            seen.update(new)
            pending += new
    return found


def _waste(value: Padded, dim: int, shape: list[int]) -> int:
    """The cycles spent on the base outside of its borders."""
    size, begin = value.base.shape[dim], value.begin[dim]
    if not isinstance(size, int) or not isinstance(begin, int):
        return 0
    inside = max(0, min(begin + size, shape[dim]) - max(begin, 0))
    if 2 * inside > shape[dim]:
        return 0
    cycles = sum(
        OPS[item.op].cost if isinstance(item, Map) else LOAD if not children(item) else 0
        for item in topological([value.base])
    )
    return cycles * (shape[dim] - inside) * prod(shape) // max(1, shape[dim])


def _is_read(lowering: Lowering, store: Assignment) -> bool:
    """Whether another store uses the value, or the target is an input that changes."""
    if is_input_memory(lowering.program.buffers[store.target.buffer]):
        return True
    if isinstance(store.value, Stored):
        return True
    others = [other.value for other in lowering.stores if other is not store]
    return any(value is store.value for value in topological(others))
