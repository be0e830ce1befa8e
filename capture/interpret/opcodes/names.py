"""Instructions that load or store locals, cells and globals, and imports.

In:  a name; for a store, the value on the stack.
Out: the variable of the value on the stack; for a store, a change of `tx.locals` or a side effect.

    LOAD_GLOBAL relu    ->    the variable of the function, with the source GlobalSource("relu")
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import types
from typing import TYPE_CHECKING, Any

from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak
from capture.sizes.counters import check_counter, counts_up
from capture.variables.core.exception import ObservedException, raise_new, raise_python
from capture.variables.core.makers import make
from guards.kinds.containers import DictContainsGuard
from guards.kinds.identity import IdentityGuard
from guards.namespace import STACK_ITEM
from guards.sources import ConstantSource, DictItemSource

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator
    from capture.variables.core.base import Variable


IMPORT = builtins.__import__  # of Python itself; a program may replace it
LOADED = ConstantSource(sys.modules, "sys.modules")


@opcode("LOAD_FAST")
def _load_fast(tx: Translator, instruction: Instruction) -> None:
    name: str = instruction.value
    if name.startswith(STACK_ITEM):  # a resume function puts the item back on the stack, still lazy
        tx.push(tx.locals[name])
    else:
        tx.push(tx.load_local(name))


@opcode("STORE_FAST")
def _store_fast(tx: Translator, instruction: Instruction) -> None:
    tx.locals[instruction.value] = tx.stack.pop()


@opcode("DELETE_FAST")
def _delete_fast(tx: Translator, instruction: Instruction) -> None:
    tx.bound_local(instruction.value)
    del tx.locals[instruction.value]


# --- cells ----------------------------------------------------------------------------------------------


@opcode("MAKE_CELL")
def _make_cell(tx: Translator, instruction: Instruction) -> None:
    name = instruction.value
    cell: Any = make(types.CellType, tx.locals.pop(name, None))
    tx.cells[name] = cell


@opcode("LOAD_CLOSURE")
def _load_closure(tx: Translator, instruction: Instruction) -> None:
    tx.push(tx.cells[instruction.value])


@opcode("LOAD_DEREF")
def _load_deref(tx: Translator, instruction: Instruction) -> None:
    tx.push(tx.read_cell(tx.cells[instruction.value], instruction.value))


@opcode("STORE_DEREF")
def _store_deref(tx: Translator, instruction: Instruction) -> None:
    tx.write_cell(tx.cells[instruction.value], tx.pop())


@opcode("DELETE_DEREF")
def _delete_deref(tx: Translator, instruction: Instruction) -> None:
    cell = tx.cells[instruction.value]
    tx.read_cell(cell, instruction.value)
    tx.write_cell(cell, None)


# --- globals --------------------------------------------------------------------------------------------


@opcode("LOAD_GLOBAL")
def _load_global(tx: Translator, instruction: Instruction) -> None:
    assert instruction.arg is not None
    if instruction.arg & 1:
        tx.push_null()
    tx.push(tx.scope.load(tx.output, instruction.value))


@opcode("STORE_GLOBAL")
def _store_global(tx: Translator, instruction: Instruction) -> None:
    tx.output.objects.check_no_dict_of(tx.scope.globals)
    value = tx.stack.pop()
    tx.output.side_effects.store_global(tx.scope.globals, instruction.value, value)
    if counts_up(tx, value):
        check_counter(tx, tx.scope.source_of(instruction.value), value)


@opcode("DELETE_GLOBAL")
def _delete_global(tx: Translator, instruction: Instruction) -> None:
    tx.scope.delete(tx.output, instruction.value)


# --- bodies of classes ----------------------------------------------------------------------------------


@opcode("LOAD_BUILD_CLASS")
def _load_build_class(tx: Translator, instruction: Instruction) -> None:
    tx.push(tx.wrap(builtins.__build_class__, ConstantSource(builtins.__build_class__)))


@opcode("LOAD_NAME")
def _load_name(tx: Translator, instruction: Instruction) -> None:
    name: str = instruction.value
    tx.push(tx.load_local(name) if name in tx.locals else tx.scope.load(tx.output, name))


@opcode("LOAD_CLASSDEREF")
def _load_class_deref(tx: Translator, instruction: Instruction) -> None:
    name: str = instruction.value
    tx.push(tx.load_local(name) if name in tx.locals else tx.read_cell(tx.cells[name], name))


@opcode("STORE_NAME")
def _store_name(tx: Translator, instruction: Instruction) -> None:
    tx.locals[instruction.value] = tx.pop()


@opcode("DELETE_NAME")
def _delete_name(tx: Translator, instruction: Instruction) -> None:
    name: str = instruction.value
    if name not in tx.locals:
        raise raise_new(NameError, f"name '{name}' is not defined")
    del tx.locals[name]


@opcode("SETUP_ANNOTATIONS")
def _setup_annotations(tx: Translator, instruction: Instruction) -> None:
    tx.locals.setdefault("__annotations__", make(dict))


# --- imports --------------------------------------------------------------------------------------------


@opcode("IMPORT_NAME")
def _import_name(tx: Translator, instruction: Instruction) -> None:
    """A loaded module is a constant. Python has to load any other."""
    level, names = (v.as_constant() for v in tx.pop_many(2))
    name = instruction.value
    if tx.scope.builtins.get("__import__") is not IMPORT:
        raise GraphBreak("import", name=name)
    tx.output.guards.add(IdentityGuard.of(tx.scope.builtin_source("__import__"), IMPORT))
    if level:
        name = importlib.util.resolve_name("." * level + name, tx.scope.globals.get("__package__") or "")
    if name not in sys.modules:
        raise GraphBreak("import", name=name)
    name = name if names else name.split(".")[0]
    tx.push(tx.wrap(sys.modules[name], DictItemSource(LOADED, name)))


@opcode("IMPORT_FROM")
def _import_from(tx: Translator, instruction: Instruction) -> None:
    """An attribute of the module, else the loaded module of that name below it, else an error."""
    module, name = tx.top(), instruction.value
    found = _attribute(tx, module, name)
    tx.push(found if found is not None else _loaded_below(tx, module, name))


def _attribute(tx: Translator, value: Variable, name: str) -> Variable | None:
    """None where Python raises AttributeError."""
    try:
        return value.get_attr(tx, name)
    except ObservedException as raised:
        if issubclass(raised.variable.python_type(), AttributeError):
            return None
        raise


def _loaded_below(tx: Translator, module: Variable, name: str) -> Variable:
    if not isinstance(module.real_value(), types.ModuleType):
        raise GraphBreak("import", name=name)
    package, file = (_attribute(tx, module, field) for field in ("__name__", "__file__"))
    texts = [value is None or isinstance(value.real_value(), str) for value in (package, file)]
    if package is None or not all(texts) or _is_initializing(module.real_value()):
        raise GraphBreak("import", name=name)  # Python has other words for them
    whole_name = f"{package.as_constant()}.{name}"
    if whole_name in sys.modules:
        return tx.wrap(sys.modules[whole_name], DictItemSource(LOADED, whole_name))
    tx.output.guards.add(DictContainsGuard.of(LOADED, whole_name, False))
    path = None if file is None else file.as_constant()
    text = f"cannot import name {name!r} from {package.as_constant()!r} ({path or 'unknown location'})"
    raise raise_python(ImportError(text, name=package.as_constant(), path=path))


def _is_initializing(module: types.ModuleType) -> bool:
    return bool(getattr(vars(module).get("__spec__"), "_initializing", False))
