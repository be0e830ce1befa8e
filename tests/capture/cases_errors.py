"""Exceptions of built-in functions and operators: those that CPython raises, with its texts."""

from __future__ import annotations

import collections
import functools
import operator
import sys
import unittest

import torch

import capture
from tests.capture.registry import case


def outcome(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error)


@case(ops=1)
def wrong_numbers_of_arguments(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: [x].append(x, x),
            lambda: [x].append(),
            lambda: [x].insert(1),
            lambda: [x].sort(2),
            lambda: [x].__getitem__(),
            lambda: list(x, x),
            lambda: map(),
            lambda: enumerate(),
            lambda: frozenset((), ()),
            lambda: {}.get(),
            lambda: {}.update(1, 2),
            lambda: {1}.add(),
            lambda: "a".join(),
            lambda: collections.deque(()).popleft(1),
            lambda: len(),
            lambda: list(key=1),
        )
    ]


@case(ops=1)
def wrong_values_of_arguments(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: [1].pop(5),
            lambda: [1].index(2),
            lambda: [1].remove(2),
            lambda: [1] + (2,),
            lambda: [1] < 1,
            lambda: [0] * 10**15,
            lambda: [1]["a"],
            lambda: (1,)["a"],
            lambda: (1,)[3],
            lambda: [1, 2][::0],
            lambda: [][1],
            lambda: {1: 2}[3],
            lambda: {}[1, 2],
            lambda: {1} | [2],
            lambda: "a" + 1,
            lambda: 1 in 2,
            lambda: next([]),
            lambda: iter(3),
            lambda: reversed(3),
            lambda: reversed({1}),
            lambda: len(reversed([1])),
            lambda: len(3),
            lambda: 3(),
            lambda: sum(["a"]),
            lambda: sorted([1, "a"]),
            lambda: dict([1]),
            lambda: dict([(1,)]),
            lambda: {[]},
            lambda: {[]: 1},
            lambda: divmod(1, 0),
            lambda: isinstance(1, 3),
        )
    ]


@case(ops=1)
def unpacked_arguments_that_are_none(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: {**3},
            lambda: [*3],
            lambda: len(*3),
            lambda: dict(**3),
            lambda: dict(**{1: 2}),
            lambda: outcome(*None),
        )
    ]


@case(ops=1)
def extend_keeps_what_came_before_the_error(x):
    def items():
        yield 1
        yield 2
        raise ValueError("third")

    result, queue = [0], collections.deque([0], 2)
    return (
        outcome(lambda: result.extend(items())),
        result,
        outcome(lambda: queue.extendleft(items())),
        queue,
        x + 1,
    )


@case(ops=1)
def parts_of_a_slice(x):
    class Index:
        def __index__(self):
            return 2

    items = list(range(6))
    items[Index() :] = (7, 8, 9)
    return (
        items,
        items[: Index()],
        items[:: Index()],
        outcome(lambda: items["a":]),
        outcome(lambda: items[::0]),
        x + 1,
    )


@case(ops=1)
def a_comparison_that_changes_its_lists(x):
    class Clears:
        def __init__(self, items):
            self.items = items

        def __eq__(self, other):
            self.items.clear()
            return NotImplemented

    first, second = [], []
    first.append(Clears(second))
    second.append(Clears(first))
    same = first == second
    third = []
    third.append(Clears(third))
    return same, third == [1], 3 in [Clears(third), 3], len(third), x + 1


@case(ops=1)
def containers_inside_of_themselves(x):
    items = [1]
    items.append(items)
    table = {"a": items}
    table["self"] = table
    return repr(items), str(table), f"{(items,)}", x + 1


class Backwards:
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index * 2


class Counts:
    def __init__(self, last):
        self.next, self.last = 0, last

    def __iter__(self):
        return self

    def __next__(self):
        self.next += 1
        if self.next > self.last:
            raise StopIteration
        return self.next


class NoIterator:
    def __iter__(self):
        return 5


@case(ops=1)
def iterators_of_classes(x):
    counts = Counts(3)
    backwards = reversed(Backwards())
    return (
        iter(counts) is counts,
        list(enumerate(counts)),
        type(backwards),
        list(backwards),
        outcome(lambda: iter(NoIterator())),
        x + 1,
    )


@case(graphs=2, ops=2)
def reversed_sees_what_changes(x):
    items = [1, 2, 3, 4]
    backwards = reversed(items)
    first = next(backwards)
    items[1] = 9
    items.append(5)
    y = x + 1
    capture.graph_break()
    rest = [next(backwards), next(backwards)]
    return first, rest, list(backwards), next(backwards, None), type(backwards).__name__, y, x + 2


