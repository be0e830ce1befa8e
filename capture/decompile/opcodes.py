"""The instructions that decompiled code may have, but for jumps.

In:  a reader, which stands at an instruction.
Out: its stack and statements after the instruction.
"""

from __future__ import annotations

import types

import _capture

from capture.bytecode.dialects import dialect
from capture.bytecode.emit import Box
from capture.bytecode.instructions import Instruction
from capture.decompile.expressions import DISPLAY, NAME, NO_ITEM, NULL, OPERATOR, PRIMARY, Item
from capture.decompile.names import display
from capture.decompile.reader import OF_CODE, NotReadable, Reader, opcode

# --- nothing to say -----------------------------------------------------------------------------------------


@opcode("NOP", "RESUME", "PRECALL", "COPY_FREE_VARS")
def nothing(reader: Reader, instruction: Instruction) -> None:
    pass


# --- the stack ----------------------------------------------------------------------------------------------


@opcode("PUSH_NULL")
def push_null(reader: Reader, instruction: Instruction) -> None:
    reader.push(NO_ITEM)


@opcode("POP_TOP")
def pop_top(reader: Reader, instruction: Instruction) -> None:
    item = reader.pop()
    if item.waits:
        reader.statement(item.text)


@opcode("COPY")
def copy(reader: Reader, instruction: Instruction) -> None:
    place = len(reader.stack) - (instruction.arg or 0)
    if instruction.arg == 1:
        reader.name_top()
    elif reader.stack[place].waits:
        reader.settle()
    reader.push(reader.stack[place])


@opcode("SWAP")
def swap(reader: Reader, instruction: Instruction) -> None:
    count = instruction.arg or 0
    if sum(item.waits for item in reader.stack[-count:]) > 1:
        reader.settle()
    stack = reader.stack
    stack[-count], stack[-1] = stack[-1], stack[-count]


# --- variables and constants --------------------------------------------------------------------------------


@opcode("LOAD_CONST")
def load_constant(reader: Reader, instruction: Instruction) -> None:
    reader.push_constant(instruction.value)


@opcode("LOAD_ASSERTION_ERROR")
def load_assertion_error(reader: Reader, instruction: Instruction) -> None:
    reader.push_constant(AssertionError)


@opcode("LOAD_FAST")
def load_local(reader: Reader, instruction: Instruction) -> None:
    reader.push_local(reader.names.local(instruction.value))


@opcode("STORE_FAST")
def store_local(reader: Reader, instruction: Instruction) -> None:
    name, item = reader.names.local(instruction.value), reader.pop()
    if item.kind == NULL:
        return  # a mark of a call, which nobody reads
    if item.value == (None,) and reader.shared.is_dead(instruction.value, instruction.index):
        reader.release(name)
    else:
        reader.store(name, item)


@opcode("DELETE_FAST")
def delete_local(reader: Reader, instruction: Instruction) -> None:
    name = reader.names.local(instruction.value)
    reader.before_change(name)
    reader.statement(f"del {name}")


@opcode("LOAD_CLOSURE")
def load_cell(reader: Reader, instruction: Instruction) -> None:
    reader.push(Item(f"cell_of({reader.names.local(instruction.value)})", NAME))


@opcode("LOAD_DEREF", "LOAD_GLOBAL")
def load_variable(reader: Reader, instruction: Instruction) -> None:
    if instruction.name in dialect.LOADS_GLOBAL:
        if (instruction.arg or 0) & 1:
            reader.push(NO_ITEM)
        reader.push(Item(instruction.value, PRIMARY))
    else:
        reader.push(Item(reader.names.local(instruction.value), PRIMARY))


@opcode("STORE_DEREF")
def store_cell(reader: Reader, instruction: Instruction) -> None:
    item = reader.pop()
    reader.statement(f"{reader.names.local(instruction.value)} = {item.text}")


# --- attributes and items -----------------------------------------------------------------------------------


@opcode("LOAD_ATTR")
def load_attribute(reader: Reader, instruction: Instruction) -> None:
    owner = reader.pop()
    if owner.value and type(owner.value[0]) is Box:  # the name stands for what the box holds
        reader.push(Item(owner.text, NAME))
    elif owner.value and owner.value[0] is _capture.SIGNALS:
        reader.push(NO_ITEM)  # the text does not show it
    else:
        reader.push_made(f"{owner.operand}.{instruction.value}", owner)


