"""Instructions that raise or catch exceptions, and those of `with`.

In:  exceptions, classes and context managers on the stack.
Out: an `ObservedException`, for which `Translator.unwind` finds the handler; or the manager's result.

    RAISE_VARARGS 1 with ValueError on the stack    ->    ObservedException(ExceptionVariable(ValueError()))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture.interpret.opcodes.registry import opcode
from capture.report.break_reasons import GraphBreak, SkipFrame
from capture.variables.callables.value_method import ValueMethod
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import ObservedException, Variable, realize
from capture.variables.core.class_lookup import MISSING, class_attribute, lookup_type
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import (
    ExceptionVariable,
    TracebackVariable,
    chain_context,
    handled_exception,
    raise_new,
)
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.shown_names import shown_name
from capture.variables.core.wrap import wrap_class
from capture.variables.objects.exception_group import match_and_rest, to_raise
from capture.variables.objects.type_object import ClassVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.torch.contexts import NativeContextVariable
from capture.variables.torch.wrapper_polyfills import as_manager

if TYPE_CHECKING:
    from capture.bytecode.instructions import Instruction
    from capture.interpret.translator import Translator
    from capture.output.python_code import PythonCode


class PreviousException(Variable):
    """The item that PUSH_EXC_INFO saves below the exception: the exception that was handled before.

    `exception` is handled from there until POP_EXCEPT. After that, cleanup code may leave a copy of the item
    on the stack, which no instruction reads.
    """

    def __init__(self, exception: Variable) -> None:
        super().__init__(None)
        self.exception = exception
        self.ended = False

    def children(self) -> list[Variable]:
        return [] if self.ended else [self.exception]

    def reconstruct(self, code: PythonCode) -> None:
        assert self.ended
        code.load_constant(None)


@opcode("PUSH_EXC_INFO")
def _push_exc_info(tx: Translator, instruction: Instruction) -> None:
    exception = tx.stack.pop()
    tx.push(PreviousException(exception))
    tx.push(exception)
    tx.handled.append(exception)  # type: ignore[arg-type]


@opcode("POP_EXCEPT")
def _pop_except(tx: Translator, instruction: Instruction) -> None:
    saved = tx.stack.pop()
    if isinstance(saved, PreviousException):
        saved.ended = True
    tx.handled.pop()


@opcode("CHECK_EXC_MATCH")
def _check_exc_match(tx: Translator, instruction: Instruction) -> None:
    kinds = _caught_classes(tx, tx.pop())
    tx.push(ConstantVariable(issubclass(tx.top().python_type(), kinds)))


def _caught_classes(tx: Translator, classes: Variable) -> tuple[type, ...]:
    kinds = []
    for item in classes.unpack(tx) if isinstance(classes, TupleVariable) else [classes]:
        if not (isinstance(item, ClassVariable) and issubclass(item.cls, BaseException)):
            text = "catching classes that do not inherit from BaseException is not allowed"
            raise raise_new(TypeError, text)
        kinds.append(item.cls)
    return tuple(kinds)


@opcode("CHECK_EG_MATCH")
def _check_eg_match(tx: Translator, instruction: Instruction) -> None:
    """`except* classes`: its block handles the part of the exception that matches. The next clause gets the
    rest.
    """
    classes, exception = tx.pop(), tx.top()
    if any(issubclass(kind, BaseExceptionGroup) for kind in _caught_classes(tx, classes)):
        text = "catching ExceptionGroup with except* is not allowed. Use except instead."
        raise raise_new(TypeError, text)
    if isinstance(exception, OpaqueVariable):  # after a break, it is not known what the block handles
        raise SkipFrame("except* takes an exception that Python raised")
    match, rest = match_and_rest(tx, exception, classes)
    if not match.is_exactly(None):
        tx.stack[-1] = rest
        tx.handled[-1] = match  # type: ignore[call-overload]
    tx.push(match)


@opcode("PREP_RERAISE_STAR")
def _prep_reraise_star(tx: Translator, instruction: Instruction) -> None:
    original, results = tx.pop_many(2)
    tx.push(to_raise(tx, original, results.unpack(tx)))


@opcode("RERAISE")
def _reraise(tx: Translator, instruction: Instruction) -> None:
    raise ObservedException(tx.pop())


def as_exception(tx: Translator, value: Variable, what: str = "exceptions") -> Variable:
    """The exception of `raise value`: if the value is a class, this calls it."""
    if isinstance(value, ClassVariable) and issubclass(value.cls, BaseException):
        return value.call(tx, [], {})
    if isinstance(value, (ExceptionVariable, OpaqueVariable)) and issubclass(
        value.python_type(), BaseException
    ):
        return value
    raise raise_new(TypeError, f"{what} must derive from BaseException")


@opcode("RAISE_VARARGS")
def _raise_varargs(tx: Translator, instruction: Instruction) -> None:
    values = tx.pop_many(instruction.arg or 0)
    if not values:
        handled = handled_exception(tx)
        if handled is None:
            raise GraphBreak("raised", error="the exception that its caller handles, if any")
        raise ObservedException(handled)
    exception = as_exception(tx, values[0])
    # The object existed before the frame, and `raise` changes its traceback and context.
    if isinstance(exception, OpaqueVariable):
        raise GraphBreak("raised", error=exception)
    if len(values) == 2:
        cause = values[1]
        if not cause.is_exactly(None):
            cause = as_exception(tx, cause, "exception causes")
        exception.set_attr(tx, "__cause__", cause)
    chain_context(tx, exception)
    if isinstance(exception, ExceptionVariable):
        exception.trace = object()
    raise ObservedException(exception)


# --- with -----------------------------------------------------------------------------------------------


@opcode("BEFORE_WITH")
def _before_with(tx: Translator, instruction: Instruction) -> None:
    manager = tx.pop()
    if isinstance(manager, ConstantVariable) and isinstance(manager.value, torch.device):
        manager = tx.wrap_function(as_manager).call(tx, [manager], {})
    enter, leave = (_context_method(tx, manager, name) for name in ("__enter__", "__exit__"))
    tx.push(leave)
    tx.push(enter.call(tx, [], {}))


def _context_method(tx: Translator, manager: Variable, name: str) -> Variable:
    if isinstance(manager, NativeContextVariable):
        return ValueMethod(manager, name)
    if not isinstance(manager, ObjectVariable):
        raise GraphBreak("with_context", value=manager)
    if lookup_type(manager.cls, name) is MISSING:
        missed = " (missed __exit__ method)" if name == "__exit__" else ""
        raise raise_new(
            TypeError,
            f"'{shown_name(manager.cls)}' object does not support the context manager protocol{missed}",
        )
    found = class_attribute(tx, manager, manager.cls, name)
    assert found is not None
    return found


@opcode("WITH_EXCEPT_START")
def _with_except_start(tx: Translator, instruction: Instruction) -> None:
    exception = tx.top()
    leave = realize(tx.stack[-4])
    kind = wrap_class(tx.output, exception.python_type())
    tx.push(leave.call(tx, [kind, exception, TracebackVariable(exception, tx.output.root_step)], {}))