def _list_and_iterator():
    items = [4, 5, 6]
    iterator = iter(items)
    next(iterator)
    return torch.ones(2), items, iterator


@case(ops=1, args=_list_and_iterator)
def an_iterator_over_a_list_that_changes(x, items, iterator):
    items[1:] = [7, 8, 9]
    first = next(iterator)
    rest = list(iterator)
    items.append(10)
    return first, rest, next(iterator, None), x + 1


@case(ops=1)
def an_exception_without_its_traceback(x):
    try:
        try:
            raise KeyError("k")
        except KeyError:
            raise ValueError("v")  # noqa: B904
    except ValueError as error:
        kept = error.with_traceback(None)
        return kept.args, kept.__traceback__, type(kept.__context__), x + 1


@case(ops=1)
def assertions_of_a_test_case(x):
    test = unittest.TestCase()
    test.assertEqual([1, 2], [1, 2])
    test.assertIn(1, {1: 2})
    test.assertTrue(x.ndim == 2)
    test.assertRaises(ValueError, int, "a")
    with test.assertRaises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    with test.assertRaisesRegex(TypeError, "exactly one"):
        [].append()
    return str(caught.exception), x + 1


@case(ops=1)
def keywords_named_as_our_own_arguments(x):
    table = {}
    table.update(self=1, other=2, tx=3, items=4)
    ordered = collections.OrderedDict(items=2, tx=1)
    return table, dict(items=3, tx=1), ordered, collections.defaultdict(list, items=2, factory=1), x + 1


@case(ops=1)
def a_tuple_that_gets_nothing_more(x):
    items = (1, x)
    return items * 1 is items, items[:] is items, items + () is items, () + items is items, x + 1


@case(graphs=None)
def a_key_that_goes_and_comes_back(x):
    table, seen = {0: x}, []
    try:
        for key in table:
            seen.append(key)
            del table[key]
            table[key] = x + 1
    except RuntimeError as error:
        seen.append(str(error))
    return seen, table


class Queue(collections.deque):
    pass


class Ordered(collections.OrderedDict):
    pass


class Defaults(collections.defaultdict):
    pass


@case(graphs=None)
def operators_that_keep_the_class(x):
    made = [
        Queue([1]) * 2,
        Queue([1]) + Queue([2]),
        Queue([1]).copy(),
        Ordered(a=1) | {"b": 2},
        {} | Ordered(),
    ]
    made += [Defaults(list) | {}, Ordered() | Ordered()]
    return made, [type(value).__name__ for value in made], x + 1


@case(ops=1)
def made_anew(x):
    queue = Queue([1, 2])
    queue.__init__([3])
    return queue, x + 1


@case(ops=1)
def arguments_of_the_wrong_kind(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: enumerate("abc", "a"),
            lambda: collections.deque([1, 2, 3], 3).insert(1, 1),
            lambda: collections.deque((), -1),
            lambda: collections.defaultdict(3),
            lambda: {}.__ior__(None),
            lambda: {0: 1}.__ior__(()),
            lambda: [].__iadd__(3),
            lambda: [1].__iadd__("ab"),
            lambda: {}.__or__(3),
            lambda: [].__add__(()),
            lambda: {1}.__ior__([1]),
            lambda: len(range(10**20)),
            lambda: list(enumerate(iterable="ab", start=3)),
        )
    ]


class Counted:
    def __init__(self):
        self.hashes = 0

    def __hash__(self):
        self.hashes += 1
        return 1

    def __eq__(self, other):
        return self is other


@case(ops=1)
def a_key_is_hashed_once(x):
    key = Counted()
    table = {key: 1}
    table[key] = 2
    table.setdefault(key, 3)
    table.pop(key)
    table.setdefault(key, 4)
    del table[key]
    return key.hashes, x + 1


class BreaksAtEachItem:
    def __getitem__(self, index):
        capture.graph_break()
        if index < 3:
            return index
        raise IndexError


@case(graphs=None)
def a_break_while_items_are_unpacked(x):
    first, second, third = BreaksAtEachItem()
    head, *tail = BreaksAtEachItem()
    return first, second, third, head, tail, x + 1


@case(ops=1)
def an_exception_raised_again_in_another_handler(x):
    try:
        try:
            raise NameError("n")
        except NameError as first:
            try:
                1 / 0  # noqa: B018
            except ZeroDivisionError:
                raise first  # noqa: B904
    except NameError as error:
        return type(error.__context__), error.__context__.__context__, x + 1


