"""Functions written in Python, their cells, and bound methods.

In:  a function that exists, or one that the frame makes.
Out: variables that know its code, globals, defaults and cells. A call is inlined.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from capture.hooks.dispatcher import own_code
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function_dict import FunctionDictVariable
from capture.variables.callables.value_method import ValueMethod
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import ConstantVariable, raise_type_error
from capture.variables.core.exception import raise_new
from capture.variables.core.makers import makes
from capture.variables.core.wrap import wrap, wrap_class
from guards.kinds.attributes import NoAttributeGuard
from guards.sources import (
    FUNCTION_FIELDS,
    AttrSource,
    CellContentsSource,
    CellSource,
    ConstantSource,
    DictItemSource,
    DictSource,
    FreeCellSource,
    FunctionFieldSource,
    ItemSource,
)

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

FUNCTION_NAMES = ("__name__", "__qualname__", "__doc__", "__module__")


@makes(types.CellType)
class CellVariable(Variable):
    """A closure cell. It is empty if `contents` is None."""

    mutable = True

    def __init__(self, contents: Variable | None = None, source: Source | None = None) -> None:
        super().__init__(source)
        self.contents = contents

    def python_type(self) -> type:
        return types.CellType

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "cell_contents":
            return tx.read_cell(self, name)
        return super().get_attr(tx, name)

    def stored_items(self, before: Any) -> dict[str, Variable]:
        if self.contents is None or self.source is None:
            return {}
        if isinstance(self.source, FreeCellSource):
            return {CellSource(self.source.name).text: self.contents}
        return {CellContentsSource(self.source).text: self.contents}

    def replay_change(self, code: PythonCode, before: Any) -> None:
        if self.contents is None:
            code.load(self)
            code.delete_attribute("cell_contents")
        else:
            code.load(self.contents)
            code.load(self)
            code.store_attribute("cell_contents")

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(types.CellType, [])

    def children(self) -> list[Variable]:
        return [self.contents] if self.contents is not None else []


class FunctionVariable(Variable):
    """Base of functions written in Python."""

    def python_type(self) -> type:
        return types.FunctionType

    def truth(self, tx: Interpreter) -> bool:
        return True

    def code_object(self) -> types.CodeType:
        raise NotImplementedError

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return tx.call_function(self, args, kwargs)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "__get__" and args:
            if not args[0].is_exactly(None):
                return BoundMethodVariable(self, args[0])
            if len(args) == 1 or args[1].is_exactly(None):
                raise_type_error("__get__(None, None) is invalid")
            return self
        if name == "__call__":
            return self.call(tx, args, kwargs)
        return super().call_method(tx, name, args, kwargs)


class UserFunctionVariable(FunctionVariable):
    """An existing function."""

    def __init__(self, function: types.FunctionType, source: Source | None) -> None:
        super().__init__(source)
        self.function = function

    def describe(self) -> str:
        return f"function {self.function.__module__}.{self.function.__qualname__}"

    def real_value(self) -> Any:
        return self.function

    def code_object(self) -> types.CodeType:
        return own_code(self.function.__code__)

    def as_proxy(self) -> Any:
        return self.function

    def cells(self, output: Output) -> list[CellVariable]:
        """The cells of its closure, one variable for each existing cell."""
        cells = []
        for index, cell in enumerate(self.function.__closure__ or ()):
            source: Source = ConstantSource(cell)
            if self.source is not None:
                source = ItemSource(FunctionFieldSource(self.source, "__closure__"), index)
            known = output.objects.known(cell)
            if known is None:
                try:
                    contents: Variable | None = LazyVariable(
                        output, cell.cell_contents, CellContentsSource(source)
                    )
                except ValueError:
                    contents = None
                known = CellVariable(contents, source)
                output.objects.remember(cell, known)
            assert isinstance(known, CellVariable)
            cells.append(known)
        return cells

    def closure_value(self, tx: Interpreter, name: str) -> Variable:
        cell = self.cells(tx.output)[self.function.__code__.co_freevars.index(name)]
        return tx.read_cell(cell, name)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in FUNCTION_FIELDS and (self.source or name in FUNCTION_NAMES):
            if self.source is None:
                return wrap(tx.output, getattr(self.function, name), None)
            return wrap(tx.output, getattr(self.function, name), FunctionFieldSource(self.source, name))
        changed = tx.output.objects.pending_item(self.function.__dict__, name)
        if changed is not None:
            return changed
        if name in self.function.__dict__:
            if self.source is None:
                return wrap(tx.output, self.function.__dict__[name], None)
            return wrap(
                tx.output, self.function.__dict__[name], DictItemSource(DictSource(self.source), name)
            )
        if name in ("__get__", "__call__"):
            return ValueMethod(self, name)
        if name == "__class__":
            return wrap_class(tx.output, types.FunctionType)
        if name == "__annotations__":
            place = FunctionFieldSource(ConstantSource(self.function), name)
            return wrap(tx.output, self.function.__annotations__, place)
        if name == "__dict__":
            return wrap(tx.output, self.function.__dict__, DictSource(self.source) if self.source else None)
        if not hasattr(self.function, name):
            if self.source is not None:
                tx.output.guards.add(NoAttributeGuard.of(self.source, name))
            raise raise_new(AttributeError, f"'function' object has no attribute '{name}'")
        return wrap(
            tx.output, getattr(self.function, name), AttrSource(self.source, name) if self.source else None
        )

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.function)


class NestedFunctionVariable(FunctionVariable):
    """A function made by the frame.

    It has its code, the globals of the function that makes it, and variables for defaults and cells.
    """

    mutable = True  # two runs of one `def` make two objects

    def __init__(
        self,
        code: types.CodeType,
        scope: Any,
        defaults: list[Variable],
        keyword_defaults: dict[str, Variable],
        closure: list[CellVariable],
        annotations: Variable | None,
    ) -> None:
        super().__init__(None)
        self.code = code
        self.scope = scope
        self.defaults = defaults
        self._keyword_defaults = keyword_defaults
        self._keyword_dict: Any = None  # the dict of `__kwdefaults__`, after the program has read it
        self.closure = closure
        self.annotations = annotations
        self.attributes: dict[str, Variable] = {}

    def describe(self) -> str:
        return f"function {self.code.co_qualname}"

    def code_object(self) -> types.CodeType:
        return self.code

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in self.attributes:
            return self.attributes[name]
        if name == "__dict__":
            return FunctionDictVariable(self)
        constants = {
            "__name__": self.code.co_name,
            "__qualname__": self.code.co_qualname,
            "__module__": self.scope.globals.get("__name__"),
            "__doc__": self.code.co_consts[0]
            if self.code.co_consts and isinstance(self.code.co_consts[0], str)
            else None,
        }
        if name in constants:
            return ConstantVariable(constants[name])
        if name == "__defaults__":
            return TupleVariable(list(self.defaults)) if self.defaults else ConstantVariable(None)
        if name == "__kwdefaults__":
            return self.keyword_dict()
        if name == "__closure__":
            return TupleVariable(list(self.closure)) if self.closure else ConstantVariable(None)
        if name == "__code__":
            return tx.wrap(self.code, ConstantSource(self.code))
        if name in ("__get__", "__call__"):
            return ValueMethod(self, name)
        if name == "__annotations__":
            return self.annotations_dict()
        if lookup_type(types.FunctionType, name) is MISSING:
            raise raise_new(AttributeError, f"'function' object has no attribute '{name}'")
        raise GraphBreak("get_attr", value=self, name=name)

    def annotations_dict(self) -> Variable:
        """The dict of annotations. The first read makes it."""
        if self.annotations is None:
            self.annotations = DictVariable()
        return self.annotations

    @property
    def keyword_defaults(self) -> dict[str, Variable]:
        if self._keyword_dict is None:
            return self._keyword_defaults
        return {key: value for key, (_, value) in self._keyword_dict.entries.items()}

    def keyword_dict(self) -> Variable:
        if not self.keyword_defaults:
            return ConstantVariable(None)
        if self._keyword_dict is None:
            self._keyword_dict = DictVariable.from_strings(self._keyword_defaults)
        return self._keyword_dict

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        if name in ("__code__", "__kwdefaults__", "__globals__", "__closure__"):
            raise GraphBreak("set_attr", value=self, name=name)
        if name == "__defaults__":
            self._set_defaults(tx, value)
        else:
            self.attributes[name] = value

    def _set_defaults(self, tx: Interpreter, value: Variable) -> None:
        if not value.is_exactly(None) and value.python_type() is not tuple:
            raise raise_new(TypeError, "__defaults__ must be set to a tuple object")
        self.defaults = [] if value.is_exactly(None) else value.unpack(tx)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_callable(types.FunctionType)
        code.load_constant(self.code)
        code.load_globals(self.scope.globals)
        code.load_constant(self.code.co_name)
        code.load(TupleVariable(list(self.defaults)) if self.defaults else ConstantVariable(None))
        if self.closure:
            code.load(TupleVariable(list(self.closure)))
        else:
            code.load_constant(None)
        code.call(5)
        code.copy()
        code.load_constant(self.code.co_qualname)
        code.swap()
        code.store_attribute("__qualname__")
        extra: dict[str, Variable] = {}
        if self.keyword_defaults:
            extra["__kwdefaults__"] = self.keyword_dict()
        if self.annotations is not None:
            extra["__annotations__"] = self.annotations
        extra.update(self.attributes)  # an attribute that the program set later wins
        for name, value in extra.items():
            code.copy()
            code.load_swapped(value)
            code.store_attribute(name)

    def children(self) -> list[Variable]:
        held = [*self.defaults, *self.keyword_defaults.values(), *self.closure, *self.attributes.values()]
        return held if self.annotations is None else [*held, self.annotations]


@makes(types.MethodType)
class BoundMethodVariable(Variable):
    """`function` bound to `owner`."""

    def __init__(self, function: Variable, owner: Variable, source: Source | None = None) -> None:
        super().__init__(source)
        self.function = function
        self.owner = owner

    def python_type(self) -> type:
        return types.MethodType

    def describe(self) -> str:
        return f"method {self.function.describe()}"

    def real_value(self) -> Any:
        return types.MethodType(self.function.real_value(), self.owner.real_value())

    def truth(self, tx: Interpreter) -> bool:
        return True

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        fields = {"__self__": self.owner, "__func__": self.function}
        return fields[name] if name in fields else self.function.get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.function.call(tx, [self.owner, *args], kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(types.MethodType, [self.function, self.owner])

    def children(self) -> list[Variable]:
        return [self.function, self.owner]
