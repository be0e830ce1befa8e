"""`threading.local()`: an object that has another `__dict__` on each thread.

In:  an existing object of exactly that class. (A subclass is left out, because its `__init__` runs on each
     thread that looks at the object.)
Out: its attributes. They are read from and stored to the dict of this thread. A guard finds the dict of the
     thread that runs the guard.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.mapping import DictVariable
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.wrap import guard_identity, wraps
from guards.sources import ConstantSource, Source, ThreadDictSource

if TYPE_CHECKING:
    from capture.variables.containers.mapping import DictVariable
    from capture.variables.core.protocols import Interpreter, Output


class ThreadLocalVariable(Variable):
    mutable = True  # compared by identity

    def __init__(self, value: threading.local, source: Source) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return threading.local

    def real_value(self) -> Any:
        return self.value

    def truth(self, tx: Interpreter) -> bool:
        return True

    def _namespace(self, tx: Interpreter) -> DictVariable:
        namespace = tx.wrap(vars(self.value), ThreadDictSource(self.value))
        assert isinstance(namespace, DictVariable)
        return namespace

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "__dict__":
            return self._namespace(tx)
        if lookup_type(threading.local, name) is not MISSING:
            raise GraphBreak("get_attr", value=self, name=name)
        found = self._namespace(tx).find_named(tx, name)
        if found is None:
            raise raise_new(AttributeError, f"'_thread._local' object has no attribute '{name}'")
        return found

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        if lookup_type(threading.local, name) is not MISSING:
            raise GraphBreak("set_attr", value=self, name=name)
        self._namespace(tx).set_item(tx, ConstantVariable(name), value)

    def del_attr(self, tx: Interpreter, name: str) -> None:
        self.get_attr(tx, name)  # raises if there is no such attribute
        self._namespace(tx).del_item(tx, ConstantVariable(name))


@wraps(threading.local)
def wrap_thread_local(output: Output, value: threading.local, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    return ThreadLocalVariable(value, source or ConstantSource(value))