@case(ops=1)
def a_chain_of_contexts_that_would_close(x):
    kept = []
    try:
        try:
            raise KeyError(1)
        except KeyError as first:
            kept.append(first)
            try:
                raise ValueError(2)
            except ValueError as second:
                kept.append(second)
                try:
                    raise IndexError(3)
                except IndexError as third:
                    kept.append(third)
                    raise first  # noqa: B904
    except KeyError as error:
        a, b, c = kept
        return error is a, a.__context__ is c, c.__context__ is b, b.__context__, x + 1


@case(ops=1)
def nothing_is_handled(x):
    before = sys.exc_info()
    try:
        raise ValueError
    except ValueError as error:
        return before, error.__context__, sys.exc_info()[1] is error, x + 1


def _raised_before():
    return torch.ones(2), ValueError("made before")


@case(graphs=None, args=_raised_before)
def an_exception_from_outside_is_raised_by_python(x, error):
    try:
        raise error
    except ValueError as caught:
        return caught.__traceback__ is not None, str(caught), x + 1


@case(ops=1)
def sets_changed_by_operators(x):
    items, frozen = {1}, frozenset([1])
    made = [
        outcome(f)
        for f in (
            lambda: operator.ior(items, [2]),
            lambda: operator.iand(items, "a"),
            lambda: operator.ior(items, {2: 3}.keys()),
            lambda: operator.ior(items, frozenset([9])),
            lambda: operator.ior(frozen, {2}),
        )
    ]
    return made, items, frozen, frozenset(frozen) is frozen, frozen.copy() is frozen, x + 1


class Halibut:
    def __hash__(self):
        return hash("halibut")

    def __eq__(self, other):
        return other == "halibut"


@case(ops=1)
def keys_with_the_hash_of_others(x):
    return len({"halibut", Halibut()}), len({Halibut(), "halibut"}), x + 1


@case(ops=1)
def keys_of_a_dict_are_not_hashed_again(x):
    key = Counted()
    table = {key: 1}
    return len(set(table)), len(frozenset(table)), len({1, 2}.union(table)), key.hashes, x + 1


@case(ops=1)
def a_text_made_anew_is_another_object(x):
    text = "xyzpdq"
    again = text[:3] + "pdq"
    return text is again, text == again, text is text, x + 1  # noqa: PLR0124


class Left:
    def __or__(self, other):
        return "left or"

    def __ror__(self, other):
        return "left ror"


class SameReflected(Left):
    pass


class OtherReflected(Left):
    def __ror__(self, other):
        return "other ror"


@case(ops=1)
def the_reflected_method_goes_first_where_it_is_another(x):
    return Left() | SameReflected(), Left() | OtherReflected(), x + 1


@case(ops=1)
def functions_bound_to_nothing(x):
    def method(self):
        return self

    return (
        method.__get__(None, int) is method,
        method.__get__(3)(),
        outcome(lambda: method.__get__(None)),
        x + 1,
    )


class Partial:
    def all(self, *args):
        return args

    first = functools.partialmethod(all, 1)


@case(ops=1)
def a_partial_method_of_the_class(x):
    return Partial().first(2), Partial.first(Partial(), 3), x + 1


@case(graphs=None)
def annotations_of_made_functions(x):
    def wrapped(a: int):
        pass

    def wrapper(b: str):
        pass

    def plain():
        pass

    functools.update_wrapper(wrapper, wrapped)
    plain.__annotations__["c"] = float
    capture.graph_break()
    return wrapper.__annotations__ is wrapped.__annotations__, plain.__annotations__, wrapper.__name__, x + 1


class Notes:
    def __init__(self):
        self.calls = []

    def __eq__(self, other):
        self.calls.append("eq")
        return NotImplemented


class NotesUnequal(Notes):
    def __ne__(self, other):
        self.calls.append("ne")
        return NotImplemented


@case(ops=1)
def what_unequal_asks(x):
    plain, more = Notes(), NotesUnequal()
    results = [plain != more, plain != Notes(), plain == more, more != 3]
    return results, plain.calls, more.calls, x + 1


class BadText:
    def __str__(self):
        return 1

    def __repr__(self):
        return 2


class BadInit:
    def __init__(self):
        return 3


class GivesMore:
    def __init__(self, value):
        object.__init__(self, value)


class Plain:
    pass


