"""The instructions of CPython 3.11, and the patterns in which its compiler uses them.

In:  the actions of new code (`Assembler`), or an instruction of existing code.
Out: instructions, or the properties of the given one.

    Assembler().call(2)     ->     PRECALL 2; CALL 2
    is_call(CALL 2)         ->     True
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from capture.bytecode import library
from capture.bytecode.dialects.py311_compared import Compared as Compared
from capture.bytecode.dialects.py311_compared import Number as Number
from capture.bytecode.dialects.py311_compared import compared as compared
from capture.bytecode.dialects.py311_prefix import with_prefix as with_prefix
from capture.bytecode.dialects.py311_read import RawInstruction as RawInstruction
from capture.bytecode.dialects.py311_read import names_loaded as names_loaded
from capture.bytecode.dialects.py311_read import raw_instructions as raw_instructions
from capture.bytecode.dialects.py311_stack import ALWAYS_JUMPS as ALWAYS_JUMPS
from capture.bytecode.dialects.py311_stack import CODE_UNIT as CODE_UNIT
from capture.bytecode.dialects.py311_stack import JUMPS as JUMPS
from capture.bytecode.dialects.py311_stack import STEPS_LOOP as STEPS_LOOP
from capture.bytecode.dialects.py311_stack import UNPACKS as UNPACKS
from capture.bytecode.dialects.py311_stack import BareInstruction as BareInstruction
from capture.bytecode.dialects.py311_stack import bare_instructions as bare_instructions
from capture.bytecode.dialects.py311_stack import depth_at_start as depth_at_start
from capture.bytecode.dialects.py311_stack import stack_after as stack_after
from capture.bytecode.dialects.py311_stack import untouched as untouched
from capture.bytecode.emit import Box, Emission, held_constant

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction

# --- families of instructions, by name ----------------------------------------------------------------------

#: each loop ends with one
JUMPS_BACK = frozenset(name for name in dis.opmap if "JUMP_BACKWARD" in name)
_JUMPS_BACK = frozenset(dis.opmap[name] for name in JUMPS_BACK)


def jumps_back(code: CodeType) -> bool:
    """Whether the code itself has a loop."""
    return not _JUMPS_BACK.isdisjoint(code.co_code[::CODE_UNIT])


RETURNS = frozenset(("RETURN_VALUE",))
RAISES = frozenset(("RAISE_VARARGS",))
RERAISES = frozenset(("RERAISE",))
#: after these, only exception handlers of the frame may run
ENDS = RETURNS | RAISES | RERAISES

LOADS_CONSTANT = frozenset(("LOAD_CONST",))
LOADS_ASSERTION_ERROR = frozenset(("LOAD_ASSERTION_ERROR",))
#: the instruction of functions
LOADS_GLOBAL = frozenset(("LOAD_GLOBAL",))
#: the instructions of functions and of class bodies
LOADS_NAME = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))

#: what a module does to its variables, and a function to its globals
GLOBAL_OF = {"LOAD_NAME": "LOAD_GLOBAL", "STORE_NAME": "STORE_GLOBAL", "DELETE_NAME": "DELETE_GLOBAL"}
#: these need the dict of the locals, which a function has not
NEEDS_LOCALS = frozenset(("IMPORT_STAR", "LOAD_CLASSDEREF"))
#: makes `__annotations__` in that dict
MAKES_ANNOTATIONS = frozenset(("SETUP_ANNOTATIONS",))

#: these read or delete a local or a cell, which must be bound
READS_VARIABLE = frozenset(
    ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF", "DELETE_FAST", "DELETE_DEREF")
)
#: of these, the instructions on locals
READS_LOCAL = frozenset(("LOAD_FAST", "DELETE_FAST"))
DELETES_LOCAL = frozenset(("DELETE_FAST",))
#: the old value of the local is dead; the old value of a cell may still be used by a closure
WRITES_LOCAL = frozenset(("STORE_FAST",))
CALLS_WITH_STARS = frozenset(("CALL_FUNCTION_EX",))  # f(*args, **kwargs)
LOADS_CELL = frozenset(("LOAD_CLOSURE",))
READS_CELL = frozenset(("LOAD_DEREF",))
WRITES_CELL = frozenset(("STORE_DEREF",))
DELETES_CELL = frozenset(("DELETE_DEREF",))
CHANGES_CELL = WRITES_CELL | DELETES_CELL
_MAKES_CELLS = frozenset(("MAKE_CELL", "COPY_FREE_VARS"))

PREPARES_CALL = frozenset(("PRECALL", "KW_NAMES"))  # `call` adds them
#: what stands in front of the first statement of a frame
BEGINS_FRAME = _MAKES_CELLS | {"RESUME"}

#: takes the next item of the inner iterator of `yield from`
DELEGATES = frozenset(("SEND",))

#: instructions of `except` clauses
ENTERS_HANDLER = frozenset(("PUSH_EXC_INFO",))
TESTS_EXCEPTION = frozenset(("CHECK_EXC_MATCH",))
BUILDS_CLASSES = frozenset(("BUILD_TUPLE",))  # of `except (A, B)`
LEAVES_HANDLER = frozenset(("COPY", "POP_EXCEPT"))  # by an exception
FORGETS_NAME = ("STORE_FAST", "DELETE_FAST")  # after a None: the end of `except E as name`

#: `with manager:` without `as`
ENTERS_WITH_UNNAMED = ("BEFORE_WITH", "POP_TOP")

#: Instructions that may run much code. If a graph reaches the size limit, it ends at one of them: each loop
#: has one, and a graph break is possible at each.
COUNTED = frozenset(
    (
        "CALL",
        "CALL_FUNCTION_EX",
        "FOR_ITER",
        "BINARY_OP",
        "BINARY_SUBSCR",
        "COMPARE_OP",
        "LOAD_ATTR",
        "LOAD_METHOD",
        "GET_ITER",
    )
)

#: instructions that may wait for something outside of Python: a lock, a queue, another process
MAY_WAIT = frozenset(("CALL", "CALL_FUNCTION_EX", "FOR_ITER", "BEFORE_WITH", "WITH_EXCEPT_START"))

#: behind these the interpreter looks for signals
LOOKS_FOR_SIGNALS = frozenset(("CALL", "CALL_FUNCTION_EX"))

#: operators by the name of the instruction
UNARY_SYMBOLS = {"UNARY_NEGATIVE": "-", "UNARY_POSITIVE": "+", "UNARY_INVERT": "~"}
#: operators by the operand of BINARY_OP: "+", "+=", ...
BINARY_SYMBOLS: list[str] = [symbol for _, symbol in dis._nb_ops]  # type: ignore[attr-defined]

#: instructions that one handler of `capture/interpret/opcodes/` serves under another name
SAME_AS = {
    "RESUME": "NOP",
    "PRECALL": "NOP",
    "CACHE": "NOP",
    "EXTENDED_ARG": "NOP",
    "COPY_FREE_VARS": "NOP",
    "JUMP_FORWARD": "JUMP",
    "JUMP_BACKWARD": "JUMP",
    "JUMP_BACKWARD_NO_INTERRUPT": "JUMP",
    "POP_JUMP_FORWARD_IF_TRUE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_TRUE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_FORWARD_IF_FALSE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_BACKWARD_IF_FALSE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_FORWARD_IF_NONE": "POP_JUMP_IF_NONE",
    "POP_JUMP_BACKWARD_IF_NONE": "POP_JUMP_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE": "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_BACKWARD_IF_NOT_NONE": "POP_JUMP_IF_NOT_NONE",
}

_ASYNCHRONOUS = "asynchronous code is left to Python"
#: instructions without a handler, and why they break the graph
UNSUPPORTED = {
    "PRINT_EXPR": "interactive statements only",
    "IMPORT_STAR": "module level only",
    "GET_AITER": _ASYNCHRONOUS,
    "GET_ANEXT": _ASYNCHRONOUS,
    "BEFORE_ASYNC_WITH": _ASYNCHRONOUS,
    "END_ASYNC_FOR": _ASYNCHRONOUS,
    "ASYNC_GEN_WRAP": _ASYNCHRONOUS,
    "GET_AWAITABLE": _ASYNCHRONOUS,
}

OPCODES = frozenset(dis.opmap)


# --- reading ------------------------------------------------------------------------------------------------


def exception_table(code: CodeType) -> Iterable[Any]:
    """Entries with `start`, `end`, `target` (byte offsets), `depth` and `lasti`."""
    return dis._parse_exception_table(code)  # type: ignore[attr-defined]


def listing(code: CodeType) -> str:
    return dis.Bytecode(code).dis().rstrip()


def places_of_variables(code: CodeType) -> dict[str, int]:
    """Where a frame has its locals, cells and free variables. Its stack is behind them."""
    own_cells = (name for name in code.co_cellvars if name not in code.co_varnames)
    names = (*code.co_varnames, *own_cells, *code.co_freevars)
    return {name: place for place, name in enumerate(names)}


def is_augmented(instructions: Sequence[Instruction], index: int) -> bool:
    """Whether the store at this place is the end of an augmented assignment: `self.n += 1`."""
    index -= 1
    while index > 0 and instructions[index].name == "SWAP":
        index -= 1
    made = instructions[index]
    return made.name == "BINARY_OP" and made.arg is not None and BINARY_SYMBOLS[made.arg].endswith("=")


def is_call(instruction: Instruction) -> bool:
    """A call with its arguments one by one on the stack (not `f(*args)`)."""
    return instruction.name == "CALL"


def names_keywords(instruction: Instruction) -> bool:
    """Names the keywords of the call that follows."""
    return instruction.name == "KW_NAMES"


def begins_call_without_arguments(instruction: Instruction) -> bool:
    """The instruction after the callable in `f()`."""
    return instruction.name == "PRECALL" and not instruction.arg


def loads_method(instruction: Instruction) -> bool:
    """Loads an attribute to call it: two items for the calling convention."""
    return instruction.name == "LOAD_METHOD"


def end_of_with(instructions: Sequence[Instruction], handler: int) -> int | None:
    """The index of the call of `__exit__` if the handler is the end of a `with` block, else None."""
    following = handler + 1
    return following if instructions[following].name == "WITH_EXCEPT_START" else None


def only_reraises(instructions: Sequence[Instruction], handler: int) -> bool:
    """Whether the handler does nothing but leave another handler and raise its exception again."""
    return [instructions[handler + offset].name for offset in range(3)] == ["COPY", "POP_EXCEPT", "RERAISE"]


def stored_local(item: Any) -> str | None:
    """The local that an instruction of new code stores, or None."""
    return str(item.arg) if isinstance(item, library.Instr) and item.name == "STORE_FAST" else None


def loaded_local(item: Any) -> str | None:
    """The local that an instruction of new code loads, or None."""
    return str(item.arg) if isinstance(item, library.Instr) and item.name == "LOAD_FAST" else None


def with_free_cells(item: library.Instr) -> library.Instr:
    """The instruction for a function whose cells are all free variables. MAKE_CELL becomes NOP."""
    if item.name in _MAKES_CELLS:
        return library.Instr("NOP", location=item.location)
    if isinstance(item.arg, library.CellVar):
        return library.Instr(item.name, library.FreeVar(item.arg.name), location=item.location)
    return item


def with_global_names(item: library.Instr) -> library.Instr:
    """The instruction for a function whose variables are all global."""
    name, variable = GLOBAL_OF.get(item.name), item.arg
    if name is None or not isinstance(variable, str):
        return item
    operand = (False, variable) if name in LOADS_GLOBAL else variable
    return library.Instr(name, operand, location=item.location)


# --- writing ------------------------------------------------------------------------------------------------

_BY_NAME = frozenset(dis.opname[number] for number in (*dis.hasname, *dis.haslocal))


def _operand(instruction: Instruction) -> tuple[Any, ...]:
    """The operand of an existing instruction in the form of the library `bytecode`."""
    name, arg, value = instruction.name, instruction.arg, instruction.value
    if arg is None:
        return ()
    if name == "LOAD_GLOBAL":
        return ((bool(arg & 1), value),)
    if name == "COMPARE_OP":
        return (library.Compare(arg),)
    if name == "BINARY_OP":
        return (library.BinaryOp(arg),)
    return (value,) if name in _BY_NAME else (arg,)


def _forward(name: str) -> str:
    for backward in ("JUMP_BACKWARD_NO_INTERRUPT", "JUMP_BACKWARD"):
        name = name.replace(backward, "JUMP_FORWARD")
    return name


class Assembler(Emission):
    """One method for each action of new code. All jumps are forward."""

    # --- the function ---

    def begin(self, free_variables: int = 0) -> None:
        """The first instructions of a function."""
        self.take_cells(free_variables)
        self.has_begun()

    def take_cells(self, free_variables: int) -> None:
        """The closure becomes that of the frame."""
        if free_variables:
            self.add("COPY_FREE_VARS", free_variables)

    def has_begun(self, sees_signals: bool = True) -> None:
        """From here on tracebacks show the frame. If a signal waits, its handler may run here."""
        self.add("RESUME", 0 if sees_signals else 2)

    def return_value(self) -> None:
        self.add("RETURN_VALUE")

    def raise_exception(self) -> None:
        self.add("RAISE_VARARGS", 1)

    def enter_handler(self) -> None:
        """Handle the exception on the stack. The exception that was handled before takes its place."""
        self.add("PUSH_EXC_INFO")
        self.add("POP_TOP")

    def leave_handler(self) -> None:
        self.add("POP_EXCEPT")

    # --- jumps ---

    def jump(self, label: library.Label) -> None:
        self.add("JUMP_FORWARD", label)

    def jump_if_false(self, label: library.Label) -> None:
        self.add("POP_JUMP_FORWARD_IF_FALSE", label)

    def jump_if_true(self, label: library.Label) -> None:
        self.add("POP_JUMP_FORWARD_IF_TRUE", label)

    # --- the stack ---

    def push_null(self) -> None:
        self.add("PUSH_NULL")

    def pop(self) -> None:
        self.add("POP_TOP")

    def copy(self) -> None:
        """Push the top item once more."""
        self.add("COPY", 1)

    def swap(self) -> None:
        """Swap the two top items."""
        self.add("SWAP", 2)

    # --- variables and constants ---

    def load_local(self, name: str) -> None:
        self.add("LOAD_FAST", name)

    def store_local(self, name: str) -> None:
        self.add("STORE_FAST", name)

    def delete_local(self, name: str) -> None:
        self.add("DELETE_FAST", name)

    def clear_local(self, name: str) -> None:
        """Release the object of a local: None takes its place."""
        self.add("LOAD_CONST", None)
        self.add("STORE_FAST", name)

    def load_cell(self, name: str, own: bool = False) -> None:
        """Load the cell of a free variable, or of a variable of the function's `own`."""
        self.add("LOAD_CLOSURE", library.CellVar(name) if own else library.FreeVar(name))

    def load_free(self, name: str) -> None:
        """Load the value of a free variable."""
        self.add("LOAD_DEREF", library.FreeVar(name))

    def load_constant(self, value: Any) -> None:
        held = held_constant(value)
        self.add("LOAD_CONST", held)
        if type(held) is Box:
            self.load_attribute("value")

    # --- attributes and items ---

    def load_attribute(self, name: str) -> None:
        self.add("LOAD_ATTR", name)

    def store_attribute(self, name: str) -> None:
        """The object is on top; the value is below it."""
        self.add("STORE_ATTR", name)

    def delete_attribute(self, name: str) -> None:
        self.add("DELETE_ATTR", name)

    def store_item(self) -> None:
        """The stack from the top: key, container, value."""
        self.add("STORE_SUBSCR")

    def delete_item(self) -> None:
        self.add("DELETE_SUBSCR")

    # --- containers ---

    def make_function(self, code: CodeType) -> None:
        """A new function of the code, with the globals of the frame."""
        self.load_constant(code)
        self.add("MAKE_FUNCTION", 0)

    def build_tuple(self, count: int) -> None:
        self.add("BUILD_TUPLE", count)

    def build_list(self, count: int) -> None:
        self.add("BUILD_LIST", count)

    def build_set(self, count: int) -> None:
        self.add("BUILD_SET", count)

    def build_dict(self) -> None:
        """Build an empty dict."""
        self.add("BUILD_MAP", 0)

    def build_slice(self) -> None:
        """Build a slice of the three top items."""
        self.add("BUILD_SLICE", 3)

    def unpack(self, count: int) -> None:
        self.add("UNPACK_SEQUENCE", count)

    def get_iterator(self) -> None:
        self.add("GET_ITER")

    # --- calls: load the callable, load the arguments, `call` ---

    def load_callable(self, value: Any) -> None:
        """Load a constant object for a call."""
        self.add("PUSH_NULL")
        self.load_constant(value)

    def load_callable_below(self, value: Any) -> None:
        """The same below the top item, which becomes the first argument."""
        self.add("PUSH_NULL")
        self.swap()
        self.load_constant(value)
        self.swap()

    def load_method(self, name: str) -> None:
        """Load a method of the top object for a call."""
        self.add("LOAD_METHOD", name)

    def load_bound_method(self, name: str) -> None:
        """The same, always as a bound method and the NULL of the calling convention."""
        self.add("LOAD_ATTR", name)
        self.add("PUSH_NULL")
        self.swap()

    def call(self, count: int, keywords: tuple[str, ...] = ()) -> None:
        """Call with `count` arguments; the last ones belong to the keywords."""
        if keywords:
            self.add("KW_NAMES", keywords)
        self.add("PRECALL", count)
        self.add("CALL", count)

    # --- copies of the program's instructions ---

    def repeat(self, instruction: Instruction) -> None:
        self.add(instruction.name, *_operand(instruction))

    def repeat_jump(self, instruction: Instruction, label: library.Label) -> None:
        """Copy the jump and its condition, with another target."""
        self.add(_forward(instruction.name), label)
