"""Places in the workspace of a launch plan, for the buffers that need no tensor.

In:  how many bytes each buffer needs, and in which steps it lives: from its making to its last use.
Out: the offset of each buffer, and the size of the workspace. Buffers that live at the same time lie apart.

    a: 64 bytes, steps 0 to 1   b: 64, steps 1 to 2   c: 128, steps 2 to 3
    ->   c at 0, b at 128, a at 0; 192 bytes

Bytes may be open numbers, of a plan for all sizes. Then no place depends on which of two buffers is the
larger one: each such decision would be a condition, and other sizes need another plan where one fails.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping

from codegen.kernel.open_numbers import OpenNumber, closed, maximum

ALIGNMENT = 64

Lives = Mapping[str, tuple[int, int]]


def places(needed: Mapping[str, int], lives: Lives) -> tuple[dict[str, int], int]:
    sizes = {name: -(-maximum(size, 1) // ALIGNMENT) * ALIGNMENT for name, size in needed.items()}
    is_open = any(isinstance(size, OpenNumber) for size in sizes.values())
    return (_shared if is_open else _lowest)(sizes, lives)


def _largest_first(sizes: Mapping[str, int]) -> list[str]:
    return sorted(sizes, key=lambda name: -closed(sizes[name]))


def _lowest(sizes: Mapping[str, int], lives: Lives) -> tuple[dict[str, int], int]:
    """Each buffer gets the lowest place that is free while it lives."""
    offsets: dict[str, int] = {}
    placed: list[tuple[int, int, int, int]] = []  # sorted: begin, end in bytes; birth, death in steps
    total = 0
    for name in _largest_first(sizes):
        size, (birth, death) = sizes[name], lives[name]
        offset = 0
        for begin, end, other_birth, other_death in placed:
            if other_birth <= death and birth <= other_death and offset < end and begin < offset + size:
                offset = end
        bisect.insort(placed, (offset, offset + size, birth, death))
        offsets[name] = offset
        total = max(total, offset + size)
    return offsets, total


def _shared(sizes: Mapping[str, int], lives: Lives) -> tuple[dict[str, int], int]:
    """Buffers that live one after another share a place; it is as large as the largest one.

    "Greedy by size" for shared objects: Pisarchyk, Lee, "Efficient Memory Management for Deep Neural Net
    Inference", 2020.
    """
    shared: list[list[str]] = []
    for name in _largest_first(sizes):
        free = (place for place in shared if not any(_meet(lives[name], lives[other]) for other in place))
        place = next(free, None)
        if place is None:
            shared.append([name])
        else:
            place.append(name)
    offsets: dict[str, int] = {}
    total = 0
    for place in shared:
        offsets |= dict.fromkeys(place, total)
        largest = sizes[place[0]]
        for name in place[1:]:
            largest = maximum(largest, sizes[name])
        total += largest
    return offsets, total


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
