"""The symbolic interpreter: it runs one bytecode instruction at a time, on variables in place of objects.

In:  a code object with its arguments as variables.
Out: calls on the OutputGraph (operations, guards, side effects); at the end, the variable that the code
     returns.

    x = a + 1; return x * 2   ->   graph: add = a + 1; mul = add * 2   ->   TensorVariable(mul)

`Translator` holds the state of one Python frame. `capture/interpret/opcodes/` has the instructions. If the
graph breaks at an instruction, `capture/output/break_code.py` writes the code for it.
"""

from __future__ import annotations

import traceback
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import Decoded, Handler, Instruction, decode
from capture.bytecode.resume import point_of
from capture.graph.program_places import PLACES, Place, module_call, place_of
from capture.interpret.deferred_calls import may_catch
from capture.interpret.opcodes.registry import handler_of
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import (
    LazyVariable,
    NotConstant,
    NullVariable,
    ObservedException,
    Variable,
    realize,
)
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import ExceptionVariable, chain_context, raise_new
from capture.variables.core.makers import constant
from capture.variables.core.overriding import concerns
from capture.variables.core.wrap import wrap
from capture.variables.numbers.late_values import LateVariable
from capture.variables.operations.tensor_operators import binary_operator
from guards.lookup import Undecided
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

    import torch.fx

    from capture.interpret.output_graph import OutputGraph
    from capture.interpret.scope import Scope
    from capture.variables.callables.function import CellVariable, FunctionVariable
    from capture.variables.containers.mapping import DictVariable
    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.tensor import TensorVariable
    from guards.sources import Source


def unbound_local(name: str) -> tuple[type[NameError], str]:
    """The class and the text of the error for a local without a value."""
    text = f"cannot access local variable '{name}' where it is not associated with a value"
    return UnboundLocalError, text


def unbound_cell(code: CodeType, name: str) -> tuple[type[NameError], str]:
    """The class and the text of the error for an empty cell."""
    unassigned = f"variable '{name}' where it is not associated with a value"
    if name in point_of(code).original.co_cellvars:  # after a break these are free variables
        return UnboundLocalError, f"cannot access local {unassigned}"
    return NameError, f"cannot access free {unassigned} in enclosing scope"


@lru_cache(maxsize=64)
def _formatted(frames: tuple[tuple[str, int, str], ...]) -> str:
    """The frames as text. There is a cache, because operations in sequence often come from one line."""
    return "".join(traceback.StackSummary.from_list([(*frame, None) for frame in frames]).format())


Line = tuple[str, int, str]  # as a traceback shows it: file, number, function


def _line_of(place: Place) -> Line:
    return place.co_filename, place.line, place.co_name


class Outside(NamedTuple):
    """The callers of a frame, outermost first."""

    places: tuple[Place, ...]
    lines: tuple[Line, ...]  # without torch's frames around the call of a module


