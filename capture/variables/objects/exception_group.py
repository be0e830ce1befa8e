"""Exception groups: how they are made and split, and how `except*` handles them.

In:  the arguments of `BaseExceptionGroup`, or a group and the condition of `split` or `except*`.
Out: an `ExceptionGroupVariable`, or its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import SequenceVariable, TupleVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import NONE, ConstantVariable
from capture.variables.core.exception import NATIVE_METHODS, ExceptionVariable, raise_new
from capture.variables.objects.type_object import ClassVariable

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter

    Test = Callable[[Variable], bool]


class ExceptionGroupVariable(ExceptionVariable):
    def __init__(
        self, cls: type, args: list[Variable], message: Variable, exceptions: list[Variable]
    ) -> None:
        super().__init__(cls, args)
        self.message = message
        self.exceptions = TupleVariable(exceptions)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in ("message", "exceptions"):
            return self.message if name == "message" else self.exceptions
        return super().get_attr(tx, name)

    def call_native(
        self, tx: Interpreter, descriptor: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        handler = GROUP_METHODS.get(descriptor.__name__, NATIVE_METHODS.get(descriptor.__name__))
        if handler is None:
            raise GraphBreak("method", name=descriptor.__qualname__, value=self)
        result: Variable = handler(self, tx, *args, **kwargs)
        return result

    def native_text(self, tx: Interpreter) -> str:
        count = len(self.exceptions.items)
        return f"{self.message.as_constant()} ({count} sub-exception{'s' if count != 1 else ''})"


def make_group(tx: Interpreter, cls: type, args: list[Variable]) -> ExceptionGroupVariable:
    """`BaseExceptionGroup.__new__(cls, message, exceptions)`."""
    if len(args) != 2:
        text = f"BaseExceptionGroup.__new__() takes exactly 2 arguments ({len(args)} given)"
        raise raise_new(TypeError, text)
    message, held = args
    if not issubclass(message.python_type(), str):
        raise raise_new(
            TypeError,
            f"BaseExceptionGroup.__new__() argument 1 must be str, not {message.python_type().__name__}",
        )
    if not isinstance(held, SequenceVariable):
        if held.is_constant() and not isinstance(held.as_constant(), (str, bytes)):
            raise raise_new(TypeError, "second argument (exceptions) must be a sequence")
        raise GraphBreak("builtin", name=cls.__name__, value=held)
    exceptions = held.unpack(tx)
    if not exceptions:
        raise raise_new(ValueError, "second argument (exceptions) must be a non-empty sequence")
    for index, item in enumerate(exceptions):
        if not issubclass(item.python_type(), BaseException):
            text = f"Item {index} of second argument (exceptions) is not an exception"
            raise raise_new(ValueError, text)
    return ExceptionGroupVariable(_class_for(cls, exceptions), args, message, exceptions)


def _class_for(cls: type, exceptions: list[Variable]) -> type:
    if all(issubclass(item.python_type(), Exception) for item in exceptions):
        return ExceptionGroup if cls is BaseExceptionGroup else cls
    if cls is ExceptionGroup:
        raise raise_new(TypeError, "Cannot nest BaseExceptions in an ExceptionGroup")
    if issubclass(cls, Exception):
        raise raise_new(TypeError, f"Cannot nest BaseExceptions in '{cls.__name__}'")
    return cls


# --- splitting --------------------------------------------------------------------------------------------


def _tester(tx: Interpreter, condition: Variable) -> Test:
    """A function that says whether an exception meets the condition of `split` or `subgroup`."""
    kinds = condition.unpack(tx) if isinstance(condition, TupleVariable) else [condition]
    classes = tuple(kind.cls for kind in kinds if isinstance(kind, ClassVariable))
    if len(classes) == len(kinds) and all(issubclass(cls, BaseException) for cls in classes):
        return lambda exception: issubclass(exception.python_type(), classes)
    if isinstance(condition, TupleVariable) or not callable_value(condition):
        raise raise_new(TypeError, "expected a function, exception type or tuple of exception types")
    return lambda exception: condition.call(tx, [exception], {}).truth(tx)


def callable_value(value: Variable) -> bool:
    return not value.is_constant() and hasattr(value.python_type(), "__call__")  # noqa: B004


def _parts(
    tx: Interpreter, exception: Variable, test: Test, rest: bool = True
) -> tuple[Variable | None, Variable | None]:
    """The part of an exception that passes the test, and the part that does not (only with `rest`)."""
    if test(exception):
        return exception, None
    if not isinstance(exception, ExceptionGroupVariable):
        if issubclass(exception.python_type(), BaseExceptionGroup):
            raise GraphBreak("builtin", name="split", value=exception)
        return None, exception
    sides: tuple[list[Variable], list[Variable]] = ([], [])
    for inner in exception.exceptions.unpack(tx):
        for side, part in zip(sides, _parts(tx, inner, test, rest)):
            if part is not None:
                side.append(part)
    return _subset(tx, exception, sides[0]), _subset(tx, exception, sides[1]) if rest else None


def _subset(tx: Interpreter, group: ExceptionGroupVariable, exceptions: list[Variable]) -> Variable | None:
    """A group of some of the exceptions, with the traceback, context, cause and notes of the whole group."""
    if not exceptions:
        return None
    part = group.get_attr(tx, "derive").call(tx, [ListVariable(exceptions)], {})
    if not issubclass(part.python_type(), BaseExceptionGroup):
        raise raise_new(TypeError, "derive must return an instance of BaseExceptionGroup")
    if not isinstance(part, ExceptionGroupVariable):
        raise GraphBreak("builtin", name="split", value=part)
    part.born, part.trace = group.born, group.trace
    part.context, part.cause, part.suppress_context = group.context, group.cause, True
    if "__notes__" in group.attributes:
        part.attributes["__notes__"] = ListVariable(group.attributes["__notes__"].unpack(tx))
    return part


def _split(self: ExceptionGroupVariable, tx: Interpreter, condition: Variable) -> Variable:
    return TupleVariable([part or NONE for part in _parts(tx, self, _tester(tx, condition))])


def _subgroup(self: ExceptionGroupVariable, tx: Interpreter, condition: Variable) -> Variable:
    return _parts(tx, self, _tester(tx, condition), rest=False)[0] or NONE


def _derive(self: ExceptionGroupVariable, tx: Interpreter, exceptions: Variable) -> Variable:
    return make_group(tx, BaseExceptionGroup, [self.message, exceptions])


GROUP_METHODS: dict[str, Callable[..., Variable]] = {
    "split": _split,
    "subgroup": _subgroup,
    "derive": _derive,
}


# --- except* ----------------------------------------------------------------------------------------------


def match_and_rest(tx: Interpreter, exception: Variable, classes: Variable) -> tuple[Variable, Variable]:
    """The part of an exception that an `except*` clause handles, and the rest."""
    if exception.is_exactly(None):
        return NONE, NONE
    test = _tester(tx, classes)
    if test(exception):
        if issubclass(exception.python_type(), BaseExceptionGroup):
            return exception, NONE
        alone = TupleVariable([exception])
        return make_group(tx, BaseExceptionGroup, [ConstantVariable(""), alone]), NONE
    if issubclass(exception.python_type(), BaseExceptionGroup):
        pair = exception.call_method(tx, "split", [classes], {})
        if not isinstance(pair, TupleVariable) or len(pair.items) != 2:
            raise GraphBreak("builtin", name="split", value=exception)
        return pair.items[0], pair.items[1]
    return NONE, exception


def to_raise(tx: Interpreter, original: Variable, results: list[Variable]) -> Variable:
    """The exception to raise after all `except*` clauses, or None.

    It contains the new exceptions of the clauses, and the part of the original exception that no clause
    handled or that a clause raised again.
    """
    results = [result for result in results if not result.is_exactly(None)]
    if not results:
        return NONE
    if not isinstance(original, ExceptionGroupVariable):
        return results[0]  # a group was made of it for the one clause that handled it
    raised = [result for result in results if not _is_part(result, original)]
    leaves = {leaf for result in results if result not in raised for leaf in _leaves(tx, result)}
    again = _parts(tx, original, lambda exception: exception in leaves, rest=False)[0]
    if not raised:
        return again or NONE
    if again is not None:
        raised.append(again)
    if len(raised) == 1:
        return raised[0]
    made = make_group(tx, BaseExceptionGroup, [ConstantVariable(""), ListVariable(raised)])
    made.born, made.trace = tx.output.root_step, object()
    return made


def _is_part(result: Variable, original: ExceptionGroupVariable) -> bool:
    """Whether a result is a part of the original group and not a new exception.

    A part shares the traceback, the cause, the context and the notes of the group.
    """
    if not isinstance(result, ExceptionVariable):
        raise GraphBreak("raised", error=result)
    notes = [value.attributes.get("__notes__") for value in (result, original)]
    return (
        result.trace is original.trace
        and result.context is original.context
        and result.cause is original.cause
        and notes[0] is notes[1]
    )


def _leaves(tx: Interpreter, exception: Variable) -> list[Variable]:
    if not isinstance(exception, ExceptionGroupVariable):
        return [exception]
    return [leaf for inner in exception.exceptions.unpack(tx) for leaf in _leaves(tx, inner)]
