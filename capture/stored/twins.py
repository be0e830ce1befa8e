"""Twins that earlier runs of the program have made: the code that can leave its loops.

In:  a code object with loops (`capture.bytecode.turns`).
Out: `Twins.plan_of(code)`: its `Plan`, from the file of the program, or made now. `Twins.write()` adds what
     was made to the file, when the process ends.

    def train(): ...    ->    {"5e1c...": {"loops": [[12, true, 1, -1, 40]], "code": {"co_code": ...}, ...}}

The first plan of a process takes 8 ms, since it imports the assembler, and each other one 1 to 2. From the
file it takes 0.2 ms. The code is executed, as that of stored entries is: docs/trust.md.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

from capture.backends.llvm import kernel_store
from capture.bytecode.turns import Loop, Plan, Question, continued, plan_of
from capture.report import log
from capture.stored.codes import FIELDS, OWN_FIELDS
from capture.stored.digest import code_digest, digest
from capture.stored.store import program_file, store_of
from codegen.stored.state import versions
from guards.plain_values import NotPlain, Plain, plain, real

if TYPE_CHECKING:
    from capture.policy.settings import CaptureSettings

KIND = "twins"
SCHEMA = 1
MOST = 512  # plans in one file; the oldest goes first
_DAMAGES = (ValueError, RecursionError, AttributeError, TypeError, KeyError, IndexError, OverflowError)
_FIELDS = tuple(name for name in FIELDS if name not in OWN_FIELDS)


class Twins:
    """The plans of the program. Its file is read when the first one is asked for."""

    def __init__(self, settings: CaptureSettings) -> None:
        self._settings = settings
        self._program = program_file()  # Python forgets the file of a script before the process ends
        self._plans: dict[str, Plain] | None = None
        self._made: dict[str, Plain] = {}

    def plan_of(self, code: CodeType) -> Plan | None:
        """As `capture.bytecode.turns.plan_of`."""
        try:
            key = _key(code) if store_of(self._settings) is not None else None
        except NotPlain:
            key = None
        if key is None:
            return plan_of(code)
        if self._plans is None:
            self._plans = self._read()
        if key in self._plans:
            try:
                return _plan_from(self._plans[key], code)
            except _DAMAGES as damage:
                _report(damage)
        plan = plan_of(code)
        self._plans[key] = self._made[key] = _data_of(plan, code)
        return plan

    def write(self) -> None:
        """Other processes may have written theirs."""
        store = store_of(self._settings)
        if store is not None and self._made:
            plans = {**self._read(), **self._made}
            store.put(self._parts(), json.dumps(dict([*plans.items()][-MOST:])).encode(), KIND)
            self._made = {}

    def _parts(self) -> tuple[str, ...]:
        return (KIND, str(SCHEMA), self._program, versions(kernel_store()))

    def _read(self) -> dict[str, Plain]:
        store = store_of(self._settings)
        data = None if store is None else store.get(self._parts(), KIND)
        try:
            content = {} if data is None else json.loads(data)
            if type(content) is not dict:
                raise TypeError("they are no dict")
            return content
        except _DAMAGES as damage:
            _report(damage)
            return {}


def _report(damage: Exception) -> None:
    text = "what earlier runs made of this program's loops is not used: %s: %s"
    log.get("cache").logger.warning(text, type(damage).__name__, damage)


def _key(code: CodeType) -> str:
    """Of what a twin has of its original, but for the constants themselves."""
    return digest(code_digest(code), code.co_firstlineno, code.co_linetable)


# --- a plan as data ---------------------------------------------------------------------------------------


class _NoObjects:
    """A plan names no objects."""

    addresses: Mapping[int, Any] = types.MappingProxyType({})
    unread: tuple[str, ...] = ()

    def number_of(self, value: Any) -> int:
        raise TypeError(f"a plan has no {type(value).__name__}")

    number_in_guard = number_of_key = __getitem__ = number_of


_NOTHING: Any = _NoObjects()


def _data_of(plan: Plan | None, code: CodeType) -> Plain:
    if plan is None:
        return None
    return {
        "loops": [list(loop) for loop in plan.loops],
        "code": {name: plain(getattr(plan.code, name), _NOTHING) for name in _FIELDS},
        "constants": [_constant(value, code) for value in plan.code.co_consts],
    }


def _constant(value: Any, code: CodeType) -> Plain:
    if type(value) is Question:
        return ["question", value.number]
    if value is continued:
        return ["continued"]
    own = next((place for place, const in enumerate(code.co_consts) if const is value), None)
    return ["number", int(value)] if own is None else ["own", own]


_READ: dict[str, Any] = {
    "question": lambda code, number: Question(number),
    "continued": lambda code: continued,
    "number": lambda code, number: int(number),
    "own": lambda code, place: code.co_consts[place],
}


def _plan_from(data: Plain, code: CodeType) -> Plan | None:
    if data is None:
        return None
    fields = {name: real(data["code"][name], _NOTHING) for name in _FIELDS}
    fields["co_filename"] = code.co_filename
    fields["co_consts"] = tuple(_READ[word](code, *rest) for word, *rest in data["constants"])
    loops = tuple(Loop(*loop) for loop in data["loops"])
    return Plan(loops, CodeType(*[fields[name] for name in FIELDS]))
