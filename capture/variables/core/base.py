"""What the symbolic interpreter knows about a Python value.

A `Variable` stands for one Python object of the frame. It says where the object comes from (`source`, None
for an object that the frame itself makes), what is known of it, and how operations on it are carried out at
translation time. An operation that it can't carry out raises `GraphBreak`; a Python exception that the
program itself would see is `ObservedException`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from capture.report.break_reasons import GraphBreak
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.makers import make
from capture.variables.core.wrap import wrap

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph
    from capture.interpret.translator import Translator
    from capture.output.python_code import PythonCode
    from guards.sources import Source


class NotConstant(Exception):
    """`as_constant` of a variable whose value is not a constant."""


class ObservedException(Exception):
    """An exception of the user's program, on its way up the symbolic frames. `variable` is an
    ExceptionVariable.
    """

    def __init__(self, variable: Variable) -> None:
        super().__init__(variable)
        self.variable = variable


class Variable:
    """Base of all variables; the defaults break the graph."""

    #: replaces the object's own identity in `is`: two Variables of one existing object are one Variable (see
    # wrap.py)
    mutable: ClassVar[bool] = False

    #: whether `is` can be decided
    identity_known: ClassVar[bool] = True

    #: whether a value whose identity isn't known is at least known not to be None
    never_none: ClassVar[bool] = False

    #: whether `wrap` gives the same variable for the same object
    one_per_object: ClassVar[bool] = True

    #: whether it keeps the hashes of its items or keys
    hashes_items: ClassVar[bool] = False

    #: whether its class may define operators and hashes of its own
    has_own_methods: ClassVar[bool] = False

    source: Source | None
    #: of a value that can't be rebuilt by bytecode: the step of the captured frame that made it
    born: int | None = None

    def __init__(self, source: Source | None = None) -> None:
        self.source = source

    # --- what it is ---

    def python_type(self) -> type:
        raise GraphBreak("unknown_type", value=self)

    def as_constant(self) -> Any:
        """The Python value itself, where it is a constant (of constants). Raises NotConstant."""
        raise NotConstant(self)

    def plain_argument(self) -> Variable:
        """What a function written in C gets for it: of an instance of a literal's subclass, the literal."""
        return self

    def argument_value(self) -> Any:
        """The plain value that a function without side effects gets for it. Raises NotConstant."""
        return self.as_constant()

    def is_constant(self) -> bool:
        try:
            self.as_constant()
        except NotConstant:
            return False
        return True

    def is_exactly(self, value: Any) -> bool:
        """`self is value` for None, NotImplemented and the like."""
        return False

    def as_proxy(self) -> Any:
        """The value as an argument of a graph node."""
        try:
            return self.as_constant()
        except NotConstant:
            raise GraphBreak("not_a_graph_argument", value=self) from None

    def as_proxy_for(self, target: Any) -> Any:
        """The value as an argument of a call of `target`."""
        return self.as_proxy()

    def as_class(self) -> type | None:
        """The class that the variable stands for."""
        return None

    def hashed_keys(self, tx: Translator) -> dict[Any, Variable]:
        """The keys by what they hash as, where `hashes_items`."""
        raise GraphBreak("iterate", value=self)

    def hashed_items(self, tx: Translator) -> list[Variable] | None:
        """The items that the hash is made from, where it is made from nothing else."""
        return None

    def real_value(self) -> Any:
        """The existing Python object behind the variable; raises NotConstant where the frame made it."""
        return self.as_constant()

    def describe(self) -> str:
        return f"{type(self).__name__.removesuffix('Variable')}({self.source.text if self.source else ''})"

    def __repr__(self) -> str:
        return self.describe()

    # --- operations ---

    def truth(self, tx: Translator) -> bool:
        raise GraphBreak("truth_value", value=self)

    def get_attr(self, tx: Translator, name: str) -> Variable:
        raise GraphBreak("get_attr", value=self, name=name)

    def set_attr(self, tx: Translator, name: str, value: Variable) -> None:
        raise GraphBreak("set_attr", value=self, name=name)

    def del_attr(self, tx: Translator, name: str) -> None:
        raise GraphBreak("set_attr", value=self, name=name)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if self.is_constant() and lookup_type(self.python_type(), "__call__") is MISSING:
            error = TypeError(f"'{self.python_type().__name__}' object is not callable")
            raise ObservedException(make(BaseException, error))
        raise GraphBreak("call", value=self)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        """`value.name(*args)`: by default, the attribute is loaded and called."""
        return self.get_attr(tx, name).call(tx, args, kwargs)

    def unpack(self, tx: Translator) -> list[Variable]:
        """All items of an iterable whose length is known."""
        raise GraphBreak("iterate", value=self)

    def iterate(self, tx: Translator) -> Variable:
        """`iter(value)`."""
        return make(Iterator, self.unpack(tx))

    # --- output ---

    def reconstruct(self, code: PythonCode) -> None:
        """Append bytecode that leaves the value on the stack (called only where `source` is None)."""
        raise GraphBreak("reconstruct", value=self)

    def snapshot(self) -> Any:
        """What an existing object holds before its first change, for `replay_change`."""
        return None

    def replay_change(self, code: PythonCode, before: Any) -> None:
        """Append bytecode that changes the existing object as the frame did; `before` is its snapshot."""

    def children(self) -> list[Variable]:
        """Variables that this one holds (for finding what is reachable)."""
        return []


class NullVariable(Variable):
    """The NULL that CPython's calling convention keeps on the stack."""

    def reconstruct(self, code: PythonCode) -> None:
        code.push_null()


class Deleted(Variable):
    """Stands for an attribute or a global that the frame deleted."""


class LazyVariable(Variable):
    """A local or item not looked at yet: no guard until something uses it."""

    def __init__(self, output: OutputGraph, value: Any, source: Source) -> None:
        super().__init__(source)
        self.output = output
        self.value = value

    def realize(self) -> Variable:
        return wrap(self.output, self.value, self.source)

    def python_type(self) -> type:
        return self.realize().python_type()

    def as_constant(self) -> Any:
        return self.realize().as_constant()

    def is_constant(self) -> bool:
        return self.realize().is_constant()

    def is_exactly(self, value: Any) -> bool:
        return self.realize().is_exactly(value)

    def as_proxy(self) -> Any:
        return self.realize().as_proxy()

    def real_value(self) -> Any:
        return self.realize().real_value()

    def describe(self) -> str:
        assert self.source is not None
        return self.source.text


def realize(tx: Translator, variable: Variable) -> Variable:
    return variable.realize() if isinstance(variable, LazyVariable) else variable