class Translator:
    """One frame. `index` is the next instruction. `return` sets `returned`, `yield` sets `yielded`."""

    def __init__(
        self,
        output: OutputGraph,
        code: CodeType,
        scope: Scope,
        local_variables: dict[str, Variable],
        cells: dict[str, CellVariable],
        parent: Translator | None = None,
    ) -> None:
        self.output = output
        self.code = code
        self.scope = scope
        self.locals = local_variables
        self.cells = cells
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        decoded: Decoded = decode(code)
        self.instructions = decoded.instructions
        self.handlers = decoded.handlers
        self.index = 0
        self.began = output.budget.instructions
        self.steps = 0  # instructions done
        self.calls_module = False  # then the callee is a forward, and torch's frames around it are left out
        self._outside: Outside | None = None
        self.current: Instruction = decoded.instructions[0]
        self.stack: list[Variable] = []
        self.handled: list[ExceptionVariable] = []  # exceptions of the open except blocks, innermost last
        self.keyword_names: tuple[str, ...] = ()
        self.returned: Variable | None = None
        self.yielded: Variable | None = None
        self.function_source: Source | None = None
        self.entry_values: set[int] = set()  # ids of the captured frame's locals at its start
        self.namespace: DictVariable | None = None  # the result of `locals()`

    # --- running ---

    def run(self) -> Variable:
        """Interpret until the frame returns. Raises ObservedException where the program raises."""
        while self.returned is None:
            self.step()
            self.steps += 1
        return self.returned

    def resume_from(self, caller: Interpreter) -> None:
        """Make `caller` the frame that called this one."""
        assert isinstance(caller, Translator)
        self.parent, self.depth = caller, caller.depth + 1
        self._outside = None

    def forget_values(self) -> None:
        """Release the values of the frame, and the caller that resumed it last: its locals may have them."""
        self.locals, self.cells, self.stack = {}, {}, []
        self.parent = None

    def run_to_yield(self) -> Variable | None:
        """Interpret until the next yield; None where the frame returns."""
        self.yielded = None
        while self.returned is None and self.yielded is None:
            self.step()
        return self.yielded

    def step(self) -> None:
        self.output.translator = self
        instruction = self.instructions[self.index]
        self.current = instruction
        self.index += 1
        try:
            self.output.budget.count_instruction(instruction.name in dialect.COUNTED)
            handler = handler_of(instruction.name)
            if handler is None:
                raise GraphBreak("opcode", name=instruction.name)
            handler(self, instruction)
        except ObservedException as raised:
            raised.__traceback__ = None  # its frames hold objects of the program, and some of them hold it
            self.unwind(raised, self.handlers[instruction.index])
        except GraphBreak as signal:
            self._note(signal)
            raise
        except NotConstant as needed:  # the rule needs a known value
            late = needed.args[0] if isinstance(needed.args[0], LateVariable) else None
            if late is None:
                raise self._noted("not_constant", value=needed.args[0]) from None
            raise self._noted_as(late.breaks()) from None
        except Undecided as asked:
            raise self._noted("not_constant", value=str(asked)) from None
        except RecursionError:  # ours; Python finds out whether the program has one too
            raise self._noted("inline_depth", limit="the interpreter's own stack") from None

    def _noted(self, reason_id: str, **values: Any) -> GraphBreak:
        return self._noted_as(GraphBreak(reason_id, **values))

    def _noted_as(self, signal: GraphBreak) -> GraphBreak:
        self._note(signal)
        return signal

    def _note(self, signal: GraphBreak) -> None:
        """Add this frame to the frames that the signal passes."""
        signal.stack.append(self.frame_summary())
        signal.frames.append((self.code, self.steps, self.current.index))

    def unwind(self, raised: ObservedException, handler: Handler | None) -> None:
        """Go on at the exception handler. Without a handler, the exception leaves the frame."""
        exception = raised.variable
        if isinstance(exception, ExceptionVariable) and exception.born is None:
            exception.born = self.output.root_step
            if exception.context is None:
                chain_context(self, exception)
        if handler is None:
            if isinstance(exception, ExceptionVariable):
                exception.trace = object()
            raise raised
        del self.stack[handler.depth :]
        if handler.lasti:
            self.push(ConstantVariable(self.current.index * dialect.CODE_UNIT))
        self.push(exception)
        self.index = handler.target

    def frame_summary(self) -> traceback.FrameSummary:
        instruction = self.current
        return traceback.FrameSummary(
            self.code.co_filename,
            instruction.line or self.code.co_firstlineno,
            self.code.co_name,
            lookup_line=False,
        )

    def chain(self) -> Iterator[Translator]:
        """This frame and its callers, up to the captured one."""
        translator: Translator | None = self
        while translator is not None:
            yield translator
            translator = translator.parent

    def may_catch(self) -> bool:
        """Whether the program may catch an exception of the present instruction."""
        return may_catch(self)

    def user_stack(self) -> list[traceback.FrameSummary]:
        """The user's frames, outermost first."""
        return [translator.frame_summary() for translator in self.chain()][::-1]

    def stack_text(self) -> str:
        """The user's frames as a traceback shows them."""
        return _formatted((*self.outside().lines, _line_of(place_of(self.code, self.current))))

    def places(self) -> tuple[Place, ...]:
        """The places of the program that run now, outermost first."""
        return (*self.outside().places, place_of(self.code, self.current))

    def outside(self) -> Outside:
        """The callers' places. They stay where they are until this frame returns or yields."""
        if self._outside is None:
            self._outside = Outside((), ()) if self.parent is None else self.parent.as_outside()
        return self._outside

    def as_outside(self) -> Outside:
        """What this frame and its callers are for a frame that is called now."""
        before, place = self.outside(), place_of(self.code, self.current)
        inner = (place, *module_call()) if self.calls_module else (place,)
        return Outside((*before.places, *inner), (*before.lines, _line_of(place)))

    def place_with_globals(self) -> tuple[Place, dict[str, Any]]:
        """Where this frame is."""
        return place_of(self.code, self.current), self.scope.globals

    def places_with_globals(self) -> list[tuple[Place, dict[str, Any]]]:
        """The same with the globals of their functions."""
        found: list[tuple[Place, dict[str, Any]]] = []
        for translator in [*self.chain()][::-1]:
            found.append(translator.place_with_globals())
            if translator.calls_module and translator is not self:
                found += [(place, vars(torch.nn.modules.module)) for place in module_call()]
        return found

    def note_places(self, node: torch.fx.Node) -> None:
        """Write down where the node comes from."""
        node.meta["stack_trace"] = self.stack_text()
        node.meta[PLACES] = self.places()

    # --- the value stack ---

    def push(self, variable: Variable) -> None:
        self.stack.append(variable)

    def pop(self) -> Variable:
        return realize(self.stack.pop())

    def pop_many(self, count: int) -> list[Variable]:
        if count == 0:
            return []
        items = [realize(v) for v in self.stack[-count:]]
        del self.stack[-count:]
        return items

    def top(self) -> Variable:
        self.stack[-1] = realize(self.stack[-1])
        return self.stack[-1]

    def push_null(self) -> None:
        self.push(NullVariable())

    def jump(self, target: int | None) -> None:
        assert target is not None
        self.index = target

    # --- names ---

    def bound_local(self, name: str) -> Variable:
        """The value as it is: lazy, if nothing has looked at it yet."""
        variable = self.locals.get(name)
        if variable is None:
            raise raise_new(*unbound_local(name))
        return variable

    def load_local(self, name: str) -> Variable:
        variable = self.bound_local(name)
        if isinstance(variable, LazyVariable):
            variable = self.locals[name] = realize(variable)
        return variable

    def read_cell(self, cell: CellVariable, name: str) -> Variable:
        if cell.contents is None:
            kind, text = unbound_cell(self.code, name)
            existed = cell.source is not None and not self.output.side_effects.is_mutated(cell)
            if kind is NameError and existed:  # no guard says that the cell is empty
                raise GraphBreak("not_constant", value=f"the variable {name} (it has no value yet)")
            raise raise_new(kind, text)
        cell.contents = realize(cell.contents)
        return cell.contents

    def write_cell(self, cell: CellVariable, value: Variable | None) -> None:
        self.output.side_effects.will_mutate(cell)
        cell.contents = value

    # --- calls ---

    def frame(
        self, code: CodeType, scope: Scope, bound: dict[str, Variable], cells: dict[str, CellVariable]
    ) -> Translator:
        """A new frame that this frame calls."""
        return Translator(self.output, code, scope, bound, cells, self)

    def callee(
        self, function: FunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Translator:
        """The frame of a call, which has not run yet."""
        from capture.interpret import inline  # lazy: import time

        return inline.make_translator(self, function, args, kwargs)

    def inline(
        self, function: FunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        """A call of the function's own code, without any rule for the function."""
        from capture.interpret import inline  # lazy: import time

        return inline.run_callee(self, self.callee(function, args, kwargs))

    def call_function(
        self, function: FunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        from capture.interpret import inline  # lazy: import time

        return inline.call_function(self, function, args, kwargs)

    def call_pure(self, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """A call of a function written in C that changes nothing."""
        from capture.variables.callables.builtin import call_pure  # lazy: import time

        return call_pure(self, function, args, kwargs)

    def call_override(
        self, function: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable | None:
        """The result of the program's own `__torch_function__`. None if no argument has one."""
        if not concerns(self.output, args, kwargs):
            return None
        from capture.variables.tensors import torch_function_overrides  # lazy: import time

        return torch_function_overrides.call(self, function, args, kwargs)

    def corrected(
        self,
        signal: GraphBreak | ObservedException,
        function: Any,
        args: list[Variable],
        kwargs: dict[str, Variable] | None = None,
    ) -> GraphBreak | ObservedException:
        """What Python raises where the function refuses the arguments, or the signal."""
        from capture.variables.operations.refusals import corrected  # lazy: import time

        return corrected(self, signal, function, args, kwargs)

    # --- operations of any two values ---

    def compare(self, symbol: str, left: Variable, right: Variable) -> Variable:
        from capture.variables.operations.rich_comparison import compare  # lazy: import time

        return compare(self, symbol, left, right)

    def operate(self, symbol: str, left: Variable, right: Variable) -> Variable:
        return binary_operator(self, symbol, left, right)

    def operate_in_place(self, symbol: str, left: Variable, right: Variable) -> Variable:
        from capture.variables.operations.operators import in_place_operator  # lazy: import time

        return in_place_operator(self, symbol, left, right)

    def get_item(self, value: Variable, key: Variable) -> Variable:
        from capture.variables.operations.operators import get_item  # lazy: import time

        return get_item(self, value, key)

    def next_item(self, iterator: Variable) -> Variable | None:
        from capture.variables.iterators.rules import next_item  # lazy: import time

        return next_item(self, iterator)

    def to_text(self, value: Variable) -> str:
        """`str(value)`."""
        from capture.variables.text.strings import to_text  # lazy: import time

        return to_text(self, value)

    def to_repr(self, value: Variable) -> str:
        """`repr(value)`."""
        from capture.variables.text.strings import to_repr  # lazy: import time

        return to_repr(self, value)

    def read_number(self, method: str, tensor: TensorVariable, args: list[Variable]) -> Variable | None:
        """The result of a tensor method that reads values. None if it can't be a number of the graph."""
        from capture.variables.numbers import tensor_reads  # lazy: import time

        return tensor_reads.read(self, method, tensor, args)

    # --- wrapping ---

    def wrap(self, value: Any, source: Source | None) -> Variable:
        return wrap(self.output, value, source)

    def wrap_constant(self, value: Any) -> Variable:
        return constant(value)

    def wrap_function(self, function: FunctionType | Any) -> FunctionVariable:
        """The variable of a function of ours (a polyfill)."""
        from capture.variables.callables.function import UserFunctionVariable  # lazy: import time

        return UserFunctionVariable(function, ConstantSource(function))
