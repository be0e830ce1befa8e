"""Iterators that existed before the frame.

Their items are guarded. After the frame the real iterators have advanced as in Python.
"""

from __future__ import annotations

import collections
import itertools

import torch

import capture
from tests.capture.cases.registry import case


def x():
    return torch.ones(3, 4)


def left(iterator):
    """The remaining items; of iterators without end the first ones."""
    return list(itertools.islice(iterator, 5))


@case(graphs=1, ops=3, args=lambda: (x(), iter(range(2, 9, 3))))
def range_iterator(x, numbers):
    for number in numbers:
        x = x * number
    return x, numbers


@case(graphs=1, ops=1, args=lambda: (x(), iter(range(2, 9, 3))))
def range_iterator_once(x, numbers):
    return x * next(numbers), numbers


@case(graphs=1, ops=4, args=lambda: (x(), zip([1.0, 2.0], (3.0, 4.0))))
def zipped(x, pairs):
    for a, b in pairs:
        x = x * a + b
    return x, pairs


@case(graphs=1, ops=2, args=lambda: (x(), zip([1.0, 2.0], (3.0, 4.0, 5.0))))
def zipped_once(x, pairs):
    a, b = next(pairs)
    return x * a + b, pairs


@case(graphs=1, ops=1, args=lambda: (x(), zip([1.0, 2.0], [3.0], strict=True)))
def zipped_strictly(x, pairs):
    try:
        found = list(pairs)
    except ValueError as error:
        found = str(error)
    return x + 1, found


@case(graphs=1, ops=2, args=lambda: (x(), enumerate([torch.ones(4), torch.ones(4)], 5)))
def enumerated(x, pairs):
    index, item = next(pairs)
    return x * index + item, pairs


def _around(make):
    def arguments():
        inner = iter([7, 8, 9])
        return x(), make(inner), inner

    return arguments


@case(graphs=1, ops=2, args=_around(enumerate))
def enumerated_and_the_iterator_within(x, pairs, inner):
    first = next(inner)
    index, item = next(pairs)
    return x * (first + index) + item, left(pairs), left(inner)


@case(graphs=1, ops=1, args=_around(lambda inner: zip(inner, inner)))
def zipped_with_itself(x, pairs, inner):
    a, b = next(pairs)
    return x * (a - b), left(inner)


@case(graphs=1, ops=2, args=lambda: (x(), enumerate(zip([1, 2, 3], itertools.count(4)))))
def enumerated_zip_of_count(x, items):
    index, (a, b) = next(items)
    return x * (index + a) + b, left(items)


@case(graphs=1, ops=4, args=lambda: (x(), map(lambda a, b: a + b, [torch.ones(4)] * 2, [1, 2])))
def mapped(x, items):
    for item in items:
        x = x * item
    return x


@case(graphs=1, ops=1, args=lambda: (x(), filter(lambda a: a > 1, [1, 2, 3])))
def filtered(x, items):
    return x * next(items), left(items)


@case(graphs=1, ops=2, args=lambda: (x(), itertools.count(3), itertools.count(3, 2)))
def counts(x, ones, twos):
    next(twos)
    return x * next(ones) + next(twos), next(ones), next(twos), left(ones), left(twos)


@case(graphs=1, ops=2, args=lambda: (x(), itertools.repeat(2), itertools.repeat(3, 4)))
def repeats(x, endless, thrice):
    return x * next(endless) + next(thrice), left(endless), left(thrice)


@case(graphs=1, ops=1, args=lambda: (x(), reversed([1, 2, 3])))
def reversed_list(x, items):
    return x * next(items), left(items)


@case(graphs=1, ops=2, args=lambda: (x(), iter([1, 2, 3])))
def search_stops_at_what_is_found(x, items):
    if 2 in items:
        x = x + 1
    return x * 2, left(items)


def _list_and_iterator():
    items = [1, 2]
    return x(), items, iter(items)


@case(graphs=1, ops=1, args=_list_and_iterator)
def list_grows_before_its_end(x, items, iterator):
    next(iterator)
    items.append(3)
    found = list(iterator)
    return x * len(found), found, items, iterator


@case(graphs=1, ops=1, args=_list_and_iterator)
def list_grows_behind_its_end(x, items, iterator):
    found = list(iterator)
    items.append(3)
    return x * len(found), found, items, iterator


@case(graphs=1, ops=1, args=_list_and_iterator)
def iterator_is_kept_by_another(x, items, iterator):
    next(iterator)
    return x + 1, enumerate(iterator), zip(iterator)


@case(graphs=2, ops=2, args=lambda: (x(), iter([1, 2, 3])))
def moved_before_a_break(x, items):
    x = x * next(items)
    capture.graph_break()
    return x + next(items), left(items)


@case(graphs=3, ops=4, args=lambda: (x(), enumerate([2, 3])))
def loop_with_a_break_in_it(x, items):
    for index, item in items:
        x = x * (index + item)
        capture.graph_break()
    return x + 1


@case(graphs=1, ops=1)
def made_in_the_frame_reversed(x):
    items = reversed([1, x, 3])
    first = next(items)
    return (
        x + first,
        items,
        reversed((1, 2)),
        reversed(range(3)),
        type(items).__name__,
        type(reversed(())).__name__,
    )


@case(graphs=1, ops=1)
def made_in_the_frame_reversed_of_a_list_that_changes(x):
    items = [1, 2, 3]
    backwards = reversed(items)
    next(backwards)
    items.pop()
    items.pop()
    return x + len(items), list(backwards)


@case(graphs=1, ops=1)
def made_in_the_frame_repeated(x):
    items = itertools.repeat(x, 3)
    next(items)
    return x + 1, items, itertools.repeat(2, times=2), list(itertools.repeat(1, -1))


def view_of(kind, cls=dict):
    values = cls({"a": 1.0, "b": 2.0})
    return lambda: (x(), values.copy(), getattr(values.copy(), kind)())


@case(graphs=1, ops=2, args=view_of("values"), fresh=True)
def view_of_values(x, values, view):
    for value in view:
        x = x * value
    return x, len(view), list(reversed(view)), bool(view)


@case(graphs=1, ops=2, args=view_of("items", collections.OrderedDict), fresh=True)
def view_of_ordered_items(x, values, view):
    y = x * len(view)
    return y + sum(value for _, value in view)


@case(graphs=1, ops=1, args=view_of("keys"), fresh=True)
def view_of_keys(x, values, view):
    return (
        x + ("a" in view),
        view & {"a", 1},
        view == values.keys(),
        view is values.keys(),
        view.isdisjoint({"q"}),
    )


def view_and_dict():
    values = {"a": x()}
    return values, values.items()


@case(graphs=1, ops=2, args=view_and_dict, fresh=True)
def view_of_a_dict_that_grows(values, view):
    values["b"] = values["a"] + 1
    return [key for key, _ in view], sum(value for _, value in view) if False else len(view), values["b"] * 2


@case(graphs=2, ops=2, args=view_and_dict, fresh=True)
def view_across_a_break(values, view):
    y = values["a"] + 1
    capture.graph_break()
    return y * len(view), view
