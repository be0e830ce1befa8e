"""The names that stand for locals and objects in decompiled code.

In:  a code object; the constants that its instructions load; texts that say what its slots hold.
Out: `___out_0` is `out_0` where the program has no such name; an object among the constants gets a name that
     tells what it is. `objects` has them by name.

    LOAD_CONST <class 'torch.Size'>    ->    Size
    LOAD_CONST <code object f>         ->    rest_of_f_1, if it is a resume function
"""

from __future__ import annotations

import keyword
import math
import re
import types
from collections.abc import Sequence
from typing import Any

from capture.bytecode import resume
from capture.bytecode.dialects import dialect
from capture.bytecode.emit import Box
from capture.bytecode.instructions import decode

#: classes whose values are written as they are
_PLAIN = (int, str, bytes, bool, type(None), type(Ellipsis))
OWN_PREFIX = "___"  # of the names that are not the program's
_SLOT = "___slot_"
MOST_LETTERS = 40
#: what the text calls where Python has no expression for an instruction
HELPERS = {
    "cell_of": "cell_of(x) is the cell of a variable",
    "with_cells": "with_cells(f, cells) is a function with these free variables",
    "enter_with": "enter_with(manager) enters a `with`: its bound __exit__, and the value of __enter__",
    "exit_with": "exit_with(exit, error) calls __exit__ with an exception",
    "lasti_of": "lasti_of(error) is the place of the instruction that raised it",
    "enter_handler": "enter_handler(error) handles an exception: the one that was handled before",
    "leave_handler": "leave_handler(before) ends that",
}
#: classes of ours that every text names, and what they do there
OWN_CLASSES = {
    "_capture.Continuation": "Continuation(f, arguments) makes the frame go on in f",
    "capture.frame.graph_failure.FailureHandler": "tells how to go on where the graph could not run",
    "capture.decompile.conditions.ENDED": "what next() gives where the iterator has ended",
}


def literal(value: Any) -> str | None:
    """The text of a constant, or None where it has no literal."""
    if type(value) in _PLAIN:
        return "..." if value is ... else repr(value)
    if type(value) is float and math.isfinite(value):
        return repr(value)
    if type(value) is tuple:
        parts = [literal(item) for item in value]
        known = [part for part in parts if part is not None]
        return display("(", known, ")") if len(known) == len(parts) else None
    return None


def display(begin: str, parts: list[str], end: str) -> str:
    """A tuple, list or set as text."""
    comma = "," if begin == "(" and len(parts) == 1 else ""
    return f"{begin}{', '.join(parts)}{comma}{end}"


class Names:
    def __init__(self, code: types.CodeType, slots: Sequence[str] = (), graph: Any = None) -> None:
        places = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
        self._taken = {code.co_name, *places, *dialect.names_loaded(code), *keyword.kwlist, *HELPERS, "next"}
        self._locals = {f"{_SLOT}{i}": self.fresh(_identifier(text)) for i, text in enumerate(slots)}
        self._locals = {name: self._locals.get(name) or self._short(name) for name in places}
        #: the locals of the program
        self.of_program = {text for name, text in self._locals.items() if not name.startswith(OWN_PREFIX)}
        self.objects: dict[str, Any] = {}
        self._of_object: dict[int, str] = {}
        self._graph = graph
        if graph is not None:
            self._of_object[id(graph)] = self.fresh("graph")
            self.objects[self._of_object[id(graph)]] = graph

    def _short(self, name: str) -> str:
        short = name.removeprefix(OWN_PREFIX)
        return self.fresh(short) if short != name and short.isidentifier() else name

    def fresh(self, name: str) -> str:
        """The name, or one like it that nothing has."""
        text, number = name, 1
        while text in self._taken:
            number += 1
            text = f"{name}_{number}"
        self._taken.add(text)
        return text

    def local(self, name: str) -> str:
        return self._locals[name]

    def object(self, value: Any) -> str:
        """The name of an object that has no literal."""
        held = value.value if type(value) is Box else value
        name = self._of_object.get(id(held))
        if name is None:
            name = self._of_object[id(held)] = self.fresh(_hint(held))
            self.objects[name] = held
        return name

    def meaning(self, name: str) -> str:
        """What the object of this name is, in a few words."""
        value = self.objects[name]
        return "runs the captured operations" if value is self._graph else what_it_is(value)


def _hint(value: Any) -> str:
    if isinstance(value, types.CodeType):
        kind = "rest_of_" if resume.is_resume(value) else "eager_"
        return kind + _identifier(value.co_name)
    name = _own_name(value)
    if name is not None:
        return name
    words = re.findall("[A-Z]+[a-z]*|[a-z]+", type(value).__name__)
    return "_".join(words).lower() or "value"


_NAMED = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


def _own_name(value: Any) -> str | None:
    """The name of a class, function or module, without its package."""
    if isinstance(value, _NAMED):
        return _identifier(value.__name__)
    if isinstance(value, types.ModuleType):
        return _identifier(value.__name__.rpartition(".")[2])
    return None


def _identifier(text: str) -> str:
    """`G['print']` -> `print`, `self.weight` -> `self_weight`"""
    words = re.sub(r"\W+", "_", re.sub(r"\bG\[", "", text)).strip("_")[:MOST_LETTERS] or "value"
    return words if words.isidentifier() else f"value_{words}"


def what_it_is(value: Any) -> str:
    """A few words on an object, for the head of the text. No code of the program runs."""
    if isinstance(value, types.CodeType):
        return _what_code_is(value)
    own = OWN_CLASSES.get(_class_name(value if isinstance(value, type) else type(value)))
    if own is not None:
        return own
    if isinstance(value, type):
        return f"class {_class_name(value)}"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    name = getattr(value, "__qualname__", None) if _own_name(value) is not None else None
    if name is not None:
        return f"function {getattr(value, '__module__', None) or 'builtins'}.{name}"
    return f"an object of {_class_name(type(value))}"


def _class_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _what_code_is(code: types.CodeType) -> str:
    if not resume.is_resume(code):
        return f"{code.co_qualname} as it is written"
    made = resume.made_of(code)
    original = made.owner()
    line = None if original is None else decode(original).instructions[made.target].line
    where = "" if line is None else f", from line {line} on"
    return f"the rest of {code.co_qualname}{where}"
