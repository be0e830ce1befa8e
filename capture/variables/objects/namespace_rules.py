"""`locals()`, `vars()`, `dir()`: the variables of the frame that calls them.

In:  a call of one of them.
Out: the one dict that the frame has for its variables. Each call brings the dict up to date. A store into the
     dict changes no variable.

A captured frame with such a call may not break, because the code after a break has its own variables
(`frame_filter.asks_for_locals`).
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.builtin import describe_all
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.constant import ConstantVariable, raise_type_error
from capture.variables.core.rules import rule
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.operations.equality import sort_items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from capture.variables.core.protocols import Interpreter

CO_OPTIMIZED = 0x01


def bound_variables(tx: Interpreter) -> Iterator[tuple[str, Variable | None]]:
    """All names of the code, in the order in which Python stores them. An unbound name has None."""
    code = tx.code
    for name in code.co_varnames:
        yield name, tx.cells[name].contents if name in tx.cells else tx.locals.get(name)
    for name in (*code.co_cellvars, *code.co_freevars):
        if name not in code.co_varnames:
            yield name, tx.cells[name].contents


def namespace(tx: Interpreter, function: str) -> DictVariable:
    if not tx.code.co_flags & CO_OPTIMIZED:
        raise GraphBreak("builtin", name=function, value="the body of a class")
    if tx.namespace is None:
        tx.namespace = DictVariable()
    for name, value in bound_variables(tx):
        if value is not None:
            tx.namespace.set_named(tx, name, ConstantVariable(name), value)
        elif name in tx.namespace.entries:
            tx.namespace.del_item(tx, ConstantVariable(name))
    return tx.namespace


@rule(builtins.locals)
def _locals(tx: Interpreter) -> Variable:
    return namespace(tx, "locals")


@rule(vars)
def _vars(tx: Interpreter, value: Variable | None = None) -> Variable:
    if value is None:
        return namespace(tx, "vars")
    try:
        return value.get_attr(tx, "__dict__")
    except ObservedException as raised:
        if not issubclass(raised.variable.python_type(), AttributeError):
            raise
        raise_type_error("vars() argument must have __dict__ attribute")


@rule(builtins.dir)
def _dir(tx: Interpreter, *args: Variable) -> Variable:
    if (
        len(args) == 1
        and isinstance(args[0], ObjectVariable)
        and args[0].has_class_attribute("__dir__", object)
    ):
        return ListVariable(sort_items(tx, args[0].call_method(tx, "__dir__", [], {}).unpack(tx), None, None))
    if args:
        raise GraphBreak("builtin", name="dir", value=describe_all(list(args)))
    names = [name for name, value in bound_variables(tx) if value is not None]
    return ListVariable([ConstantVariable(name) for name in sorted(names)])


@rule(builtins.globals, builtins.exec, builtins.eval)
def _namespace(tx: Interpreter, *args: Variable) -> Variable:
    raise GraphBreak("builtin", name="globals, exec or eval", value=describe_all(list(args)))
