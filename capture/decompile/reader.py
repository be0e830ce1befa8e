"""What instructions without jumps do: they change the stack and write statements.

In:  one instruction after the other.
Out: `stack`, and `statements` in the order in which they run.

    reader.push("f(x)", ...); reader.store("y")    ->    y = f(x)
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable
from typing import Any

from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import Instruction, decode
from capture.bytecode.liveness import live_names
from capture.decompile.expressions import NAME, NO_ITEM, PRIMARY, Item, Line, made_of
from capture.decompile.names import Names, literal

Handler = Callable[["Reader", Instruction], None]
HANDLERS: dict[str, Handler] = {}


class NotReadable(Exception):
    """There is no Python text for what the instructions do here."""


def opcode(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return register


OF_CODE = ".__code__"  # an object's name stands for the function that its code makes
ERROR = -2  # of a temporary: in place of a place on the stack


class Shared:
    """What all paths through one code object share."""

    def __init__(self, code: types.CodeType, names: Names) -> None:
        self.names = names
        self.code = code
        self.held: dict[tuple[int, int], str] = {}  # instruction and place on the stack -> temporary
        self.aliases: dict[str, Item] = {}
        self._stores = _stores(code, names)

    def stands_for(self, name: str, item: Item) -> bool:
        """Whether a new local is but another name of a local that keeps its value."""
        if not self._is_new(name) or item.kind != NAME or not all(map(self._is_new, item.reads)):
            return False
        return item == self.aliases.setdefault(name, item)

    def _is_new(self, name: str) -> bool:
        return self._stores[name] <= 1 and name not in self.names.of_program

    def is_dead(self, name: str, index: int) -> bool:
        """Whether nothing reads the local behind an instruction."""
        return name not in live_names(self.code, index + 1)


def _stores(code: types.CodeType, names: Names) -> Counter[str]:
    """How often each local is stored, but for the None that releases its object."""
    found: Counter[str] = Counter()
    before = None
    for item in decode(code).instructions:
        if item.name in dialect.WRITES_LOCAL and not (
            before is not None and before.value is None and before.name in dialect.LOADS_CONSTANT
        ):
            found[names.local(item.value)] += 1
        before = item
    return found


class Reader:
    def __init__(self, shared: Shared, stack: tuple[Item, ...]) -> None:
        self.shared = shared
        self.names = shared.names
        self.stack = list(stack)
        self.statements: list[Any] = []
        self.released: list[str] = []
        self.index = 0
        self.line: int | None = None
        self.keywords: tuple[str, ...] = ()
        self.stored_next: tuple[str, ...] = ()  # the locals that the next instructions store

    def begin(self, index: int, line: int | None, stored_next: tuple[str, ...]) -> None:
        """Go to an instruction."""
        self.index, self.line, self.stored_next = index, line, stored_next

    def read(self, instruction: Instruction) -> None:
        handler = HANDLERS.get(instruction.name)
        if handler is None:
            raise NotReadable(instruction.name)
        handler(self, instruction)

    # --- the stack ---

    def pop(self) -> Item:
        return self.stack.pop()

    def pop_many(self, count: int) -> tuple[Item, ...]:
        items = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        if NO_ITEM in items:
            raise NotReadable("a mark of a call among values")
        return items

    def push(self, item: Item) -> None:
        self.stack.append(item)

    def push_made(self, text: str, *parts: Item, kind: int = PRIMARY) -> None:
        self.stack.append(made_of(text, parts, kind, self.line))

    def push_local(self, name: str) -> None:
        self.stack.append(self.shared.aliases.get(name) or Item(name, NAME, frozenset((name,))))

    def push_constant(self, value: Any) -> None:
        text = literal(value)
        if text is None:
            text = self.names.object(value) + (OF_CODE if type(value) is types.CodeType else "")
        self.stack.append(Item(text, NAME, value=(value,)))

    def name_top(self) -> None:
        """Make the top item one that may be used twice."""
        if self.stack[-1].waits:
            self.settle(1)
            name = next(iter(self.stored_next), None)
            others = {read for item in self.stack[:-1] for read in item.reads}
            self.hold(len(self.stack) - 1, None if name in others else name)

    def hold(self, place: int, name: str | None = None) -> None:
        """Store an item of the stack in a local. All that waits below it is stored already."""
        name = name or self.temporary(place)
        item = self.stack[place]
        self._write(Line(f"{name} = {item.text}", item.line or self.line))
        self.stack[place] = Item(name, NAME, frozenset((name,)))

    def temporary(self, place: int = -1) -> str:
        """A new local. On each path that comes here it is the same one."""
        key = (self.index, place)
        if key not in self.shared.held:
            self.shared.held[key] = self.names.fresh("value")
        return self.shared.held[key]

    def all_reads(self) -> frozenset[str]:
        return frozenset().union(*(item.reads for item in self.stack))

    def settle(self, keep: int = 0) -> None:
        """Store all that waits, but for the `keep` items on top: what follows has to come later."""
        for place in range(len(self.stack) - keep):
            if self.stack[place].waits:
                self.hold(place)

    # --- statements ---

    def statement(self, text: str, ends: bool = False) -> None:
        """What waits on the stack comes first."""
        self.settle()
        self._write(Line(text, self.line, ends))

    def _write(self, line: Line) -> None:
        self.finish()
        self.statements.append(line)

    def finish(self) -> None:
        """Before a jump or the end of a block."""
        if self.released:
            self.statements.append(Line(f"# released: {', '.join(self.released)}"))
        self.released = []

    def store(self, name: str, item: Item) -> None:
        if item.text == name or self.shared.stands_for(name, item):
            return
        self.before_change(name)
        self.settle()
        self._write(Line(f"{name} = {item.text}", item.line or self.line))

    def release(self, name: str) -> None:
        """The local lets go of its object, and nothing reads it any more. What the stack has stays alive."""
        if name in self.names.of_program and name not in self.all_reads():
            self.released.append(name)

    def before_change(self, name: str) -> None:
        """Items that read the local keep its present value."""
        for place, item in enumerate(self.stack):
            if name in item.reads:
                self.settle(len(self.stack) - place)
                self.hold(place)
