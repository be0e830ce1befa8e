"""Expressions on the stack of decompiled code, and the statements that are made of them.

In:  the stack items of a code object, as instructions push and pop them.
Out: texts in which everything is evaluated in the order of the bytecode.

    LOAD_FAST x; LOAD_ATTR y; LOAD_CONST 2; BINARY_OP *    ->    Item("x.y * 2", OPERATOR, frozenset({"x"}))

An item that was computed waits on the stack for the instruction that uses it. Before a statement is written,
whatever waits below is stored in a local of its own, since it comes first.
"""

from __future__ import annotations

from typing import Any

from capture_records import dataclass

#: NAME: a local or a constant, which may be evaluated at any time. DISPLAY: a new tuple, list, set or dict.
NAME, PRIMARY, DISPLAY, OPERATOR, NULL = range(5)
INDENT = "    "


@dataclass(frozen=True)
class Item:
    """One item of the stack. reads: the locals in the text. value: a tuple with the object of a constant.
    line: of the program, where the item is the result of its own instruction.
    """

    text: str
    kind: int
    reads: frozenset[str] = frozenset()
    value: tuple[Any, ...] = ()
    line: int | None = None

    @property
    def waits(self) -> bool:
        return self.kind in (PRIMARY, DISPLAY, OPERATOR)

    @property
    def operand(self) -> str:
        """The text as a part of a larger expression."""
        return f"({self.text})" if self.kind == OPERATOR or self.text[:1] in "-0123456789" else self.text


NO_ITEM = Item("NULL", NULL)


def made_of(text: str, parts: tuple[Item, ...], kind: int = PRIMARY, line: int | None = None) -> Item:
    return Item(text, kind, frozenset().union(*(part.reads for part in parts)), line=line)


@dataclass(frozen=True)
class Line:
    """A statement of one line. `line` is the program's line, where the statement is the program's own."""

    text: str
    line: int | None = None
    ends: bool = False  # the frame ends here


@dataclass(frozen=True)
class Block:
    """`head:` and the statements below it. `ends`: nothing behind it runs, if it is entered."""

    head: str
    body: tuple[Any, ...]
    line: int | None = None


Statements = tuple[Any, ...]


def ends(statements: Statements) -> bool:
    return bool(statements) and isinstance(statements[-1], Line) and statements[-1].ends


def written(statements: Statements, depth: int) -> list[str]:
    """The lines of the statements, each at its depth."""
    result: list[str] = []
    for statement in statements:
        own = isinstance(statement, Line)
        text = statement.text if own else f"{statement.head}:"
        note = f"  # line {statement.line}" if statement.line is not None else ""
        result.append(INDENT * depth + text + note)
        if not own:
            result += written(statement.body, depth + 1) or [INDENT * (depth + 1) + "pass"]
    return result


def common_end(one: Statements, other: Statements) -> int:
    """How many statements at the end of both are the same."""
    count = 0
    while count < min(len(one), len(other)) and one[-1 - count] == other[-1 - count]:
        count += 1
    return count
