"""Calls to user classes for hashing and comparison: how often, in which order, with which answer."""

from __future__ import annotations

from tests.capture.cases.registry import case


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


NAMES = ("cpu", "mps")
NOT_A_NUMBER = float("nan")


@case(ops=1)
def a_computed_text_among_existing_ones(x):
    return x.device.type in NAMES, str(x.dtype) in ["torch.float32"], NAMES.index(x.device.type), x + 1


@case(ops=1)
def a_computed_text_is_not_an_existing_one(x):
    return x.device.type is NAMES[0], NAMES[0] is NAMES[0], x + 1  # noqa: PLR0124


@case(ops=1)
def not_a_number_among_others(x):
    items = [NOT_A_NUMBER, frozenset([NOT_A_NUMBER])]
    return NOT_A_NUMBER in items, float("nan") in items, frozenset([float("nan")]) in items, x + 1


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
