"""Functions, classes and operators of torch by name.

In:  a function or class that a node of a graph calls; an operator.
Out: its name, if whoever reads the name later finds the same object, and nobody has put another function in
     its place. `NotStored` for all others: functions of the program are not known by their names.

    torch.nn.functional.gelu   ->   ("torch._C._nn", "gelu")
    torch.ops.aten.mm.default  ->   ("aten::mm", "")
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import sys
import types
from typing import Any

import torch
from torch._ops import OpOverload

from codegen.kernel.foreign import OUR_OPERATORS, is_foreign

#: the packages whose functions a stored graph may name
ROOTS = frozenset({"torch", "operator", "_operator", "math", "builtins", "codegen", "capture"})
OWN = frozenset({"codegen", "capture"})
#: where builtin functions are found that do not tell their module
SPACES = (
    "torch", "torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special", "torch._C._sparse",
    "torch._C", "torch._C._functions", "torch.nn.functional", "torch.special", "torch.linalg", "torch.fft",
)  # fmt: skip


#: errors of reading what somebody else has written
DAMAGES = (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError, RuntimeError, OSError)


class NotStored(Exception):
    """The graph is not kept for the next process. The text says why."""


class Malformed(Exception):
    """The data are damaged, or another version has written them."""


def name_of(value: Any) -> tuple[str, str]:
    """(module, name in it) of a function or class. Raises NotStored."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if type(name) is not str:
        raise NotStored(f"a value of the type {type(value).__name__}")
    for space in spaces_of(value):
        for path in dict.fromkeys((name, name.rpartition(".")[2], *other_names(space, value))):
            if find(space, path) is value:
                check_own(value)
                return space, path
    raise NotStored(f"{name} is not found by its name")


def other_names(space: str, value: Any) -> list[str]:
    """The names of a function that was made in a function (`max_pool2d`)."""
    if not isinstance(value, types.FunctionType) or "<" not in value.__qualname__:
        return []
    return [name for name, found in vars(sys.modules[space]).items() if found is value]


def spaces_of(value: Any) -> tuple[str, ...]:
    module = getattr(value, "__module__", None)
    own = (module,) if module in sys.modules and module.partition(".")[0] in ROOTS else ()
    if isinstance(value, types.FunctionType):
        return own
    base = getattr(value, "__objclass__", None)
    return (*own, *(() if base is None else (base.__module__,)), *SPACES)


def contents_of(function: types.FunctionType) -> str:
    """A checksum of what a program could change in a function of torch without putting another in its place.

    Raises NotStored.
    """
    code = function.__code__
    defaults = (function.__defaults__, function.__kwdefaults__)
    parts = (code.co_code, repr(code.co_names).encode(), repr(defaults).encode())
    if " at 0x" in repr(defaults):
        raise NotStored(f"the defaults of {function.__qualname__} are objects of this process")
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def module_named(name: str) -> Any:
    """A module that is imported already; None if there is none.

    One of our own is imported now: what is stored may name a function of the compiler.
    """
    if name not in sys.modules and name.partition(".")[0] in OWN:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    return sys.modules.get(name)


def find(space: str, path: str) -> Any:
    """What the name stands for in a module that is imported; None if nothing does."""
    found: Any = module_named(space)
    if found is None and space in SPACES:  # some of torch's modules are only attributes
        found = torch
        for part in space.split(".")[1:]:
            found = getattr(found, part, None)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def check_own(value: Any) -> None:
    """Raises NotStored for a function of somebody else under a name of torch."""
    if isinstance(value, types.FunctionType):
        check_function(value, set())
    elif isinstance(value, type):
        if value.__module__.partition(".")[0] not in ROOTS:
            raise NotStored(f"{value.__qualname__} is a class of the program")
    elif not isinstance(value, BUILTINS):
        raise NotStored(f"a value of the type {type(value).__name__}")


BUILTINS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
#: modules of torch whose functions a trace goes through: who calls them may have put another function there
TRACED = frozenset({"torch.nn.functional", "torch.functional", "torch._jit_internal"})


def check_function(function: types.FunctionType, seen: set[int]) -> None:
    """Raises NotStored where the function, or one that it calls, is one of the program."""
    if id(function) in seen:
        return
    seen.add(id(function))
    space = function.__globals__
    home = str(space.get("__name__"))
    if home.partition(".")[0] not in ROOTS or vars(sys.modules.get(home, types)) is not space:
        raise NotStored(f"{function.__qualname__} is a function of the program")
    if home in TRACED:
        for callee in callees(function):
            if callee.__globals__.get("__name__") != "torch.overrides":
                check_function(callee, seen)


def callees(function: types.FunctionType) -> list[types.FunctionType]:
    """The functions of torch's namespaces that the code names, and those in its closure."""
    names = function.__code__.co_names
    spaces = [
        value for name in names if isinstance(value := function.__globals__.get(name), types.ModuleType)
    ]
    torchs = [vars(space) for space in spaces if space.__name__.partition(".")[0] == "torch"]
    found = [
        space.get(name) for space in (function.__globals__, vars(torch._C._nn), *torchs) for name in names
    ]
    found += [cell.cell_contents for cell in function.__closure__ or ()]
    return [value for value in found if isinstance(value, types.FunctionType)]


def object_named(space: str, path: str) -> Any:
    """The function or class of that name. Raises Malformed."""
    if space.partition(".")[0] not in ROOTS:
        raise Malformed(f"a name of another package: {space}.{path}")
    found = find(space, path)
    try:
        if found is not None and name_of(found) is not None:
            return found
    except NotStored as reason:
        raise Malformed(f"{space}.{path}: {reason}") from reason
    raise Malformed(f"no such function: {space}.{path}")


def operator_name(op: OpOverload) -> tuple[str, str]:
    """(name with its namespace, overload). Raises NotStored for operators that torch does not define."""
    if is_foreign(op):
        raise NotStored(f"the operator {op} of the program or of a library")
    return op._schema.name, op._schema.overload_name


def operator_named(name: str, overload: str) -> OpOverload:
    """The operator of that name. Raises Malformed."""
    namespace, _, base = name.partition("::")
    if namespace == OUR_OPERATORS:
        from codegen.kernel.own_operators import define_all  # lazy: import time

        define_all()
    packet = getattr(getattr(torch.ops, namespace, None), base, None)
    found = getattr(packet, overload or "default", None)
    if not isinstance(found, OpOverload) or is_foreign(found):
        raise Malformed(f"no such operator: {name}.{overload}")
    return found
