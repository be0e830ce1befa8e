"""Exceptions of the user's program as values, and raising them symbolically."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.break_reasons import GraphBreak
from capture.variables.base import ObservedException, Variable

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source


class ExceptionVariable(Variable):
    """An instance of an exception class: made by the frame (`value` None) or raised by Python on constants (`value` set).

    `cause`, `context` and `suppress_context` are as the attributes of the same names with underscores.
    """

    def __init__(self, cls: type, args: list[Variable], source: Source | None = None) -> None:
        super().__init__(source)
        self.cls = cls
        self.args = args
        self.cause: Variable | None = None
        self.context: Variable | None = None
        self.suppress_context = False
        self.attributes: dict[str, Variable] = {}

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"{self.cls.__name__}({', '.join(a.describe() for a in self.args)})"

    def truth(self, tx: Translator) -> bool:
        return True

    def get_attr(self, tx: Translator, name: str) -> Variable:
        from capture.variables.constant import ConstantVariable
        from capture.variables.sequence import TupleVariable

        if name in self.attributes:
            return self.attributes[name]
        if name == "args":
            return TupleVariable(list(self.args))
        if name == "__class__":
            from capture.wrap import wrap_class

            return wrap_class(tx.output, self.cls)
        if name in ("__cause__", "__context__"):
            held = self.cause if name == "__cause__" else self.context
            return held if held is not None else ConstantVariable(None)
        if name == "__suppress_context__":
            return ConstantVariable(self.suppress_context)
        if name == "value" and issubclass(self.cls, StopIteration):
            return self.args[0] if self.args else ConstantVariable(None)
        raise GraphBreak("get_attr", value=self, name=name)

    def set_attr(self, tx: Translator, name: str, value: Variable) -> None:
        if name == "__cause__":
            self.cause, self.suppress_context = value, True
        elif name == "__context__":
            self.context = value
        elif name == "__suppress_context__":
            self.suppress_context = value.truth(tx)
        elif name.startswith("__"):
            raise GraphBreak("set_attr", value=self, name=name)
        else:
            self.attributes[name] = value

    def call_method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "with_traceback" and len(args) == 1:
            return self
        return super().call_method(tx, name, args, kwargs)

    def text(self, tx: Translator) -> str:
        """`str(exception)`, for exceptions with constant arguments and no `__str__` of their own in Python."""
        from capture.variables.base import NotConstant

        if self.cls.__str__ not in (BaseException.__str__, KeyError.__str__):
            raise GraphBreak("builtin", name="str", value=self)
        try:
            return str(self.cls(*[a.as_constant() for a in self.args]))
        except NotConstant:
            raise GraphBreak("builtin", name="str", value=self) from None

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(self.cls, self.args)
        for name, value in self.attributes.items():
            code.emit("COPY", 1)
            code.load_swapped(value)
            code.emit("STORE_ATTR", name)
        if self.cause is not None:
            code.emit("COPY", 1)
            code.load_swapped(self.cause)
            code.emit("STORE_ATTR", "__cause__")

    def children(self) -> list[Variable]:
        extra = [v for v in (self.cause, self.context) if v is not None]
        return [*self.args, *self.attributes.values(), *extra]


def raise_python(error: BaseException) -> ObservedException:
    """The program's exception for one that Python raised on constants at translation time."""
    from capture.variables.constant import ConstantVariable, is_literal

    args: list[Variable] = []
    for value in error.args:
        args.append(ConstantVariable(value if is_literal(value) else str(value)))
    return ObservedException(ExceptionVariable(type(error), args))


def raise_new(cls: type[BaseException], *args: Any) -> ObservedException:
    """`raise cls(*args)` of the program, for constant args."""
    return raise_python(cls(*args))
