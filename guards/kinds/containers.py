"""Guards of containers: length, keys of dicts, elements of sets and their order.

In:  a place and the container found there.
Out: `LengthGuard`, `DictContainsGuard`, `DictKeysGuard`, `SetContentsGuard`, `SetLayoutGuard`.

    LengthGuard.of(LocalSource("x"), [1, 2])   ->   len(x) == 2

All of them read what is stored in the container itself, past the methods of a subclass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guards.guard import GuardError, PlaceGuard
from guards.lookup import (
    Unresolved,
    dict_get,
    dict_items,
    isinstance_raw,
    safe_repr,
    set_elements,
    stored_length,
)
from guards.properties.set_layout import layout_of
from guards.sources import GlobalsSource, Source
from guards.values import ObjectRef, constants_equal, is_constant

LARGEST_SET = 1000  # elements that a guard compares


def raw_length(value: Any, source: Source | None = None) -> int:
    """The stored length of a built-in container. Raises GuardError for other types."""
    length = stored_length(value)
    if length is not None:
        return length
    place = source.text if source else "value"
    raise GuardError(f"{place} of type {type(value).__name__} has no length to guard")


class LengthGuard(PlaceGuard):
    """The length of a list, tuple, dict, set, frozenset, str, bytes, deque, range or a subclass."""

    cost = 8
    instruction = "CHECK_LENGTH"

    @classmethod
    def of(cls, source: Source, value: Any) -> LengthGuard:
        return cls((source,), raw_length(value, source))

    def holds_for(self, value: Any) -> bool:
        return bool(raw_length(value) == self.payload)

    @property
    def text(self) -> str:
        return f"len({self.source.text}) == {self.payload}"

    def found_text(self, value: Any) -> str:
        try:
            return f"length {raw_length(value)}"
        except GuardError as error:
            return str(error)


# --- keys -------------------------------------------------------------------------------------------------


def _key_payload(key: Any) -> Any:
    """A dict key or set element in a payload: a constant, or an ObjectRef with its hash."""
    return key if is_constant(key) else ObjectRef(key, hash_value=hash(key))


def _same_key(expected: Any, key: Any) -> bool:
    return expected.is_same(key) if isinstance(expected, ObjectRef) else constants_equal(expected, key)


def _key_text(key: Any) -> str:
    return key.text if isinstance(key, ObjectRef) else safe_repr(key)


def _key_texts(keys: Sequence[Any]) -> str:
    return f"{', '.join(map(_key_text, keys[:12]))}{', ...' if len(keys) > 12 else ''}"


def _dict_text(value: Any) -> str:
    if not isinstance_raw(value, dict):
        return safe_repr(value)
    return f"[{_key_texts([key for key, _ in dict_items(value)])}]"


class DictContainsGuard(PlaceGuard):
    """The dict has the key, or lacks it."""

    cost = 52
    instruction = "CHECK_DICT_CONTAINS"

    @classmethod
    def of(cls, source: Source, key: Any, present: bool) -> DictContainsGuard:
        return cls((source,), (_key_payload(key), present))

    @classmethod
    def builtin_not_hidden(cls, name: str) -> DictContainsGuard:
        """No global of the frame hides the builtin of that name."""
        return cls.of(GlobalsSource(), name, False)

    def holds_for(self, value: Any) -> bool:
        key, present = self.payload
        if not isinstance_raw(value, dict):
            return False
        if isinstance(key, ObjectRef):
            key = key.get()
            if key is None:
                return False
        try:
            dict_get(value, key)
        except Unresolved:
            return not present
        return bool(present)

    def operands(self) -> tuple[Any, bool]:
        key, present = self.payload
        return key, present

    @property
    def text(self) -> str:
        key, present = self.payload
        return f"{_key_text(key)} {'' if present else 'not '}in {self.source.text}"

    def found_text(self, value: Any) -> str:
        return _dict_text(value)


class DictKeysGuard(PlaceGuard):
    """The dict has exactly these keys in this order. Keys that are no constants are compared by identity."""

    cost = 60
    instruction = "CHECK_DICT_KEYS"

    @classmethod
    def of(cls, source: Source, mapping: dict[Any, Any]) -> DictKeysGuard:
        return cls((source,), tuple(_key_payload(key) for key, _ in dict_items(mapping)))

    def holds_for(self, value: Any) -> bool:
        if not isinstance_raw(value, dict) or dict.__len__(value) != len(self.payload):
            return False
        return all(_same_key(expected, key) for expected, (key, _) in zip(self.payload, dict_items(value)))

    def operands(self) -> tuple[Any, ...]:
        return tuple(self.payload)

    @property
    def text(self) -> str:
        return f"list({self.source.text}) == [{_key_texts(self.payload)}]"

    def found_text(self, value: Any) -> str:
        return _dict_text(value)


# --- sets -------------------------------------------------------------------------------------------------


def _is_set(value: Any) -> bool:
    return isinstance_raw(value, set) or isinstance_raw(value, frozenset)


class SetContentsGuard(PlaceGuard):
    """The set has exactly these elements. Elements that are no constants are compared by identity."""

    cost = 80
    instruction = "CHECK_SET"

    @classmethod
    def of(cls, source: Source, value: set[Any] | frozenset[Any]) -> SetContentsGuard:
        elements = set_elements(value)
        if len(elements) > LARGEST_SET:
            raise GuardError(f"{source.text} has {len(elements)} elements: too many to guard")
        return cls((source,), tuple(map(_key_payload, elements)))

    def holds_for(self, value: Any) -> bool:
        elements = set_elements(value) if _is_set(value) else None
        if elements is None or len(elements) != len(self.payload):
            return False
        return all(any(_same_key(expected, item) for expected in self.payload) for item in elements)

    def operands(self) -> tuple[Any, ...]:
        return tuple(self.payload)

    @property
    def text(self) -> str:
        return f"{self.source.text} == {{{_key_texts(self.payload)}}}"


class SetLayoutGuard(PlaceGuard):
    """The set gives its elements in the same order, and so do `pop` and what is made from it.

    It is made beside a `SetContentsGuard`. The places in the table of the set decide the order.
    """

    cost = 81
    instruction = "CHECK_SET_LAYOUT"

    @classmethod
    def of(cls, source: Source, value: set[Any] | frozenset[Any]) -> SetLayoutGuard:
        layout = layout_of(value)
        if len(set(layout[4::2])) < len(set_elements(value)):
            raise GuardError(f"{source.text} has elements of the same hash")
        return cls((source,), layout)

    def holds_for(self, value: Any) -> bool:
        return bool(_is_set(value) and layout_of(value) == self.payload)

    def operands(self) -> tuple[int, ...]:
        return tuple(self.payload)

    @property
    def text(self) -> str:
        return f"{self.source.text} gives its elements in the same order"
