"""Runs of a code object and of its text, with all that they do to objects written down.

In:  a code object of a rewritten frame, and its `Decompiled`.
Out: for each run the actions in their order, and the result or the exception.

Every object is a `Token`, which answers each action with another token. A run is told which action raises,
and how conditions are decided; so all paths are taken.
"""

from __future__ import annotations

import ast
import dis
import types
from typing import Any

import _capture

from capture.bytecode.emit import Box
from capture.decompile import Decompiled
from capture.decompile.conditions import ENDED
from capture.decompile.names import literal

LIMIT = 300  # actions of a run


class Planned(Exception):
    pass


class Run:
    def __init__(self, raises_at: int, decisions: int, unpacked: int) -> None:
        self.raises_at, self.decisions, self.unpacked = raises_at, decisions, unpacked
        self.actions: list[str] = []
        self.tokens = 0
        self.asked = 0

    def act(self, text: str) -> None:
        self.actions.append(text)
        if len(self.actions) > LIMIT or len(self.actions) == self.raises_at:
            raise Planned(text)

    def decide(self) -> bool:
        self.asked += 1
        return bool(self.decisions >> (self.asked % 4) & 1)

    def token(self, name: str = "") -> Token:
        if not name:
            self.tokens += 1
            name = f"t{self.tokens}"
        return Token(self, name)


def _action(name: str, result: bool = True) -> Any:
    def method(self: Token, *args: Any, **kwargs: Any) -> Any:
        run = object.__getattribute__(self, "run")
        shown = [*map(shown_value, args), *(f"{k}={shown_value(v)}" for k, v in kwargs.items())]
        run.act(f"{shown_value(self)}.{name}({', '.join(shown)})")
        return run.token() if result else None

    return method


class Token:
    def __init__(self, run: Run, name: str) -> None:
        object.__setattr__(self, "run", run)
        object.__setattr__(self, "name", name)

    def __bool__(self) -> bool:
        run = object.__getattribute__(self, "run")
        run.act(f"bool of {shown_value(self)}")
        return run.decide()

    def __iter__(self) -> Any:
        run = object.__getattribute__(self, "run")
        run.act(f"iter of {shown_value(self)}")
        return Items(run, run.unpacked)

    def __next__(self) -> Token:
        run = object.__getattribute__(self, "run")
        run.act(f"next of {shown_value(self)}")
        if run.decide():
            return run.token()
        raise StopIteration

    def keys(self) -> list[str]:
        return ["key"]

    def __format__(self, spec: str) -> str:
        object.__getattribute__(self, "run").act(f"format of {shown_value(self)} as {spec!r}")
        return shown_value(self)

    def __repr__(self) -> str:
        return shown_value(self)

    __hash__ = object.__hash__


class Function(Token):
    """In place of a function, so that no code of the program runs."""

    def __init__(self, run: Run, code: types.CodeType, cells: int = 0) -> None:
        super().__init__(run, f"function of {id(code)} with {cells}")
        object.__setattr__(self, "code", code)

    def __getattribute__(self, name: str) -> Any:
        if name == "__code__":
            return object.__getattribute__(self, "code")
        return Token.__getattribute__(self, name)


class Items:
    def __init__(self, run: Run, count: int) -> None:
        self.run, self.left = run, count

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Token:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.run.token()


_OPERATORS = "add sub mul truediv matmul mod iadd imul eq lt gt ne le ge neg"
for _name in f"enter exit call getattribute getitem {_OPERATORS}".split():
    setattr(Token, f"__{_name}__", _action(_name))
for _name in "setattr delattr setitem delitem".split():
    setattr(Token, f"__{_name}__", _action(_name, result=False))


