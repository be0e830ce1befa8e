"""The statements of a code object whose jumps all lead forward.

In:  the instructions of a code object, with the handlers of their try blocks.
Out: nested statements. Both sides of a condition are read to their ends; what they have in common at the
     end stands once, behind the `if`.

    POP_JUMP_IF_FALSE to L; ... RETURN; L: ...    ->    if c: ... return ...
                                                        ...
"""

from __future__ import annotations

import types

from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import Handler, Instruction, decode
from capture.decompile.conditions import CONDITIONS, Fork
from capture.decompile.expressions import NAME, Block, Item, Line, Statements, common_end
from capture.decompile.reader import ERROR, NotReadable, Reader, Shared

#: statements of one path through a function; a function with more is shown as bytecode
MOST_STATEMENTS = 2000


class Flow:
    def __init__(self, code: types.CodeType, shared: Shared) -> None:
        decoded = decode(code)
        self.instructions, self.handlers = decoded.instructions, decoded.handlers
        self.first_line = code.co_firstlineno
        self.shared = shared
        self._known: dict[tuple[int, tuple[Item, ...]], Statements] = {}

    def path(self, index: int, stack: tuple[Item, ...]) -> Statements:
        """All statements from an instruction to the end of the frame."""
        key = (index, stack)
        if key not in self._known:
            self._known[key] = self._path(index, Reader(self.shared, stack))
        return self._known[key]

    def _path(self, index: int, reader: Reader) -> Statements:
        while True:
            handler = self.handlers[index]
            if handler is not None:
                reader.settle()
                reader.finish()
                return (*reader.statements, *self._try(index, tuple(reader.stack), handler))
            instruction = self._begin(index, reader)
            if instruction.name in dialect.ALWAYS_JUMPS:
                index = self._forward(instruction)
            elif instruction.target is not None:
                return self._fork(instruction, reader)
            else:
                reader.read(instruction)
                if instruction.name in dialect.ENDS:
                    return tuple(reader.statements)
                index += 1

    def _begin(self, index: int, reader: Reader) -> Instruction:
        instruction = self.instructions[index]
        # new instructions have the first line of the function
        line = instruction.line if instruction.line != self.first_line else None
        reader.begin(index, line, self._stores(index + 1))
        return instruction

    def _forward(self, instruction: Instruction) -> int:
        if instruction.target is None or instruction.target <= instruction.index:
            raise NotReadable("a loop")
        return instruction.target

    def _stores(self, index: int) -> tuple[str, ...]:
        """The locals that the instructions from here on store, one after the other."""
        result = []
        while index < len(self.instructions) and self.instructions[index].name in dialect.WRITES_LOCAL:
            result.append(self.shared.names.local(self.instructions[index].value))
            index += 1
        return tuple(result)

    def _fork(self, instruction: Instruction, reader: Reader) -> Statements:
        fork = CONDITIONS[instruction.name](reader)
        reader.finish()
        return (*reader.statements, *self._sides(instruction, fork, reader.line))

    def _sides(self, instruction: Instruction, fork: Fork, line: int | None) -> Statements:
        straight = self.path(instruction.index + 1, fork.stack)
        aside = self.path(self._forward(instruction), fork.stack_at_target)
        if len(straight) + len(aside) > MOST_STATEMENTS:
            raise NotReadable("too many statements")
        return _branch(fork, straight, aside, line)

    def _try(self, index: int, stack: tuple[Item, ...], handler: Handler) -> Statements:
        reader = Reader(self.shared, stack)
        after: Statements | None = None
        while self.handlers[index] == handler and after is None:
            instruction = self._begin(index, reader)
            index += 1
            if instruction.target is None:
                reader.read(instruction)
                after = () if instruction.name in dialect.ENDS else None
            else:
                fork = CONDITIONS[instruction.name](reader).tried(reader)
                after = self._sides(instruction, fork, reader.line)
        if after is None:
            if self._stores(index):
                reader.name_top()
            reader.settle()
            after = self.path(index, tuple(reader.stack))
        reader.finish()
        error = Item(next(iter(self._stores(handler.target)), None) or reader.temporary(ERROR), NAME)
        below = (*stack[: handler.depth], *([Item(f"lasti_of({error.text})", NAME)] if handler.lasti else []))
        caught = self.path(handler.target, (*below, error))
        body = tuple(reader.statements)
        return (Block("try", body), Block(f"except BaseException as {error.text}", caught), *after)


def _branch(fork: Fork, straight: Statements, aside: Statements, line: int | None) -> Statements:
    common = common_end(straight, aside)
    end = straight[len(straight) - common :]
    straight, aside = straight[: len(straight) - common], aside[: len(aside) - common]
    yes = Block(f"if {fork.condition}", straight, line)
    no = Block(f"if {fork.negation}", aside, line)
    if not straight and not aside:
        return (Line(fork.condition, line), *end)
    if not straight:
        return (no, *end)
    if not aside:
        return (yes, *end)
    if common:
        return (yes, Block("else", aside), *end)
    program_s_own = line is not None
    return (yes, *aside) if program_s_own or len(straight) <= len(aside) else (no, *straight)
