"""`functools.partial`: a function with some of its arguments.

In:  a call of `functools.partial`, or an existing partial.
Out: a variable. A call of it calls the function with all arguments.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import SequenceVariable, TupleVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.exception import raise_new
from capture.variables.core.wrap import guard_type, wrap, wraps
from guards.sources import AttrSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source


class PartialVariable(Variable):
    """functools.partial(function, *args, **kwargs)."""

    def __init__(
        self,
        function: Variable,
        args: list[Variable],
        kwargs: dict[str, Variable],
        source: Source | None = None,
    ) -> None:
        super().__init__(source)
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.attributes: dict[str, Variable] = {}
        #: Of an existing partial: `func`, `args` and `keywords`, which are always the same objects.
        self.fields: dict[str, Variable] = {}

    def python_type(self) -> type:
        return functools.partial

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        if self.source is not None or hasattr(functools.partial, name):
            raise GraphBreak("set_attr", value=self, name=name)
        self.attributes[name] = value

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in self.attributes:
            return self.attributes[name]
        if name in self.fields:
            return self.fields[name]
        if self.fields:  # an existing partial may have its own attributes
            return super().get_attr(tx, name)
        if name == "func":
            return self.function
        if name == "args":
            return TupleVariable(list(self.args))
        if name == "keywords":
            return DictVariable.from_strings(self.kwargs)
        if not hasattr(functools.partial, name):
            raise raise_new(AttributeError, f"'functools.partial' object has no attribute '{name}'")
        return super().get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        own = self.kwargs
        if self.fields:  # the frame may have changed the dict
            keywords: Any = self.fields["keywords"]
            own = {key.as_constant(): keywords.get_item(tx, key) for key in keywords.unpack(tx)}
        return self.function.call(tx, [*self.args, *args], {**own, **kwargs})

    def reconstruct(self, code: PythonCode) -> None:
        code.load_callable(functools.partial)
        for value in (self.function, *self.args, *self.kwargs.values()):
            code.load(value)
        code.call(1 + len(self.args) + len(self.kwargs), tuple(self.kwargs))
        for name, held in self.attributes.items():
            code.copy()
            code.load_swapped(held)
            code.store_attribute(name)

    def children(self) -> list[Variable]:
        return [self.function, *self.args, *self.kwargs.values(), *self.attributes.values()]


@wraps(functools.partial)
def wrap_partial(output: Output, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    parts = {
        name: wrap(output, getattr(value, name), AttrSource(source, name) if source else None)
        for name in ("func", "args", "keywords")
    }
    function, positional, keywords = parts.values()
    assert isinstance(positional, SequenceVariable)
    assert isinstance(keywords, DictVariable)
    keywords.guard_keys(output)
    kwargs = {name: realize(held) for name, (_, held) in keywords.entries.items()}
    made = PartialVariable(function, positional.realized_items(), kwargs, source)
    made.fields = parts
    return made
