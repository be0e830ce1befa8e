"""The places of a set's elements in its table. They decide the order of the set. Together with the hashes
they decide the order of everything that is made from the set.

In:  a set or frozenset.
Out: `layout_of`: numbers, read from the memory of the object as `native/guards/guard_checks.c` reads them.

    {8, 0}   ->   (7, 2, 0, 0, 8, 1, 0): mask, fill (elements and places that were left), the place where
                  the next `pop` begins to search, then place and hash of each
"""

from __future__ import annotations

import ctypes
from typing import Any

from guards.lookup import set_elements


class _Entry(ctypes.Structure):
    _fields_ = (("key", ctypes.c_void_p), ("hash", ctypes.c_ssize_t))


class _Set(ctypes.Structure):
    _fields_ = (
        ("head", ctypes.c_ssize_t * 2),
        ("fill", ctypes.c_ssize_t),
        ("used", ctypes.c_ssize_t),
        ("mask", ctypes.c_ssize_t),
        ("table", ctypes.POINTER(_Entry)),
        ("hash", ctypes.c_ssize_t),
        ("finger", ctypes.c_ssize_t),
    )


def layout_of(value: set[Any] | frozenset[Any]) -> tuple[int, ...]:
    held = _Set.from_address(id(value))
    keys = set(map(id, set_elements(value)))
    entries = ((place, held.table[place]) for place in range(held.mask + 1))
    places = [(place, entry.hash) for place, entry in entries if entry.key in keys]
    return (held.mask, held.fill, held.finger, *(number for place in places for number in place))
