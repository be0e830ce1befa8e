"""The base class `Variable`: what the symbolic interpreter knows about one Python value.

In:  a Python object of the frame, and its source (None: the frame itself makes the object).
Out: an object that carries out the operations on this value at translation time.

A variable raises `GraphBreak` for an operation that it can't carry out. It raises `ObservedException` for a
Python exception that the program itself would see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from capture.report.break_reasons import GraphBreak
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.makers import make
from capture.variables.core.shown_names import shown_name
from capture.variables.core.wrap import wrap

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source


class NotConstant(Exception):
    """`as_constant` raises this for a variable whose value is not a constant."""


class ObservedException(Exception):
    """An exception of the user's program that unwinds the symbolic frames.

    `variable` is an ExceptionVariable.
    """

    def __init__(self, variable: Variable) -> None:
        super().__init__(variable)
        self.variable = variable


class Variable:
    """Base of all variables; the defaults break the graph."""

    #: whether the identity of the variable replaces the identity of the object in `is`;
    #: one existing object has one Variable (see wrap.py)
    mutable: ClassVar[bool] = False

    #: whether the interpreter can decide `is`
    identity_known: ClassVar[bool] = True

    #: whether the value is certainly not None, even if its identity is not known
    never_none: ClassVar[bool] = False

    #: whether `wrap` gives the same variable for the same object
    one_per_object: ClassVar[bool] = True

    #: whether the object keeps the hashes of its items or keys
    hashes_items: ClassVar[bool] = False

    #: whether the second place that loads a new object takes the one that the first place built
    built_once: ClassVar[bool] = True

    #: whether it is an array or a number of NumPy
    of_numpy: ClassVar[bool] = False

    #: whether the class of the object may define its own operators and its own hash
    has_own_methods: ClassVar[bool] = False

    source: Source | None
    #: the step of the captured frame that made a value which bytecode can't rebuild
    born: int | None = None

    def __init__(self, source: Source | None = None) -> None:
        self.source = source

    @property
    def found_at(self) -> Source | None:
        """Where the existing object is found. None if the frame made the object."""
        return self.source

    # --- the value ---

    def python_type(self) -> type:
        raise GraphBreak("unknown_type", value=self)

    def note_class_use(self, tx: Interpreter) -> None:
        """Called where the program asks for the class."""

    def as_constant(self) -> Any:
        """The Python value itself, if it is a constant or a container of constants. Raises NotConstant."""
        raise NotConstant(self)

    def plain_argument(self) -> Variable:
        """What a function written in C gets for it: the literal for an instance of a literal's subclass."""
        return self

    def as_int(self) -> Variable | None:
        """A whole number of NumPy as an int that is a symbol. None for all else."""
        return None

    def argument_value(self) -> Any:
        """The plain value that we pass to a function without side effects. Raises NotConstant."""
        return self.as_constant()

    def is_constant(self) -> bool:
        try:
            self.as_constant()
        except NotConstant:
            return False
        return True

    def is_exactly(self, value: Any) -> bool:
        """`self is value` for None, NotImplemented and similar singletons."""
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

    def is_overriding(self) -> bool:
        """Whether torch passes operations on it, or on a part of it, to a handler of its class."""
        return False

    def as_class(self) -> type | None:
        """The class that the variable stands for, or None."""
        return None

    def hashed_keys(self, tx: Interpreter) -> dict[Any, Variable]:
        """A dict from hash key to key, for a variable with `hashes_items`."""
        raise GraphBreak("iterate", value=self)

    def hashed_items(self, tx: Interpreter) -> list[Variable] | None:
        """The items, if the hash depends on nothing but them."""
        return None

    def real_value(self) -> Any:
        """The existing Python object of the variable. Raises NotConstant if the frame made the object."""
        return self.as_constant()

    def describe(self) -> str:
        return f"{type(self).__name__.removesuffix('Variable')}({self.source.text if self.source else ''})"

    def __repr__(self) -> str:
        return self.describe()

    # --- operations ---

    def truth(self, tx: Interpreter) -> bool:
        raise GraphBreak("truth_value", value=self)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        raise GraphBreak("get_attr", value=self, name=name)

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        raise GraphBreak("set_attr", value=self, name=name)

    def del_attr(self, tx: Interpreter, name: str) -> None:
        raise GraphBreak("set_attr", value=self, name=name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if self.is_constant() and lookup_type(self.python_type(), "__call__") is MISSING:
            error = TypeError(f"'{shown_name(self.python_type())}' object is not callable")
            raise ObservedException(make(BaseException, error))
        raise GraphBreak("call", value=self)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        """`value.name(*args)`: the default loads the attribute and calls it."""
        return self.get_attr(tx, name).call(tx, args, kwargs)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        """All items of an iterable whose length is known."""
        raise GraphBreak("iterate", value=self)

    def iterate(self, tx: Interpreter) -> Variable:
        """`iter(value)`."""
        return make(Iterator, self.unpack(tx))

    def take(self, tx: Interpreter) -> list[Variable]:
        """The items of `list(value)`."""
        iterator = self.iterate(tx)
        self.ask_length(tx)
        return iterator.unpack(tx)

    def ask_length(self, tx: Interpreter) -> None:
        """What a list asks before it takes the items: here nothing that the program sees."""

    def open_dims(self) -> frozenset[int] | None:
        """Not None if the value is a symbol, or a tensor with symbols in its shape: the dims of these."""
        return None

    def open_length(self, tx: Interpreter) -> Variable | None:
        """The length of an existing object, if it is a symbol."""
        return None

    # --- output ---

    def reconstruct(self, code: PythonCode) -> None:
        """Append bytecode that leaves the value on the stack. Called only if `source` is None."""
        raise GraphBreak("reconstruct", value=self)

    def add_to_recipe(self, recipe: Recipe) -> bool:
        """Append instructions of a result recipe that make the value (called only where `source` is None).

        False: Python has to make the value.
        """
        return False

    def snapshot(self) -> Any:
        """The contents of an existing object before its first change, for `replay_change`."""
        return None

    def replay_change(self, code: PythonCode, before: Any) -> None:
        """Append bytecode that changes the existing object as the frame did. `before` is its snapshot."""

    def stored_items(self, before: Any) -> dict[str, Variable]:
        """The items that the frame has put in the place of others, by the texts of their sources. `before` is
        the snapshot.
        """
        return {}

    def replay_global(self, code: PythonCode, namespace: dict[str, Any], name: str) -> None:
        """Append bytecode that gives the global this value."""
        code.load(self)
        code.load_globals(namespace)
        code.load_constant(name)
        code.store_item()

    def children(self) -> list[Variable]:
        """The variables that this one holds, for the search of reachable values."""
        return []

    def known_children(self) -> list[Variable]:
        """The same without what the program has not read of an existing object."""
        return self.children()


class NullVariable(Variable):
    """The NULL that CPython's calling convention keeps on the stack."""

    built_once = False

    def reconstruct(self, code: PythonCode) -> None:
        code.push_null()


class Deleted(Variable):
    """An attribute or a global that the frame deleted."""

    built_once = False

    def replay_global(self, code: PythonCode, namespace: dict[str, Any], name: str) -> None:
        code.load_globals(namespace)
        code.load_constant(name)
        code.delete_item()


class LazyVariable(Variable):
    """A local or item that nothing has used yet. It has no guard until something uses it."""

    def __init__(self, output: Output, value: Any, source: Source) -> None:
        super().__init__(source)
        self.output = output
        self.value = value

    def realize(self) -> Variable:
        watch = self.output.changing_items
        if watch is not None:
            watch.note(self.source)
        return wrap(self.output, self.value, self.source)

    def changes_kind(self) -> bool:
        watch = self.output.changing_items
        return watch is not None and watch.covers(self.source)

    def python_type(self) -> type:
        return self.realize().python_type()

    def as_constant(self) -> Any:
        return self.realize().as_constant()

    def note_class_use(self, tx: Interpreter) -> None:
        self.realize().note_class_use(tx)

    def is_constant(self) -> bool:
        return self.realize().is_constant()

    def is_exactly(self, value: Any) -> bool:
        return self.realize().is_exactly(value)

    def as_proxy(self) -> Any:
        return self.realize().as_proxy()

    def as_proxy_for(self, target: Any) -> Any:
        return self.realize().as_proxy_for(target)

    def real_value(self) -> Any:
        return self.realize().real_value()

    def open_dims(self) -> frozenset[int] | None:
        assert self.source is not None
        return self.output.symbols.policy.open_dims_at(self.source)

    def describe(self) -> str:
        assert self.source is not None
        return self.source.text


def realize(variable: Variable) -> Variable:
    return variable.realize() if isinstance(variable, LazyVariable) else variable


def realized_item(items: list[Variable], index: int) -> Variable:
    """The item, from now on in place of its lazy variable. An item that differs in kind from call to call
    stays lazy: each statement that reads it counts (`capture/interpret/changing_items.py`).
    """
    held = items[index]
    item = realize(held)
    if not (isinstance(held, LazyVariable) and held.changes_kind()):
        items[index] = item
    return item