def shown_value(value: Any) -> str:
    if isinstance(value, Token):
        return object.__getattribute__(value, "name")
    if isinstance(value, set):
        return f"set({', '.join(sorted(map(shown_value, value)))})"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(shown_value, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{shown_value(k)}: {shown_value(v)}' for k, v in value.items())})"
    if isinstance(value, slice):
        return f"slice({', '.join(map(shown_value, (value.start, value.stop, value.step)))})"
    if isinstance(value, types.FunctionType):
        return f"function of {id(value.__code__)} with {len(value.__closure__ or ())}"
    return repr(value) if literal(value) is not None else type(value).__name__


def outcome(run: Run, function: Any, arguments: list[Any]) -> tuple[list[str], str]:
    try:
        ended = shown_value(function(*arguments))
    except BaseException as error:
        ended = f"{type(error).__name__}: {error}"
    return run.actions, ended


#: these are what they are in both runs
_REAL = (types.CellType, globals, bool, iter, slice, format, str, repr, ascii, ENDED)
_REAL += (_capture.SIGNALS,)  # no text shows it


def both(code: types.CodeType, text: Decompiled, raises_at: int, decisions: int) -> Any:
    """The outcomes of the code and of its text."""
    count = code.co_argcount
    unpacked = next((i.arg for i in dis.get_instructions(code) if i.opname == "UNPACK_SEQUENCE"), 2)
    cells = {name: types.CellType() for name in code.co_freevars}
    result = []
    for of_text in (False, True):
        run = Run(raises_at, decisions, unpacked or 2)
        stand_in = _stand_ins(run, code, text)
        names = {name: run.token(f"global {name}") for name in code.co_names}
        for cell_name, cell in cells.items():
            cell.cell_contents = run.token(f"cell {cell_name}")
        function = (_of_text if of_text else _of_code)(run, code, text, stand_in, names, cells)
        result.append(outcome(run, function, [run.token(f"argument {i}") for i in range(count)]))
    return result


def _stand_ins(run: Run, code: types.CodeType, text: Decompiled) -> dict[int, Any]:
    """For each object among the constants a token, by id."""
    result: dict[int, Any] = {}
    for constant in code.co_consts:
        held = constant.value if type(constant) is Box else constant
        kept = (
            literal(held) is not None or type(held) in (types.CodeType, dict) or any(held is r for r in _REAL)
        )
        result[id(held)] = held if kept else run.token(f"constant {len(result)}")

    def function(code: types.CodeType, names: Any, name: str, defaults: Any, cells: Any) -> Function:
        run.act(f"function with {shown_value(defaults)}") if defaults else None
        return Function(run, code, len(cells or ()))

    result[id(types.FunctionType)] = function
    return result


def _of_code(run: Run, code: Any, text: Decompiled, stand_in: Any, names: Any, cells: Any) -> Any:
    constants = []
    for constant in code.co_consts:
        if type(constant) is Box:
            constants.append(Box(stand_in[id(constant.value)]))
        else:
            constants.append(stand_in[id(constant)])
    closure = tuple(cells[name] for name in code.co_freevars)
    return types.FunctionType(code.replace(co_consts=tuple(constants)), names, "f", None, closure)


class _Cells(ast.NodeTransformer):
    """`cell_of(x)` -> `cells["x"]`"""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "cell_of":
            name = node.args[0].id  # type: ignore[attr-defined]
            return ast.Subscript(ast.Name("cells", ast.Load()), ast.Constant(name), ast.Load())
        return node


def _of_text(run: Run, code: Any, text: Decompiled, stand_in: Any, names: Any, cells: Any) -> Any:
    tree = _Cells().visit(ast.parse(text.text))
    inner = compile(ast.fix_missing_locations(tree), "<text>", "exec")
    for _ in range(2 if cells else 1):  # with free variables, the function is in one that has them
        inner = next(c for c in inner.co_consts if isinstance(c, types.CodeType))
    namespace = {**names, "cells": cells, "enter_with": _enter_with}
    namespace["with_cells"] = lambda f, cells: Function(run, object.__getattribute__(f, "code"), len(cells))
    for name, value in text.objects.items():
        found = stand_in.get(id(value), value)
        namespace[name] = Function(run, found) if type(found) is types.CodeType else found
    return types.FunctionType(inner, namespace, "f", None, tuple(cells[n] for n in inner.co_freevars))


def _enter_with(manager: Any) -> tuple[Any, Any]:
    leave = type(manager).__exit__.__get__(manager)
    return leave, type(manager).__enter__(manager)