@case(ops=1)
def what_classes_refuse(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: Plain(1),
            lambda: Plain(a=1),
            lambda: Plain().__init__(3),
            lambda: GivesMore(1),
            lambda: BadInit(),
            lambda: str(BadText()),
            lambda: repr(BadText()),
            lambda: f"{BadText()}",
            lambda: getattr(Plain(), 3),
            lambda: setattr(Plain(), 3, 4),
            lambda: hasattr(3, 4),
        )
    ]


class Eight(int):
    def __index__(self):
        return 8


@case(ops=1)
def a_number_of_a_class_on_top_of_int(x):
    return list(range(10))[Eight(7)], [].append.__qualname__, {}.get.__name__, x + 1


@case(graphs=None)
def cells_without_contents_across_breaks(x):
    def reads():
        return later

    y = x + 1
    texts = []
    try:
        reads()
    except NameError as error:
        capture.graph_break()
        texts.append((type(error).__name__, str(error)))
    try:
        y.kept = later
    except UnboundLocalError as error:
        capture.graph_break()
        texts.append((type(error).__name__, str(error)))
    later = 3
    return texts, y, later


@case(ops=1)
def fields_of_exceptions(x):
    missing = OSError(2, "text", "name")
    found = ImportError("m", name="n", path="p")
    decoding = UnicodeDecodeError("utf8", b"abc", 0, 1, "bad")
    fields = [type(missing), missing.errno, missing.strerror, missing.filename, missing.args, str(missing)]
    fields += [found.name, found.path, found.msg, str(found), SystemExit(4).code, StopIteration(3).value]
    fields += [
        decoding.start,
        decoding.reason,
        AttributeError("q", name="z", obj=3).name,
        OSError("only").errno,
    ]
    fields += [outcome(lambda: ValueError(a=1)), outcome(lambda: ImportError(other=1))]
    return fields, x + 1


@case(graphs=2, ops=2)
def an_exception_with_keywords_behind_a_break(x):
    error = ImportError("m", name="n")
    y = x + 1
    capture.graph_break()
    return error.name, error.args, str(error), y * 2


class Scaled:
    scale = 1


class ScaledMore(Scaled):
    pass


@case(graphs=None)
def class_attributes_set_and_read_through_others(x):
    Scaled.scale = 3
    read = Scaled.scale, Scaled().scale, ScaledMore().scale, ScaledMore.scale
    ScaledMore.__len__ = lambda self: 7
    lengths = len(ScaledMore()), bool(ScaledMore())
    Scaled.scale = 1
    del ScaledMore.__len__
    return read, lengths, x * Scaled().scale


class TupleOnTop(tuple):
    pass


class FrozenOnTop(frozenset):
    pass


class ListOnTop(list):
    pass


@case(ops=1)
def what_immutable_instances_give(x):
    pair, frozen, items = TupleOnTop((1, 2)), FrozenOnTop([1]), ListOnTop([1])
    same = items
    same += [2]
    kinds = type(pair[:]), type(pair * 1), type(pair.__add__(())), type(frozen.copy()), type(same)
    return kinds, pair[:] is pair, frozen.copy() is frozen, same is items, items.__iadd__([3]) is items, x + 1


@case(ops=1)
def methods_of_other_classes(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: list.append((), 1),
            lambda: str.__add__(1, "a"),
            lambda: dict.__contains__([], 1),
            lambda: str.upper(3),
            lambda: tuple.__len__([]),
            lambda: list.__len__(ListOnTop([1])),
            lambda: dict.get(collections.OrderedDict(a=1), "a"),
            lambda: collections.deque([1, 2]).rotate("a"),
        )
    ]


@case(ops=1)
def methods_compare_by_their_owners(x):
    one, two = [], []
    return (
        one.append == one.append,
        one.append == two.append,
        one.append == one.pop,
        len.__class__,
        outcome.__class__,
        x + 1,
    )


@case(ops=1)
def more_than_object_takes(x):
    return x + 1, [
        outcome(f)
        for f in (
            lambda: object.__new__(Plain, 3),
            lambda: Plain.__new__(Plain, 3),
            lambda: object.__new__(GivesMore, 3) and None,
            lambda: operator.index(Eight(7)),
            lambda: BlockingIOError().characters_written,
        )
    ]


@case(ops=1)
def an_exception_initialised_again(x):
    error = ImportError("text", name="n", path="p")
    error.__init__()
    before = sys.exception()
    return error.args, error.name, error.path, before, x + 1
