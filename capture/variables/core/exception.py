"""Exceptions of the user's program: their variables, and how the interpreter raises them symbolically.

In:  an exception class and its arguments, or an exception that Python raised on constants.
Out: an `ExceptionVariable`; `raise_new` and `raise_python` make the `ObservedException` to raise.

Bytecode can't rebuild an exception that the captured frame raised, because the traceback would be lost. If
the exception must exist after a graph break, the graph breaks earlier, at the instruction `born` that raised
it, and Python raises it.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import NotConstant, ObservedException, Variable
from capture.variables.core.class_lookup import MISSING, bind, class_value, lookup_type
from capture.variables.core.makers import constant, make, makes
from capture.variables.core.wrap import class_constant, wrap_class

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


#: `__str__` methods whose text contains only the arguments
PLAIN_TEXTS = (
    BaseException.__str__,
    KeyError.__str__,
    ImportError.__str__,
    AttributeError.__str__,
    NameError.__str__,
)


class ExceptionVariable(Variable):
    """An exception that the frame makes, or that Python raised on constants.

    `cause`, `context` and `suppress_context` are the attributes `__cause__`, `__context__` and
    `__suppress_context__`.
    """

    def __init__(self, cls: type, args: list[Variable], source: Source | None = None) -> None:
        super().__init__(source)
        self.cls = cls
        self.args = args
        self.cause: Variable | None = None
        self.context: Variable | None = None
        self.suppress_context = False
        self.trace = object()  # a new object after each change of the traceback
        self.attributes: dict[str, Variable] = {}
        #: keyword arguments of the program's call of a class written in C; None: there was no such call
        self.keywords: dict[str, Variable] | None = None

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"{self.cls.__name__}({', '.join(a.describe() for a in self.args)})"

    def truth(self, tx: Interpreter) -> bool:
        if any(
            isinstance(getattr(self.cls, name, None), types.FunctionType) for name in ("__bool__", "__len__")
        ):
            raise GraphBreak("truth_value", value=self)
        return True

    # --- attributes ---

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in self.attributes:
            return self.attributes[name]
        reader = FIELDS.get(name)
        if reader is not None:
            return reader(self, tx)
        found = lookup_type(self.cls, name)
        if found is MISSING:
            if hasattr(self.cls, "__getattr__"):
                raise GraphBreak("get_attr", value=self, name=name)
            raise raise_new(AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        if name == "value" and issubclass(self.cls, StopIteration):
            return self.args[0] if self.args else _none()
        if isinstance(found, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            return self._native_field(name)
        return bind(tx, self, self.cls, found, name)

    def _native_field(self, name: str) -> Variable:
        """A field that the class written in C sets from its arguments, such as `error.errno`."""
        if self.keywords and name in self.keywords:
            return self.keywords[name]
        twin = self._twin()
        if twin is None:
            raise GraphBreak("get_attr", value=self, name=name)
        try:
            return constant(getattr(twin, name))
        except AttributeError as error:
            raise raise_new(AttributeError, *error.args) from None

    def _twin(self) -> BaseException | None:
        """A real exception with the same arguments, if they are constants."""
        if self.keywords is None:
            return None
        try:
            values = [arg.as_constant() for arg in self.args]
            named = {key: value.as_constant() for key, value in self.keywords.items()}
        except NotConstant:
            return None
        made = self.cls(*values, **named)
        assert isinstance(made, BaseException)
        return made

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        found = lookup_type(self.cls, name)
        if lookup_type(self.cls, "__setattr__") is not BaseException.__dict__["__setattr__"]:
            raise GraphBreak("set_attr", value=self, name=name)
        if isinstance(found, property) and found.fset is not None:
            class_value(tx, self, found.fset, name, "fset").call(tx, [self, value], {})
        elif name == "__cause__":
            self.cause, self.suppress_context = value, True
        elif name == "__context__":
            self.context = value
        elif name == "__suppress_context__":
            self.suppress_context = value.truth(tx)
        elif name == "__traceback__" and value.is_exactly(None):
            self.born = None  # without a traceback, bytecode can rebuild the exception
        elif name == "__traceback__" and isinstance(value, TracebackVariable) and value.exception is self:
            return  # the exception has this traceback already
        elif name == "args":
            self.args = value.unpack(tx)
        elif name.startswith("__") or hasattr(found, "__set__"):
            raise GraphBreak("set_attr", value=self, name=name)
        else:
            self.attributes[name] = value

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name in ("__str__", "__repr__") and not args:
            return constant(tx.to_text(self) if name == "__str__" else tx.to_repr(self))
        return super().call_method(tx, name, args, kwargs)

    def call_native(
        self, tx: Interpreter, descriptor: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        """Call a method written in C, even if the class overrides it."""
        handler = NATIVE_METHODS.get(descriptor.__name__)
        if handler is None:
            raise GraphBreak("method", name=descriptor.__qualname__, value=self)
        result: Variable = handler(self, tx, *args, **kwargs)
        return result

    # --- text ---

    def text(self, tx: Interpreter) -> str:
        """`str(exception)`."""
        own = self._written(tx, "__str__")
        return own if own is not None else self.native_text(tx)

    def native_text(self, tx: Interpreter) -> str:
        """The text from the `__str__` of the built-in class."""
        writer: Any = native_exception(self.cls).__str__
        if writer is KeyError.__str__ and len(self.args) == 1:
            return tx.to_repr(self.args[0])
        if writer in PLAIN_TEXTS:
            return (
                tx.to_text(self.args[0] if len(self.args) == 1 else make(tuple, self.args))
                if self.args
                else ""
            )
        twin = self._twin()
        if twin is None:
            raise GraphBreak("builtin", name="str", value=self)
        return str(twin)

    def representation(self, tx: Interpreter) -> str:
        """`repr(exception)`."""
        own = self._written(tx, "__repr__")
        return own if own is not None else self.native_representation(tx)

    def native_representation(self, tx: Interpreter) -> str:
        """The text from the `__repr__` of the built-in class."""
        if native_exception(self.cls).__repr__ is not BaseException.__repr__:
            raise GraphBreak("builtin", name="repr", value=self)
        if len(self.args) == 1:
            return f"{self.cls.__name__}({tx.to_repr(self.args[0])})"
        return f"{self.cls.__name__}{tx.to_repr(make(tuple, self.args))}"

    def _written(self, tx: Interpreter, name: str) -> str | None:
        """The text from the method of this name, if it is written in Python."""
        tx.output.guarding.class_entry(class_constant(tx.output, self.cls), self.cls, name)
        if not isinstance(getattr(self.cls, name), types.FunctionType):
            return None
        result = self.get_attr(tx, name).call(tx, [], {}).as_constant()
        assert isinstance(result, str)
        return result

    # --- output ---

    def reconstruct(self, code: PythonCode) -> None:
        if self.born is not None:
            raise GraphBreak("reconstruct", value=self)
        native: Any = native_exception(self.cls)
        code.call_object(native.__new__, [class_constant(code.output, self.cls), *self.args])
        code.store_as(self)
        code.call_object(native.__init__, [self, *self.args], self.keywords or {})
        code.pop()
        fields = dict(self.attributes)
        if self.cause is not None:
            fields["__cause__"] = self.cause
        if self.context is not None:
            fields["__context__"] = self.context
        if self.suppress_context != (self.cause is not None):
            fields["__suppress_context__"] = constant(self.suppress_context)
        for name, value in fields.items():
            code.copy()
            code.load_swapped(value)
            code.store_attribute(name)

    def children(self) -> list[Variable]:
        extra = [v for v in (self.cause, self.context) if v is not None]
        return [*self.args, *(self.keywords or {}).values(), *self.attributes.values(), *extra]


def native_exception(cls: type) -> type:
    """The first class of the MRO that is written in C. It makes the object and sets its fields."""
    return next(base for base in cls.__mro__ if not base.__flags__ & (1 << 9))


class TracebackVariable(Variable):
    """The traceback of a raised exception. We know only that it exists."""

    mutable = True
    identity_known = False  # Python makes a new traceback for each frame that the exception leaves
    never_none = True

    def __init__(self, exception: Variable, born: int) -> None:
        super().__init__()
        self.exception = exception
        self.born = born

    def python_type(self) -> type:
        return types.TracebackType

    def truth(self, tx: Interpreter) -> bool:
        return True


class AmbientException(Variable):
    """The result of `sys.exc_info()` if the frame itself handles no exception. Its caller may handle one."""

    identity_known = False

    def __init__(self, born: int) -> None:
        super().__init__()
        self.born = born


def handled_exception(tx: Interpreter) -> Variable | None:
    """The exception whose `except` block runs, in this frame or in an inlining caller.

    None if the captured frame handles no exception; then it is not known what its caller handles.
    """
    return next((t.handled[-1] for t in tx.chain() if t.handled), None)


def chain_context(tx: Interpreter, exception: Variable) -> None:
    """Set the `__context__` of a raised exception to the exception that is being handled.

    A chain of contexts that would become a cycle is cut.
    """
    handled = handled_exception(tx)
    if handled is None or handled is exception or not isinstance(exception, ExceptionVariable):
        return
    seen: list[Variable] = []
    link = handled
    while isinstance(link, ExceptionVariable) and link.context is not None and link not in seen:
        if link.context is exception:
            link.context = None
            break
        seen.append(link)
        link = link.context
    exception.context = handled


def _none() -> Variable:
    return constant(None)


def _args(self: ExceptionVariable, tx: Interpreter) -> Variable:
    if issubclass(self.cls, OSError) and len(self.args) > 2:
        return self._native_field("args")  # OSError removes the file names from its args
    return make(tuple, list(self.args))


def _class(self: ExceptionVariable, tx: Interpreter) -> Variable:
    return wrap_class(tx.output, self.cls)


def _suppress_context(self: ExceptionVariable, tx: Interpreter) -> Variable:
    return constant(self.suppress_context)


def _traceback(self: ExceptionVariable, tx: Interpreter) -> Variable:
    return TracebackVariable(self, self.born) if self.born is not None else _none()


def _context(self: ExceptionVariable, tx: Interpreter) -> Variable:
    if self.context is None and self.born is not None and not tx.output.modes.handles_nothing_around():
        raise GraphBreak("get_attr", value=self, name="__context__")
    return self.context or _none()


FIELDS: dict[str, Any] = {
    "args": _args,
    "__class__": _class,
    "__cause__": lambda self, tx: self.cause or _none(),
    "__context__": _context,
    "__suppress_context__": _suppress_context,
    "__traceback__": _traceback,
}


def _native_init(self: ExceptionVariable, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    if self.keywords is None and kwargs:
        raise GraphBreak("method", name="__init__ with keywords", value=self)
    self.args = list(args)
    if self.keywords is not None:  # this is a second call of `__init__`
        self.keywords = kwargs
    return _none()


def _native_str(self: ExceptionVariable, tx: Interpreter) -> Variable:
    return tx.wrap_constant(self.native_text(tx))


def _native_repr(self: ExceptionVariable, tx: Interpreter) -> Variable:
    return tx.wrap_constant(self.native_representation(tx))


def _with_traceback(self: ExceptionVariable, tx: Interpreter, trace: Variable) -> Variable:
    self.set_attr(tx, "__traceback__", trace)
    return self


def _add_note(self: ExceptionVariable, tx: Interpreter, note: Variable) -> Variable:
    notes = self.attributes.setdefault("__notes__", make(list, []))
    notes.call_method(tx, "append", [note], {})
    return _none()


NATIVE_METHODS: dict[str, Any] = {
    "__init__": _native_init,
    "__str__": _native_str,
    "__repr__": _native_repr,
    "with_traceback": _with_traceback,
    "add_note": _add_note,
}


def raise_python(error: BaseException) -> ObservedException:
    """The program's exception for an exception that Python raised on constants at translation time."""
    return ObservedException(_variable_of(error))


@makes(BaseException)
def _variable_of(error: BaseException) -> ExceptionVariable:
    return ExceptionVariable(type(error), [constant(value) for value in error.args])


def raise_new(cls: type[BaseException], *args: Any) -> ObservedException:
    """The program's `raise cls(*args)` with constant args."""
    return raise_python(cls(*args))
