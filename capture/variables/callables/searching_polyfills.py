"""heapq, bisect and functools.cmp_to_key in plain Python, after the reference versions of the library.

In:  a call with arguments that are not constants.
Out: the same values, exceptions and order of comparisons as the functions in C give.
"""

from __future__ import annotations

import bisect
import functools
import heapq
from typing import Any

from capture.variables.callables.polyfills import stands_for


@stands_for(heapq.heappush)
def heappush(heap: list[Any], item: Any, /) -> None:
    heap.append(item)
    _sift_down(heap, 0, len(heap) - 1)


@stands_for(heapq.heappop)
def heappop(heap: list[Any], /) -> Any:
    last = heap.pop()
    if not heap:
        return last
    smallest, heap[0] = heap[0], last
    _sift_up(heap, 0)
    return smallest


@stands_for(heapq.heapreplace)
def heapreplace(heap: list[Any], item: Any, /) -> Any:
    smallest = heap[0]
    heap[0] = item
    _sift_up(heap, 0)
    return smallest


@stands_for(heapq.heappushpop)
def heappushpop(heap: list[Any], item: Any, /) -> Any:
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _sift_up(heap, 0)
    return item


@stands_for(heapq.heapify)
def heapify(heap: list[Any], /) -> None:
    for index in reversed(range(len(heap) // 2)):
        _sift_up(heap, index)


def _sift_down(heap: list[Any], start: int, index: int) -> None:
    """Move the item at `index` towards `start` until its parent is no larger."""
    item = heap[index]
    while index > start:
        parent = (index - 1) >> 1
        if not item < heap[parent]:
            break
        heap[index] = heap[parent]
        index = parent
    heap[index] = item


def _sift_up(heap: list[Any], index: int) -> None:
    """Move the smaller child up until a leaf is reached, then the item down to its place."""
    end, start, item = len(heap), index, heap[index]
    child = 2 * index + 1
    while child < end:
        right = child + 1
        if right < end and not heap[child] < heap[right]:
            child = right
        heap[index] = heap[child]
        index = child
        child = 2 * index + 1
    heap[index] = item
    _sift_down(heap, start, index)


@stands_for(bisect.bisect_right)
def bisect_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        if x < (a[middle] if key is None else key(a[middle])):
            hi = middle
        else:
            lo = middle + 1
    return lo


@stands_for(bisect.bisect_left)
def bisect_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


@stands_for(bisect.insort_right)
def insort_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


@stands_for(bisect.insort_left)
def insort_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


class ComparedBy:
    """The key that `cmp_to_key` makes."""

    __slots__ = ("compare", "obj")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, compare: Any, obj: Any) -> None:
        self.compare = compare
        self.obj = obj

    def __lt__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) > 0

    def __le__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) >= 0

    def __eq__(self, other: Any) -> Any:
        return self.compare(self.obj, other.obj) == 0


@stands_for(functools.cmp_to_key)
def cmp_to_key(mycmp: Any) -> Any:
    return functools.partial(ComparedBy, mycmp)
