"""Guards of attributes and functions: which names exist, and what a function is made of.

In:  a place, the object found there, and a name.
Out: `NoAttributeGuard`, `HasAttributeGuard`, `ClassLacksGuard`, `FunctionGuard`, and `module_guards`.

    NoAttributeGuard.of(LocalSource("x"), "a")   ->   'a' not in x.__dict__
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import torch

from guards.encoder import Encoder
from guards.guard import Guard, GuardError, PlaceGuard
from guards.kinds.constants import ConstantGuard
from guards.kinds.containers import LengthGuard
from guards.kinds.identity import ExactTypeGuard, IdentityGuard
from guards.lookup import (
    Undecided,
    dict_items,
    function_field,
    has_attribute,
    instance_dict,
    isinstance_raw,
    safe_repr,
    type_lookup,
)
from guards.sources import FUNCTION_FIELDS, AttrSource, DictValueSource, Source
from guards.values import SINGLE_REFS, ObjectRef


class ClassLacksGuard(PlaceGuard):
    """The value is a class, and neither it nor a base has the name. (Names of the metaclass do not count.)"""

    cost = 49
    instruction = "CHECK_CLASS_LACKS"

    @classmethod
    def of(cls, source: Source, name: str) -> ClassLacksGuard:
        return cls((source,), name)

    def holds_for(self, value: Any) -> bool:
        return isinstance_raw(value, type) and type_lookup(value, self.payload, self) is self

    def operands(self) -> list[str]:
        return [sys.intern(self.payload)]

    @property
    def text(self) -> str:
        return f"no {self.payload!r} in {self.source.text} and its bases"

    def found_text(self, value: Any) -> str:
        return f"{self.payload!r} is there"


class NoAttributeGuard(PlaceGuard):
    """The instance `__dict__` lacks the name, so that the attribute of the class counts."""

    cost = 50
    instruction = "CHECK_NO_ATTRIBUTE"

    @classmethod
    def of(cls, source: Source, name: str) -> NoAttributeGuard:
        return cls((source,), name)

    def holds_for(self, value: Any) -> bool:
        return self.payload not in (instance_dict(value) or {})

    def operands(self) -> list[str]:
        return [sys.intern(self.payload)]

    @property
    def text(self) -> str:
        return f"{self.payload!r} not in {self.source.text}.__dict__"

    def found_text(self, value: Any) -> str:
        return f"{self.payload!r} is in its __dict__"


class HasAttributeGuard(PlaceGuard):
    """A raw look-up of the name, as `AttrSource` does it, still finds something or still finds nothing.

    `of` raises Undecided where only user code can tell.
    """

    cost = 51
    instruction = "CHECK_HAS_ATTRIBUTE"

    @classmethod
    def of(cls, source: Source, value: Any, name: str) -> HasAttributeGuard:
        return cls((source,), (name, has_attribute(value, name)))

    def holds_for(self, value: Any) -> bool:
        name, present = self.payload
        return bool(has_attribute(value, name) == present)

    def operands(self) -> tuple[str, bool]:
        name, present = self.payload
        return sys.intern(name), present

    @property
    def text(self) -> str:
        name, present = self.payload
        return f"hasattr({self.source.text}, {name!r}) is {present}"

    def found_text(self, value: Any) -> str:
        try:
            return f"hasattr is {has_attribute(value, self.payload[0])}"
        except Undecided as unknown:
            return str(unknown)


# --- functions --------------------------------------------------------------------------------------------


class FunctionGuard(PlaceGuard):
    """A plain function with the same code, the same objects as defaults and the same cells.

    `defaults` and `closure` are left out where their parts are guarded one by one (`FunctionFieldSource`,
    `CellContentsSource`). The payload: code; defaults, None where they are left out; keyword defaults, False
    where they are left out; cells, False where they are left out.
    """

    cost = 31

    @classmethod
    def of(
        cls, source: Source, fn: FunctionType, *, defaults: bool = True, closure: bool = True
    ) -> FunctionGuard:
        if not isinstance_raw(fn, FunctionType):
            raise GuardError(f"{source.text} is not a plain function: {safe_repr(fn)}")
        keyword = fn.__kwdefaults__
        names = None if keyword is None else tuple((k, ObjectRef(v)) for k, v in keyword.items())
        payload = (
            ObjectRef(fn.__code__),
            ObjectRef(fn.__defaults__) if defaults else None,
            names if defaults else False,
            tuple(map(ObjectRef, fn.__closure__ or ())) if closure else False,
        )
        return cls((source,), payload)

    def holds_for(self, value: Any) -> bool:
        code, defaults, kwdefaults, cells = self.payload
        return (
            code.is_same(function_field(value, "__code__"))
            and (defaults is None or defaults.is_same(value.__defaults__))
            and (kwdefaults is False or _same_keyword_defaults(kwdefaults, value.__kwdefaults__))
            and (cells is False or _same_cells(cells, value.__closure__ or ()))
        )

    def encode(self, encoder: Encoder) -> None:
        code, defaults, kwdefaults, cells = self.payload
        function = encoder.register_of(self.source)
        encoder.emit("CHECK_FUNCTION", b=function)
        _check_id(encoder, _load_field(encoder, function, "__code__"), code)
        if defaults is not None:
            _check_id(encoder, _load_field(encoder, function, "__defaults__"), defaults)
        if kwdefaults is not False:
            _check_keyword_defaults(encoder, _load_field(encoder, function, "__kwdefaults__"), kwdefaults)
        if cells is not False:
            _check_cells(encoder, _load_field(encoder, function, "__closure__"), cells)

    @property
    def text(self) -> str:
        return f"{self.source.text}.__code__ is {self.payload[0].text}"

    def found_text(self, value: Any) -> str:
        return f"{safe_repr(value)} (code, defaults or closure differ)"


KeywordDefaults = tuple[tuple[str, ObjectRef], ...] | None


def _same_keyword_defaults(expected: KeywordDefaults, now: dict[str, Any] | None) -> bool:
    if expected is None or now is None:
        return expected is now
    return tuple(now) == tuple(name for name, _ in expected) and all(
        ref.is_same(now[name]) for name, ref in expected
    )


def _same_cells(expected: tuple[ObjectRef, ...], now: tuple[Any, ...]) -> bool:
    return len(expected) == len(now) and all(ref.is_same(cell) for ref, cell in zip(expected, now))


def _load_field(encoder: Encoder, function: int, field: str) -> int:
    return encoder.load("LOAD_FUNCTION_FIELD", function, [FUNCTION_FIELDS.index(field)])


def _check_id(encoder: Encoder, register: int, expected: ObjectRef) -> None:
    encoder.emit("CHECK_ID", b=register, operands=[expected])


def _check_keyword_defaults(encoder: Encoder, mapping: int, expected: KeywordDefaults) -> None:
    if expected is None:
        encoder.emit("CHECK_ID", b=mapping, operands=[SINGLE_REFS[None]])
        return
    encoder.emit("CHECK_DICT_KEYS", b=mapping, operands=[name for name, _ in expected])
    for name, ref in expected:
        _check_id(encoder, encoder.load("LOAD_DICT_ITEM", mapping, [name]), ref)


def _check_cells(encoder: Encoder, closure: int, expected: tuple[ObjectRef, ...]) -> None:
    if not expected:
        encoder.emit("CHECK_ID", b=closure, operands=[SINGLE_REFS[None]])
        return
    encoder.emit("CHECK_LENGTH", b=closure, operands=[len(expected)])
    for position, ref in enumerate(expected):
        _check_id(encoder, encoder.load("LOAD_ITEM", closure, [position]), ref)


# --- modules ----------------------------------------------------------------------------------------------

MODULE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def module_guards(source: Source, module: torch.nn.Module) -> list[Guard]:
    """An nn.Module has the same type, training flag and hooks. Guard the attributes in use one by one."""
    namespace = instance_dict(module) or {}
    guards: list[Guard] = [ExactTypeGuard.of(source, module)]
    if "training" in namespace:
        guards.append(ConstantGuard.of(AttrSource(source, "training"), namespace["training"]))
    for name in MODULE_HOOKS:
        hooks = namespace.get(name)
        if hooks is None:
            continue
        table = AttrSource(source, name)
        guards.append(LengthGuard.of(table, hooks))
        guards += [
            IdentityGuard.of(DictValueSource(table, position), hook)
            for position, (_, hook) in enumerate(dict_items(hooks))
        ]
    return guards
