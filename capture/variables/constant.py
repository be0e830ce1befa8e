"""Values that are known at translation time and compared by a guard: numbers, strings, None, dtypes, devices, enum members, ...

Operations on them are carried out by Python itself, at translation time.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch

from capture.break_reasons import GraphBreak
from capture.variables.base import NotConstant, ObservedException, Variable

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source

LITERALS: tuple[type, ...] = (
    int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented),
)  # fmt: skip
TORCH_CONSTANTS: tuple[type, ...] = (torch.dtype, torch.device, torch.layout, torch.memory_format)

NUMPY_CONSTANTS: tuple[type, ...] = (np.dtype, np.generic)


def is_literal(value: Any) -> bool:
    return type(value) in LITERALS or type(value) in TORCH_CONSTANTS or isinstance(value, enum.Enum)


class ConstantVariable(Variable):
    """One literal; immutable. Identity is not kept beyond what the language gives (small ints, None, enum members)."""

    def __init__(self, value: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def as_constant(self) -> Any:
        return self.value

    def is_exactly(self, value: Any) -> bool:
        return self.value is value

    def describe(self) -> str:
        return repr(self.value)

    def truth(self, tx: Translator) -> bool:
        return bool(self.value)

    def get_attr(self, tx: Translator, name: str) -> Variable:
        from capture.wrap import constant, wrap_class

        if name == "__class__":
            return wrap_class(tx.output, self.python_type())
        try:
            value = getattr(self.value, name)
        except AttributeError as error:
            from capture.variables.exception import raise_python

            raise raise_python(error) from None
        if is_literal(value) or isinstance(value, tuple):
            return constant(value)
        if callable(value):
            return ConstantMethod(self, name)
        raise GraphBreak("get_attr", value=self, name=name)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "join" and isinstance(self.value, (str, bytes)) and len(args) == 1:
            from capture.variables.sequence import TupleVariable

            return fold(getattr(self.value, name), [TupleVariable(args[0].iterate(tx).unpack(tx))], {})
        if name == "format" and isinstance(self.value, str):
            from capture.variables.strings import format_template

            return format_template(tx, self.value, args, kwargs)
        if name == "__iter__" and not args:
            return self.iterate(tx)
        if not hasattr(self.value, name):
            return self.get_attr(tx, name)
        return fold(getattr(self.value, name), args, kwargs)

    def unpack(self, tx: Translator) -> list[Variable]:
        if isinstance(self.value, (str, bytes)):
            return [ConstantVariable(item) for item in self.value]
        return raise_type_error(f"'{type(self.value).__name__}' object is not iterable")

    def reconstruct(self, code: PythonCode) -> None:
        code.load_constant(self.value)


NONE = ConstantVariable(None)
FALSE = ConstantVariable(False)


class ConstantMethod(Variable):
    """A bound method of a literal, such as `", ".join`."""

    def __init__(self, owner: ConstantVariable, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        return type(getattr(self.owner.value, self.name))

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.owner.call_method(tx, self.name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.emit("LOAD_ATTR", self.name)

    def children(self) -> list[Variable]:
        return [self.owner]


def raise_type_error(text: str) -> NoReturn:
    from capture.variables.exception import raise_python

    raise raise_python(TypeError(text))


def refusal(name: str, value: Variable) -> GraphBreak:
    """Why a call on a value that is no constant isn't captured: for the value's own reason, if it has one."""
    from capture.variables.opaque import OpaqueVariable

    return (
        value.breaks() if isinstance(value, OpaqueVariable) else GraphBreak("builtin", name=name, value=value)
    )


def fold(function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """Call `function` on constants now. An exception becomes the program's own; a non-constant argument breaks the graph."""
    from capture.variables.exception import raise_python
    from capture.variables.native_base import plain_argument
    from capture.wrap import constant

    try:
        values = [plain_argument(a).as_constant() for a in args]
        keywords = {k: plain_argument(v).as_constant() for k, v in kwargs.items()}
    except NotConstant as error:
        raise refusal(getattr(function, "__name__", repr(function)), error.args[0]) from None
    try:
        result = function(*values, **keywords)
    except ObservedException:
        raise
    except Exception as error:
        raise raise_python(error) from None
    return constant(result)
