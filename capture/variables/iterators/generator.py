"""Generators of inlined generator functions.

In:  a translator that is suspended at a yield.
Out: a `GeneratorVariable`, which runs the translator to the next yield when the program needs an item.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from capture.bytecode.dialects import dialect
from capture.bytecode.generator_exit import ignores_exit
from capture.bytecode.instructions import decode
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import ExceptionVariable, raise_new
from capture.variables.iterators import rebuilt
from capture.variables.iterators.iterator import IteratorVariable
from capture.variables.iterators.rebuilt import REBUILT, Rebuilt

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import CalleeFrame, Interpreter


class GeneratorVariable(IteratorVariable):
    def __init__(self, frame: CalleeFrame) -> None:
        super().__init__(None)
        self.frame = frame
        self.born = frame.output.root_step
        #: what it stands for, if it is the generator of a polyfill
        self.rebuilt: Rebuilt | None = REBUILT.get(frame.code)
        #: the class; the call of a polyfill sets the class that it replaces
        self.kind: type = (self.rebuilt and self.rebuilt.kind) or types.GeneratorType
        frame.output.generators.append(self)
        self.started = False
        self.finished = False
        self.failed = False  # an error left what the generator stands for; Python's iterator may go on
        self.running = False
        self.result: Variable = ConstantVariable(None)

    def python_type(self) -> type:
        return self.kind

    def describe(self) -> str:
        return f"generator {self.frame.code.co_qualname}"

    def next_item(self, tx: Interpreter) -> Variable | None:
        return self.resume(tx, ConstantVariable(None))

    def resume(self, tx: Interpreter, sent: Variable) -> Variable | None:
        """Run to the next yield and return its item, or None at the end. The current yield returns `sent`."""
        if self.failed:
            raise GraphBreak("generator", what="the next item behind an error")
        if self.finished:
            return None
        if self.running:
            raise raise_new(ValueError, "generator already executing")
        if self.started:
            self.frame.push(sent)
        elif not sent.is_exactly(None):
            raise raise_new(TypeError, "can't send non-None value to a just-started generator")
        self.started = True
        return self._run(tx)

    def _run(self, tx: Interpreter) -> Variable | None:
        self.frame.resume_from(tx)
        self.running = True
        try:
            item = self.frame.run_to_yield()
        except ObservedException as raised:
            self.finished, self.failed = True, self.rebuilt is not None
            raise _as_it_leaves(raised) from None
        finally:
            self.running = False
        if item is None:
            self.finished = True
            assert self.frame.returned is not None
            self.result = self.frame.returned
        return item

    def forget_frame(self) -> None:
        """Break the reference cycle of the frame and its values, at the end of the translation."""
        self.frame.forget_values()

    def reconstruct(self, code: PythonCode) -> None:
        if self.rebuilt is None or self.running or self.failed:
            super().reconstruct(code)
        elif self.finished:
            code.call_object(rebuilt.ended, [ConstantVariable(self.kind)])
        else:
            rebuilt.load(code, self.rebuilt, self.frame.locals, self.started)

    def children(self) -> list[Variable]:
        if self.rebuilt is None or self.finished:
            return []
        return rebuilt.locals_of(self.frame.locals, self.rebuilt)

    def waits_in_try(self) -> bool:
        """Whether its release runs code (`finally`, `with`). Only Python knows the time of the release."""
        frame = self.frame
        if not self.started or self.finished:
            return False
        names = frame.scope.builtins | frame.scope.globals
        return not ignores_exit(decode(frame.code), frame.current.index, names.get)

    def delegate(self) -> Variable | None:
        """The iterator of the current `yield from`, or None."""
        index = self.frame.current.index
        delegates = index > 0 and self.frame.instructions[index - 1].name in dialect.DELEGATES
        return self.frame.top() if delegates else None

    def throw(self, tx: Interpreter, exception: Variable) -> Variable | None:
        if not issubclass(exception.python_type(), BaseException):
            raise GraphBreak("generator", what="throw()")
        if self.finished:
            raise ObservedException(exception)
        if not self.started:
            self.finished = True
            raise _as_it_leaves(ObservedException(exception))
        inner = self.delegate()
        if isinstance(inner, GeneratorVariable):
            try:
                if issubclass(exception.python_type(), GeneratorExit):
                    inner.close(tx)
                else:
                    return self._throw_into(tx, inner, exception)
            except ObservedException as raised:
                exception = raised.variable
        return self._throw_here(tx, exception)

    def _throw_into(self, tx: Interpreter, inner: GeneratorVariable, exception: Variable) -> Variable | None:
        """Throw an exception into the `inner` of `yield from inner`.

        If `inner` ends, the frame goes on after the `yield from`, with the result of `inner`.
        """
        item = inner.throw(tx, exception)
        if item is not None:
            return item
        frame = self.frame
        frame.pop()
        frame.push(inner.result)
        frame.jump(frame.instructions[frame.current.index - 1].target)
        return self._run(tx)

    def _throw_here(self, tx: Interpreter, exception: Variable) -> Variable | None:
        frame = self.frame
        try:
            frame.unwind(ObservedException(exception), frame.handlers[frame.current.index])
        except ObservedException as raised:
            self.finished = True
            raise _as_it_leaves(raised) from None
        return self._run(tx)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "send" and len(args) == 1:
            return self._item_or_stop(self.resume(tx, args[0]))
        if name == "throw" and 1 <= len(args) <= 3:
            return self._item_or_stop(self.throw(tx, thrown(tx, *args)))
        if name == "close" and not args:
            return self.close(tx)
        return super().call_method(tx, name, args, kwargs)

    def _item_or_stop(self, item: Variable | None) -> Variable:
        if item is None:
            raise self.stop()
        return item

    def stop(self) -> ObservedException:
        result, self.result = self.result, ConstantVariable(None)  # Python returns it only once
        has_value = not result.is_exactly(None)
        return ObservedException(ExceptionVariable(StopIteration, [result] if has_value else []))

    def close(self, tx: Interpreter) -> Variable:
        if self.started and not self.finished:
            try:
                item = self.throw(tx, ExceptionVariable(GeneratorExit, []))
            except ObservedException as raised:
                if not issubclass(raised.variable.python_type(), (GeneratorExit, StopIteration)):
                    raise
            else:
                if item is not None:
                    raise raise_new(RuntimeError, "generator ignored GeneratorExit")
        self.finished = True
        return ConstantVariable(None)


def thrown(
    tx: Interpreter, kind: Variable, value: Variable | None = None, trace: Variable | None = None
) -> Variable:
    """The exception that `throw(kind, value, trace)` raises."""
    if value is not None and not value.is_constant():
        return value
    cls = kind.as_class()
    if cls is not None and issubclass(cls, BaseException):
        return kind.call(tx, [value] if value is not None and value.as_constant() is not None else [], {})
    return kind


def _as_it_leaves(raised: ObservedException) -> ObservedException:
    """The exception that leaves a generator. A StopIteration becomes a RuntimeError, as in Python."""
    if not issubclass(raised.variable.python_type(), StopIteration):
        return raised
    changed = raise_new(RuntimeError, "generator raised StopIteration")
    error = changed.variable
    assert isinstance(error, ExceptionVariable)
    error.cause = error.context = raised.variable
    error.suppress_context = True
    return changed
