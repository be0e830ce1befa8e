"""Exceptions of the user's program as values, and raising them symbolically.

An exception that the program raises inside of the captured frame and that has to exist as an object behind a
break is not rebuilt: it would lack its traceback. `born` says at which instruction of the frame it was
raised; the graph breaks there, and Python raises it.
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
    from capture.interpret.translator import Translator
    from capture.output.python_code import PythonCode
    from guards.sources import Source


#: `__str__` of exceptions that say no more than their arguments
PLAIN_TEXTS = (
    BaseException.__str__,
    KeyError.__str__,
    ImportError.__str__,
    AttributeError.__str__,
    NameError.__str__,
)


class ExceptionVariable(Variable):
    """An instance of an exception class that the frame makes, or that Python raised on constants.

    `cause`, `context` and `suppress_context` are as the attributes of the same names with underscores.
    """

    def __init__(self, cls: type, args: list[Variable], source: Source | None = None) -> None:
        super().__init__(source)
        self.cls = cls
        self.args = args
        self.cause: Variable | None = None
        self.context: Variable | None = None
        self.suppress_context = False
        self.trace = object()  # another one whenever the traceback changes
        self.attributes: dict[str, Variable] = {}
        #: keyword arguments of a class written in C, which the program called itself; None: it did not
        self.keywords: dict[str, Variable] | None = None

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"{self.cls.__name__}({', '.join(a.describe() for a in self.args)})"

    def truth(self, tx: Translator) -> bool:
        if any(
            isinstance(getattr(self.cls, name, None), types.FunctionType) for name in ("__bool__", "__len__")
        ):
            raise GraphBreak("truth_value", value=self)
        return True

    # --- attributes ---

    def get_attr(self, tx: Translator, name: str) -> Variable:
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
        """What the class written in C makes of its arguments: `error.errno`."""

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
        """A real exception made of the same arguments, where they are known."""
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

    def set_attr(self, tx: Translator, name: str, value: Variable) -> None:
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
            self.born = None  # nothing is lost when it is rebuilt
        elif name == "__traceback__" and isinstance(value, TracebackVariable) and value.exception is self:
            return  # what it has already
        elif name == "args":
            self.args = value.unpack(tx)
        elif name.startswith("__") or hasattr(found, "__set__"):
            raise GraphBreak("set_attr", value=self, name=name)
        else:
            self.attributes[name] = value

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name in ("__str__", "__repr__") and not args:
            return constant(tx.to_text(self) if name == "__str__" else tx.to_repr(self))
        return super().call_method(tx, name, args, kwargs)

    def call_native(
        self, tx: Translator, descriptor: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        """A method written in C, past those that the class overrides."""
        handler = NATIVE_METHODS.get(descriptor.__name__)
        if handler is None:
            raise GraphBreak("method", name=descriptor.__qualname__, value=self)
        result: Variable = handler(self, tx, *args, **kwargs)
        return result

    # --- text ---

    def text(self, tx: Translator) -> str:
        """`str(exception)`."""
        own = self._written(tx, "__str__")
        return own if own is not None else self.native_text(tx)

    def native_text(self, tx: Translator) -> str:
        """What the `__str__` of the built-in class says."""

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

    def representation(self, tx: Translator) -> str:
        """`repr(exception)`."""
        own = self._written(tx, "__repr__")
        return own if own is not None else self.native_representation(tx)

    def native_representation(self, tx: Translator) -> str:
        """What the `__repr__` of the built-in class says."""

        if native_exception(self.cls).__repr__ is not BaseException.__repr__:
            raise GraphBreak("builtin", name="repr", value=self)
        if len(self.args) == 1:
            return f"{self.cls.__name__}({tx.to_repr(self.args[0])})"
        return f"{self.cls.__name__}{tx.to_repr(make(tuple, self.args))}"

    def _written(self, tx: Translator, name: str) -> str | None:
        """What a method of that name written in Python says."""

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
    """The first class of the MRO written in C: what makes the object and sets its own fields."""
    return next(base for base in cls.__mro__ if not base.__flags__ & (1 << 9))


class TracebackVariable(Variable):
    """The traceback of an exception that is on its way: it is there, and that is all that is known."""

    mutable = True
    identity_known = False  # it grows with each frame that the exception leaves
    never_none = True

    def __init__(self, exception: Variable, born: int) -> None:
        super().__init__()
        self.exception = exception
        self.born = born

    def python_type(self) -> type:
        return types.TracebackType

    def truth(self, tx: Translator) -> bool:
        return True


class AmbientException(Variable):
    """What `sys.exc_info()` says where the frame itself handles nothing: its caller may."""

    identity_known = False

    def __init__(self, born: int) -> None:
        super().__init__()
        self.born = born


def handled_exception(tx: Translator) -> Variable | None:
    """The exception whose `except` block runs, in this frame or around its call; None: not known, the
    captured frame handles none.
    """
    return next((t.handled[-1] for t in tx.chain() if t.handled), None)


def chain_context(tx: Translator, exception: Variable) -> None:
    """What is being handled becomes the `__context__` of an exception that is raised; a chain that would
    close on itself is cut.
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


def _args(self: ExceptionVariable, tx: Translator) -> Variable:
    if issubclass(self.cls, OSError) and len(self.args) > 2:
        return self._native_field("args")  # without the names of files
    return make(tuple, list(self.args))


def _class(self: ExceptionVariable, tx: Translator) -> Variable:
    return wrap_class(tx.output, self.cls)


def _suppress_context(self: ExceptionVariable, tx: Translator) -> Variable:
    return constant(self.suppress_context)


def _traceback(self: ExceptionVariable, tx: Translator) -> Variable:
    return TracebackVariable(self, self.born) if self.born is not None else _none()


def _context(self: ExceptionVariable, tx: Translator) -> Variable:
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


def _native_init(self: ExceptionVariable, tx: Translator, *args: Variable, **kwargs: Variable) -> Variable:
    if self.keywords is None and kwargs:
        raise GraphBreak("method", name="__init__ with keywords", value=self)
    self.args = list(args)
    if self.keywords is not None:  # a second call of it
        self.keywords = kwargs
    return _none()


def _native_str(self: ExceptionVariable, tx: Translator) -> Variable:
    return tx.wrap_constant(self.native_text(tx))


def _native_repr(self: ExceptionVariable, tx: Translator) -> Variable:
    return tx.wrap_constant(self.native_representation(tx))


def _with_traceback(self: ExceptionVariable, tx: Translator, trace: Variable) -> Variable:
    self.set_attr(tx, "__traceback__", trace)
    return self


def _add_note(self: ExceptionVariable, tx: Translator, note: Variable) -> Variable:
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
    """The program's exception for one that Python raised on constants at translation time."""

    return ObservedException(_variable_of(error))


@makes(BaseException)
def _variable_of(error: BaseException) -> ExceptionVariable:
    return ExceptionVariable(type(error), [constant(value) for value in error.args])


def raise_new(cls: type[BaseException], *args: Any) -> ObservedException:
    """`raise cls(*args)` of the program, for constant args."""
    return raise_python(cls(*args))
