"""Tables of code objects: by identity, and forgotten with them."""

from __future__ import annotations

import weakref
from types import CodeType

from cache.code_table import CodeTable


def new_code(text: str = "1") -> CodeType:
    return compile(text, "<test>", "eval")


def test_equal_code_objects_are_two_keys() -> None:
    table: CodeTable[str] = CodeTable()
    first, second = new_code(), new_code()
    assert first == second and first is not second
    table[first] = "first"
    assert first in table and second not in table
    assert (table.get(first), table.get(second)) == ("first", None)


def test_what_is_known_goes_with_the_code() -> None:
    table: CodeTable[str] = CodeTable()
    code = new_code()
    table[code] = "known"
    table[code] = "replaced"
    assert len(table) == 1
    gone = weakref.ref(code)
    del code
    assert gone() is None and len(table) == 0
    table[new_code()] = "gone at once"
    assert len(table) == 0


def test_a_code_object_that_outlives_its_table() -> None:
    code = new_code()
    CodeTable[str]()[code] = "known"
    del code