@opcode("LOAD_METHOD")
def load_method(reader: Reader, instruction: Instruction) -> None:
    owner = reader.pop()
    reader.push(NO_ITEM)
    reader.push_made(f"{owner.operand}.{instruction.value}", owner)


@opcode("STORE_ATTR")
def store_attribute(reader: Reader, instruction: Instruction) -> None:
    value, owner = reader.pop_many(2)
    reader.statement(f"{owner.operand}.{instruction.value} = {value.text}")


@opcode("DELETE_ATTR")
def delete_attribute(reader: Reader, instruction: Instruction) -> None:
    (owner,) = reader.pop_many(1)
    reader.statement(f"del {owner.operand}.{instruction.value}")


@opcode("BINARY_SUBSCR")
def load_item(reader: Reader, instruction: Instruction) -> None:
    owner, key = reader.pop_many(2)
    reader.push_made(f"{owner.operand}[{key.text}]", owner, key)


@opcode("STORE_GLOBAL")
def store_global(reader: Reader, instruction: Instruction) -> None:
    """Not by `global`, which would have to stand before the first use of the name."""
    (item,) = reader.pop_many(1)
    reader.statement(f"{reader.names.object(globals)}()[{instruction.value!r}] = {item.text}")


@opcode("STORE_SUBSCR")
def store_item(reader: Reader, instruction: Instruction) -> None:
    value, owner, key = reader.pop_many(3)
    reader.statement(f"{owner.operand}[{key.text}] = {value.text}")


@opcode("DELETE_SUBSCR")
def delete_item(reader: Reader, instruction: Instruction) -> None:
    owner, key = reader.pop_many(2)
    reader.statement(f"del {owner.operand}[{key.text}]")


# --- operators ----------------------------------------------------------------------------------------------


@opcode("BINARY_OP")
def binary(reader: Reader, instruction: Instruction) -> None:
    symbol = dialect.BINARY_SYMBOLS[instruction.arg or 0]
    left, right = reader.pop_many(2)
    if symbol.endswith("="):
        name = reader.temporary()
        reader.statement(f"{name} = {left.text}")
        reader.statement(f"{name} {symbol} {right.text}")
        reader.push_local(name)
        return
    reader.push_made(f"{left.operand} {symbol} {right.operand}", left, right, kind=OPERATOR)


@opcode("COMPARE_OP")
def compare(reader: Reader, instruction: Instruction) -> None:
    left, right = reader.pop_many(2)
    reader.push_made(f"{left.operand} {instruction.value} {right.operand}", left, right, kind=OPERATOR)


@opcode("IS_OP")
def is_same(reader: Reader, instruction: Instruction) -> None:
    left, right = reader.pop_many(2)
    word = "is not" if instruction.arg else "is"
    reader.push_made(f"{left.operand} {word} {right.operand}", left, right, kind=OPERATOR)


@opcode("CONTAINS_OP")
def contains(reader: Reader, instruction: Instruction) -> None:
    left, right = reader.pop_many(2)
    word = "not in" if instruction.arg else "in"
    reader.push_made(f"{left.operand} {word} {right.operand}", left, right, kind=OPERATOR)


