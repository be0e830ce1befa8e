"""`obj.__dict__` of an instance.

In:  the variable of the instance.
Out: its attributes as a dict, which always shows the stores of the frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.mapping import DictVariable
from capture.variables.core.base import Deleted, LazyVariable, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from guards.kinds.containers import DictKeysGuard
from guards.lookup import instance_dict
from guards.sources import DictSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from capture.variables.objects.user_object import ObjectVariable


class InstanceDictVariable(DictVariable):
    """Each use makes `entries` anew from the object and its pending stores."""

    hashes_items = False

    def __init__(self, owner: ObjectVariable) -> None:
        self.owner = owner
        source = DictSource(owner.source) if owner.source is not None else None
        super().__init__(None, source, cls=dict)

    @property
    def entries(self) -> dict[Any, tuple[Variable, Variable]]:
        owner = self.owner
        names: dict[str, Variable | None] = dict.fromkeys(
            instance_dict(owner.value) or () if owner.value is not None else ()
        )
        for name, stored in owner.attributes.items():
            if owner.output is not None and owner.output.side_effects.is_set_anew(owner, name):
                names.pop(name, None)
            names[name] = stored
        entries: dict[Any, tuple[Variable, Variable]] = {}
        for name, pending in names.items():
            if isinstance(pending, Deleted):
                continue
            entries[name] = (ConstantVariable(name), pending if pending is not None else self._existing(name))
        return entries

    @entries.setter
    def entries(self, value: Any) -> None:
        """Keeps nothing. The base class sets it once."""

    def _existing(self, name: str) -> Variable:
        owner = self.owner
        assert owner.source is not None and owner.output is not None
        source = owner.attribute_source(name)
        assert source is not None
        return LazyVariable(owner.output, (instance_dict(owner.value) or {})[name], source)

    def keys_version(self) -> Any:
        return list(self.entries)

    def values_version(self) -> Any:
        """A new object for each call, because nothing counts the stores: each use reads them anew."""
        return object()

    def replay_stops_iterators(self, output: Output) -> bool:
        owner = self.owner
        real = instance_dict(owner.value) if owner.value is not None else None
        anew = any(output.side_effects.is_set_anew(owner, name) for name in owner.attributes)
        return anew or list(real or ()) != list(self.entries)

    def guard_order(self, output: Output) -> None:
        owner = self.owner
        if owner.value is not None and owner.source is not None:
            output.guards.add(DictKeysGuard.of(DictSource(owner.source), instance_dict(owner.value) or {}))

    def find(self, tx: Interpreter, key: Variable) -> Variable | None:
        name = key.as_constant()
        return self.owner.instance_attribute(tx, name) if isinstance(name, str) else None

    def unpack(self, tx: Interpreter) -> list[Variable]:
        self.guard_keys(tx.output)
        return [k for k, _ in self.entries.values()]

    def values(self, tx: Interpreter) -> list[Variable]:
        self.guard_keys(tx.output)
        return [v.realize() if isinstance(v, LazyVariable) else v for _, v in self.entries.values()]

    def set_item(self, tx: Interpreter, key: Variable, value: Variable) -> None:
        if not isinstance(key.as_constant(), str):
            raise GraphBreak("set_attr", value=self.owner, name=repr(key.as_constant()))
        tx.output.side_effects.store_attr(self.owner, key.as_constant(), value)

    def del_item(self, tx: Interpreter, key: Variable) -> Variable:
        value = self.find(tx, key)
        if value is None:
            raise raise_new(KeyError, key.as_constant())
        tx.output.side_effects.delete_attr(self.owner, key.as_constant())
        return value

    def clear(self, tx: Interpreter) -> None:
        for key in self.unpack(tx):
            self.del_item(tx, key)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.load_attribute("__dict__")

    def children(self) -> list[Variable]:
        return [self.owner]
