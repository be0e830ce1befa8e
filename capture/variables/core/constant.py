"""Constants: numbers, strings, None, dtypes, devices, enum members, ...

In:  a value that is known at translation time; a guard compares it if it has a source.
Out: a `ConstantVariable`. Python itself carries out its operations, at translation time.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core import contents
from capture.variables.core.base import NotConstant, ObservedException, Variable, realize
from capture.variables.core.class_lookup import MISSING, class_attribute, lookup_type
from capture.variables.core.exception import raise_python
from capture.variables.core.granted import granted
from capture.variables.core.makers import constant, make, makes_constant
from capture.variables.core.shown_names import shown_name
from capture.variables.core.wrap import guard_identity, wrap_class, wraps
from codegen.kernel.families import Table
from guards.kinds.constants import ConstantGuard
from guards.kinds.identity import IdentityGuard
from guards.sources import AttrSource, ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

LITERALS: tuple[type, ...] = (
    int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented),
)  # fmt: skip
TORCH_CONSTANTS: tuple[type, ...] = (torch.dtype, torch.device, torch.layout, torch.memory_format)

NUMPY_CONSTANTS: tuple[type, ...] = (np.dtype, np.generic)


def is_literal(value: Any) -> bool:
    return type(value) in LITERALS or type(value) in TORCH_CONSTANTS or isinstance(value, enum.Enum)


ONLY_ONE = frozenset(
    (bool, type(None), type(Ellipsis), type(NotImplemented), torch.dtype, torch.layout, torch.memory_format)
)


def is_only_one(value: Any) -> bool:
    """Whether no other object has this value."""
    if type(value) is int:
        return -5 <= value <= 256
    return type(value) in ONLY_ONE or isinstance(value, enum.Enum)


def is_literal_key(key: Variable) -> bool:
    """Whether the look-up of the key runs no code of the program."""
    return isinstance(key, ConstantVariable) and type(key.value) in (int, str, float, bool, bytes)


def is_long(value: int) -> bool:
    """Whether Python may refuse to write the number in decimal digits."""
    return value.bit_length() > 2000


#: string methods that ask their arguments for a text: (tx, string, args, kwargs) -> Variable
STRING_METHODS: Table[Callable[..., Variable]] = Table(contents, "STRING_METHODS")


def string_method(name: str) -> Callable[[Callable[..., Variable]], Callable[..., Variable]]:
    def register(method: Callable[..., Variable]) -> Callable[..., Variable]:
        STRING_METHODS[name] = method
        return method

    return register


@makes_constant(*LITERALS)
@makes_constant(*TORCH_CONSTANTS, *NUMPY_CONSTANTS, enum.Enum, torch.finfo, torch.iinfo, subclasses=True)
class ConstantVariable(Variable):
    """One immutable literal.

    It has no source, because a guard compares the value, not the object. `existing` is the place of the
    object, if the program may tell the object from others of this value.
    """

    one_per_object = False
    built_once = False
    existing: Source | None = None
    guards: Any = None  # those of the output graph, where `existing` is set

    def __init__(self, value: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    @property
    def found_at(self) -> Source | None:
        return self.source or self.existing

    def fix_identity(self) -> None:
        """Guard that the place holds this very object."""
        if self.existing is not None:
            self.guards.add(IdentityGuard.of(self.existing, self.value))

    def python_type(self) -> type:
        return type(self.value)

    def as_constant(self) -> Any:
        return self.value

    def is_exactly(self, value: Any) -> bool:
        return self.value is value

    def describe(self) -> str:
        return f"{self.value:#x}" if type(self.value) is int and is_long(self.value) else repr(self.value)

    def as_proxy(self) -> Any:
        if type(self.value) is int and is_long(self.value):  # a graph must be printable
            raise GraphBreak("not_a_graph_argument", value=self)
        return self.value

    def truth(self, tx: Interpreter) -> bool:
        return bool(self.value)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "__class__":
            return wrap_class(tx.output, self.python_type())
        if isinstance(self.value, types.CodeType) and name in _OF_THE_FILE:
            granted().only_here("the file of a function")
        try:
            value = getattr(self.value, name)
        except AttributeError as error:
            raise raise_python(error) from None
        if isinstance(self.value, enum.Enum):
            held = enum_state(tx, self.value, name)
            if held is not None:
                return held
            if not is_literal(value):
                return enum_attribute(tx, self, name, value)
        if is_literal(value) or isinstance(value, tuple):
            return constant(value)
        if callable(value):
            return ConstantMethod(self, name)
        raise GraphBreak("get_attr", value=self, name=name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "join" and isinstance(self.value, (str, bytes)) and len(args) == 1:
            return fold(getattr(self.value, name), [make(tuple, args[0].iterate(tx).unpack(tx))], {})
        if isinstance(self.value, str) and name in STRING_METHODS:
            return STRING_METHODS[name](tx, self.value, args, kwargs)
        if name == "__iter__" and not args:
            return self.iterate(tx)
        if not hasattr(self.value, name):
            return self.get_attr(tx, name)
        if isinstance(self.value, enum.Enum) and is_written(type(self.value), name):
            return self.get_attr(tx, name).call(tx, args, kwargs)
        return fold(getattr(self.value, name), args, kwargs)

    def unpack(self, tx: Interpreter) -> list[Variable]:
        if isinstance(self.value, enum.Enum) and hasattr(type(self.value), "__iter__"):
            if is_written(type(self.value), "__iter__"):
                return self.iterate(tx).unpack(tx)
            members: Any = self.value
            return [constant(item) for item in members]
        if isinstance(self.value, (str, bytes)):
            return [ConstantVariable(item) for item in self.value]
        return raise_type_error(f"'{shown_name(type(self.value))}' object is not iterable")

    def iterate(self, tx: Interpreter) -> Variable:
        if isinstance(self.value, enum.Enum) and is_written(type(self.value), "__iter__"):
            return self.get_attr(tx, "__iter__").call(tx, [], {}).iterate(tx)
        return make(Iterator, self.unpack(tx), origin=self)

    def reconstruct(self, code: PythonCode) -> None:
        if self.existing is None:
            code.load_constant(self.value)
        else:
            code.load_source(self.existing)

    def add_to_recipe(self, recipe: Recipe) -> bool:
        return recipe.constant(self.value) if self.existing is None else recipe.slot(self.existing)


NONE = ConstantVariable(None)
FALSE = ConstantVariable(False)


def is_written(cls: type, name: str) -> bool:
    """Whether the program wrote this method of an enum class. Python calls the methods of module `enum`."""
    found = lookup_type(cls, name)
    function = getattr(found, "__func__", found)
    return isinstance(function, types.FunctionType) and function.__module__ != "enum"


def enum_state(tx: Interpreter, member: enum.Enum, name: str) -> Variable | None:
    """An attribute in the member's own dict, such as `name` and `value`. None if its class has the name.

    The attribute is no constant, because the program may set it again.
    """
    found = lookup_type(type(member), name)
    if name in ("name", "value") and found is enum.Enum.__dict__[name]:
        name, found = f"_{name}_", MISSING
    if found is not MISSING or name not in vars(member):
        return None
    return tx.wrap(vars(member)[name], AttrSource(ConstantSource(member), name))


def enum_attribute(tx: Interpreter, member: ConstantVariable, name: str, value: Any) -> Variable:
    """A bound method of an enum member, or an attribute that is no literal."""
    if is_written(type(member.value), name):
        found = class_attribute(tx, member, type(member.value), name)
        assert found is not None
        return found
    if isinstance(value, (types.MethodType, types.MethodWrapperType, types.BuiltinFunctionType)):
        return ConstantMethod(member, name)
    return tx.wrap(value, ConstantSource(value))


class ConstantMethod(Variable):
    """A bound method of a literal, such as `", ".join`."""

    def __init__(self, owner: ConstantVariable, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        return type(getattr(self.owner.value, self.name))

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self.owner.call_method(tx, self.name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.owner)
        code.load_attribute(self.name)

    def children(self) -> list[Variable]:
        return [self.owner]


def raise_type_error(text: str) -> NoReturn:
    raise raise_python(TypeError(text))


def refusal(name: str, value: Variable) -> GraphBreak:
    """The graph break for a call on a value that is no constant. The value's own reason comes first."""
    breaks: Callable[[], GraphBreak] | None = getattr(value, "breaks", None)
    return GraphBreak("builtin", name=name, value=value) if breaks is None else breaks()