@opcode("UNARY_NOT", "UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
def unary(reader: Reader, instruction: Instruction) -> None:
    (item,) = reader.pop_many(1)
    symbol = dialect.UNARY_SYMBOLS.get(instruction.name, "not ")
    reader.push_made(f"{symbol}{item.operand}", item, kind=OPERATOR)


@opcode("FORMAT_VALUE")
def format_value(reader: Reader, instruction: Instruction) -> None:
    """A value of an f-string. `format` says it in one way, whatever quotes the texts inside have."""
    convert, has_format = instruction.value
    value, *spec = reader.pop_many(1 + has_format)
    inner = f"{reader.names.object(convert)}({value.text})" if convert else value.text
    texts = [inner, *(item.text for item in spec)]
    reader.push_made(f"{reader.names.object(format)}({', '.join(texts)})", value, *spec)


# --- containers ---------------------------------------------------------------------------------------------


@opcode("BUILD_TUPLE")
def build_tuple(reader: Reader, instruction: Instruction) -> None:
    _build(reader, instruction, "(", ")")


@opcode("BUILD_LIST")
def build_list(reader: Reader, instruction: Instruction) -> None:
    _build(reader, instruction, "[", "]")


@opcode("BUILD_SET")
def build_set(reader: Reader, instruction: Instruction) -> None:
    if instruction.arg:
        _build(reader, instruction, "{", "}")
    else:
        reader.push(Item("{*()}", DISPLAY))


def _build(reader: Reader, instruction: Instruction, begin: str, end: str) -> None:
    items = reader.pop_many(instruction.arg or 0)
    reader.push_made(display(begin, [item.text for item in items], end), *items, kind=DISPLAY)


@opcode("BUILD_MAP")
def build_map(reader: Reader, instruction: Instruction) -> None:
    items = reader.pop_many(2 * (instruction.arg or 0))
    pairs = [f"{key.text}: {value.text}" for key, value in zip(items[::2], items[1::2])]
    reader.push_made(display("{", pairs, "}"), *items, kind=DISPLAY)


@opcode("BUILD_CONST_KEY_MAP")
def build_map_of_names(reader: Reader, instruction: Instruction) -> None:
    *values, keys = reader.pop_many((instruction.arg or 0) + 1)
    pairs = [f"{key!r}: {value.text}" for key, value in zip(keys.value[0], values)]
    reader.push_made(display("{", pairs, "}"), *values, kind=DISPLAY)


@opcode("BUILD_SLICE")
def build_slice(reader: Reader, instruction: Instruction) -> None:
    items = reader.pop_many(instruction.arg or 0)
    reader.push_made(f"{reader.names.object(slice)}({', '.join(i.text for i in items)})", *items)


@opcode("LIST_TO_TUPLE")
def list_to_tuple(reader: Reader, instruction: Instruction) -> None:
    (item,) = reader.pop_many(1)
    reader.push_made(f"(*{item.operand},)", item)


@opcode("LIST_EXTEND", "SET_UPDATE")
def extend(reader: Reader, instruction: Instruction) -> None:
    _extend(reader, instruction, "*")


@opcode("DICT_UPDATE")
def update(reader: Reader, instruction: Instruction) -> None:
    _extend(reader, instruction, "**")


def _extend(reader: Reader, instruction: Instruction, stars: str) -> None:
    """`[a, *more]`: nobody else has the container yet."""
    container, more = reader.pop_many(2)
    if instruction.arg != 1 or container.kind != DISPLAY:
        raise NotReadable("a container that others may have grows")
    begin, inside, end = container.text[0], container.text[1:-1], container.text[-1]
    reader.push_made(
        display(begin, [*filter(None, [inside]), stars + more.operand], end), container, more, kind=DISPLAY
    )


@opcode("UNPACK_SEQUENCE")
def unpack(reader: Reader, instruction: Instruction) -> None:
    _unpack(reader, instruction.arg or 0, None)


@opcode("UNPACK_EX")
def unpack_with_star(reader: Reader, instruction: Instruction) -> None:
    before, after = (instruction.arg or 0) & 255, (instruction.arg or 0) >> 8
    _unpack(reader, before + 1 + after, before)


def _unpack(reader: Reader, count: int, starred: int | None) -> None:
    (item,) = reader.pop_many(1)
    names = list(reader.stored_next[:count])
    if len(set(names)) < count or not set(names).isdisjoint(reader.all_reads()):
        names = [reader.temporary(place) for place in range(count)]
    texts = [f"*{name}" if place == starred else name for place, name in enumerate(names)]
    reader.statement(f"{display('(', texts, ')')} = {item.text}")
    for name in reversed(names):
        reader.push_local(name)


@opcode("GET_ITER")
def get_iterator(reader: Reader, instruction: Instruction) -> None:
    (item,) = reader.pop_many(1)
    reader.push_made(f"{reader.names.object(iter)}({item.text})", item)


# --- calls --------------------------------------------------------------------------------------------------


@opcode("KW_NAMES")
def keyword_names(reader: Reader, instruction: Instruction) -> None:
    reader.keywords = reader.shared.code.co_consts[instruction.arg or 0]


@opcode("CALL")
def call(reader: Reader, instruction: Instruction) -> None:
    args = reader.pop_many(instruction.arg or 0)
    callee, mark = reader.pop(), reader.pop()
    if mark.kind != NULL:  # a method, and its object before the arguments
        args, callee = (callee, *args), mark
    first = len(args) - len(reader.keywords)
    texts = [item.text for item in args[:first]]
    texts += [f"{name}={item.text}" for name, item in zip(reader.keywords, args[first:])]
    reader.keywords = ()
    if callee.value == (types.FunctionType,) and _is_plain_function(args):
        reader.push(_function(args))
    else:
        reader.push_made(f"{callee.operand}({', '.join(texts)})", callee, *args)


def _is_plain_function(args: tuple[Item, ...]) -> bool:
    """FunctionType(code, globals(), name, None, cells)"""
    return len(args) == 5 and bool(args[0].value and args[2].value) and args[3].value == (None,)


def _function(args: tuple[Item, ...]) -> Item:
    """A new function, by the name of its code. Its cells stand behind it."""
    code, cells = args[0].text.removesuffix(OF_CODE), args[4]
    if cells.value == (None,):
        return Item(code, NAME)
    return Item(f"with_cells({code}, {cells.text})", PRIMARY, cells.reads)


@opcode("CALL_FUNCTION_EX")
def call_with_stars(reader: Reader, instruction: Instruction) -> None:
    count = 1 + ((instruction.arg or 0) & 1)
    args = reader.pop_many(count)
    callee, mark = reader.pop(), reader.pop()
    if mark.kind != NULL:
        raise NotReadable("a call in the other form")
    texts = [f"{stars}{item.operand}" for stars, item in zip(("*", "**"), args)]
    reader.push_made(f"{callee.operand}({', '.join(texts)})", callee, *args)


@opcode("MAKE_FUNCTION")
def make_function(reader: Reader, instruction: Instruction) -> None:
    if instruction.arg:
        raise NotReadable("a function with defaults or cells")
    (code,) = reader.pop_many(1)
    reader.push(Item(code.text.removesuffix(OF_CODE), NAME))


# --- statements of the program in pieces --------------------------------------------------------------------


@opcode("BEFORE_WITH")
def enter_with(reader: Reader, instruction: Instruction) -> None:
    (manager,) = reader.pop_many(1)
    names = [reader.temporary(place) for place in range(2)]
    reader.statement(f"{display('(', names, ')')} = enter_with({manager.text})")
    for name in names:
        reader.push_local(name)


@opcode("WITH_EXCEPT_START")
def exit_with(reader: Reader, instruction: Instruction) -> None:
    reader.settle()
    leave, error = reader.stack[-4], reader.stack[-1]
    reader.push_made(f"exit_with({leave.text}, {error.text})", leave, error)


@opcode("PUSH_EXC_INFO")
def enter_handler(reader: Reader, instruction: Instruction) -> None:
    reader.name_top()
    error, before = reader.pop(), reader.temporary()
    reader.statement(f"{before} = enter_handler({error.text})")
    reader.push_local(before)
    reader.push(error)


@opcode("POP_EXCEPT")
def leave_handler(reader: Reader, instruction: Instruction) -> None:
    (before,) = reader.pop_many(1)
    reader.statement(f"leave_handler({before.text})")


# --- the end ------------------------------------------------------------------------------------------------


@opcode("RETURN_VALUE")
def return_value(reader: Reader, instruction: Instruction) -> None:
    (item,) = reader.pop_many(1)
    reader.statement(f"return {item.text}", ends=True)


@opcode("RAISE_VARARGS")
def raise_exception(reader: Reader, instruction: Instruction) -> None:
    items = reader.pop_many(instruction.arg or 0)
    reader.statement(" from ".join(["raise " + items[0].text, *(i.text for i in items[1:])]), ends=True)


@opcode("RERAISE")
def raise_again(reader: Reader, instruction: Instruction) -> None:
    """With the traceback that the exception has, which no statement of Python does."""
    (error,) = reader.pop_many(1)
    reader.statement(f"reraise({error.text})", ends=True)