def argument_value(value: Variable) -> Any:
    """What we pass to a function without side effects: a constant, or a new list or dict of literals."""
    return value.plain_argument().argument_value()


def is_foldable(value: Variable) -> bool:
    try:
        argument_value(value)
    except NotConstant:
        return False
    return True


def fold(function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """Call `function` on constants now. An argument that is no constant breaks the graph.

    An exception of the call becomes an exception of the program.
    """
    try:
        values = [argument_value(a) for a in args]
        keywords = {k: argument_value(v) for k, v in kwargs.items()}
        if not all(isinstance(a, ConstantVariable) for a in args):
            fix_nans(args)  # containers compare their items by identity first
    except NotConstant as error:
        raise refusal(getattr(function, "__name__", repr(function)), error.args[0]) from None
    for value in (*values, *keywords.values()):
        if isinstance(value, (set, frozenset)):
            granted().order_of(value)
    if getattr(function, "__name__", None) in ("hash", "__hash__"):
        granted().only_here("a hash")
    try:
        result = function(*values, **keywords)
    except ObservedException:
        raise
    except Exception as error:
        raise raise_python(error) from None
    given = argument_among(result, values, args)
    return NanVariable(result) if given is None and is_nan(result) else given or constant(result)


def argument_among(result: Any, values: list[Any], args: list[Variable]) -> Variable | None:
    """The argument that a function gives back: `max(a, b)`."""
    if is_only_one(result):
        return None
    return next((arg for value, arg in zip(values, args) if value is result), None)


def fix_nans(values: Iterable[Variable]) -> None:
    """Guard the identity of each NaN among the values and their items, because it equals no other object."""
    for value in map(realize, values):
        if not isinstance(value, ConstantVariable):
            fix_nans(value.children())
        elif holds_nan(value.value):
            value.fix_identity()


def holds_nan(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return any(map(holds_nan, value))
    return is_nan(value)


def is_nan(value: Any) -> bool:
    return type(value) in (float, complex) and bool(value != value)


class NanVariable(ConstantVariable):
    """A NaN that the frame computes: each run makes another one, which equals no other object."""

    built_once = True

    def reconstruct(self, code: PythonCode) -> None:
        code.load_callable(negative_of_negative)
        code.load_constant(self.value)
        code.call(1)

    def add_to_recipe(self, recipe: Recipe) -> bool:
        return False


def negative_of_negative(value: Any) -> Any:
    """A new object with the same bits."""
    negative = -value
    return -negative


#: what a code object tells of its file; the digest of what it does has none of it
_OF_THE_FILE = ("co_filename", "co_firstlineno", "co_linetable", "co_lnotab", "co_lines", "co_positions")


# --- existing values --------------------------------------------------------------------------------------


@wraps(*LITERALS, *TORCH_CONSTANTS)
def wrap_literal(output: Output, value: Any, source: Source | None) -> Variable:
    if source is not None and not isinstance(source, ConstantSource):
        symbolic = output.symbols.number_variable(value, source)
        if symbolic is not None:
            return symbolic
        output.guards.add(ConstantGuard.of(source, value))
    variable = ConstantVariable(value, None)
    if source is not None and not isinstance(source, ConstantSource) and not is_only_one(value):
        variable.existing, variable.guards = source, output.guards
    return variable


@wraps(torch.finfo, torch.iinfo, types.CodeType, torch._C._SDPBackend)
def wrap_by_identity(output: Output, value: Any, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    return ConstantVariable(value, None)
