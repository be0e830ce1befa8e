"""Calls that only act outside of the program, such as `print`: they run behind the graph, in their order.

In:  a function, with arguments that do not change any more, from the rule of the function.
Out: bytecode that makes the calls behind the graph and behind all changes of existing objects.

    y = x * 2; print("half"); return y + 1    ->    graph: mul, add;  print("half") after the graph

Nothing in the frame may read what such a call does, and the frame may change nothing that the call reads. It
breaks where it would write to such a module or object (`sys.stdout = ...`, `logger.disabled = True`). A call
inside of a `try` breaks the graph, because the frame may catch its exception. `conditions` are functions that
the new code asks first: if one of them says no, Python runs the frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from capture.bytecode.dialects import dialect
from capture.graph.calls_at_places import caller_at, location_of
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture_records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from capture.graph.program_places import Place
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter

    Places = list[tuple[Place, dict[str, Any]]]


@dataclass
class DeferredCall:
    function: Any
    args: list[Variable]
    kwargs: dict[str, Variable]
    places: Places  # of the call and its callers; the first is in the captured frame

    def emit(self, code: PythonCode) -> None:
        values = [*self.args, *self.kwargs.values()]
        root, *inner = self.places
        caller = caller_at(inner, len(values), tuple(self.kwargs))
        code.location = location_of(root[0])
        code.load_callable(self.function if caller is None else caller)
        if caller is not None:
            code.load_constant(self.function)
        for value in values:
            code.load(value)
        code.call(len(values) + (caller is not None), tuple(self.kwargs) if caller is None else ())
        code.pop()
        code.location = None


class DeferredCalls:
    """The deferred calls of one translation."""

    def __init__(self, allowed: bool) -> None:
        self.allowed = allowed
        self.calls: list[DeferredCall] = []
        #: asked before the graph runs; each with its arguments: existing objects, or classes
        self.conditions: list[tuple[Callable[..., bool], tuple[Variable, ...]]] = []
        self._read: list[Any] = []  # the namespaces and objects that the calls read

    def __len__(self) -> int:
        return len(self.calls)

    def __bool__(self) -> bool:
        """Whether the frame needs code of its own."""
        return bool(self.calls or self.conditions)

    def add(
        self,
        tx: Interpreter,
        function: Any,
        args: list[Variable],
        kwargs: dict[str, Variable] | None = None,
        *,
        reads: Iterable[Any] = (),
        raises: bool = True,
    ) -> None:
        """Defer `function(*args, **kwargs)`. `reads`: the namespaces of modules and the objects that the
        function reads. `raises`: whether it may.
        """
        for value in reads:
            if tx.output.side_effects.has_changed(value):
                raise _changed(value)
            self._read.append(value)
        name = getattr(function, "__qualname__", repr(function))
        if not self.allowed:
            raise GraphBreak("call_skipped", name=name, why="the graph may raise after a write to an input")
        if raises and may_catch(tx):
            raise GraphBreak("call_skipped", name=name, why="the program may catch its exception")
        self.calls.append(DeferredCall(function, args, kwargs or {}, tx.places_with_globals()))

    def replace(
        self, count: int, tx: Interpreter, function: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> None:
        """Defer one call in place of the calls behind the first `count`: it makes them."""
        del self.calls[count:]
        self.add(tx, function, args, kwargs)

    def require(self, condition: Callable[..., bool], *args: Variable) -> bool:
        """Ask a condition each time before the graph runs. False if it does not hold now."""
        known = any(asked is condition and given == args for asked, given in self.conditions)
        if not known and not condition(*[arg.real_value() for arg in args]):
            return False
        if not known:
            self.conditions.append((condition, args))
        return True

    def check_unread(self, written: Callable[[], Any]) -> None:
        """Break the graph before a write to a module or an object that deferred calls read."""
        value = written() if self._read else None
        if value is not None and any(held is value for held in self._read):
            raise _changed(value)

    def build(self, code: PythonCode) -> None:
        """Build the arguments, before any object is changed."""
        for call in self.calls:
            for value in (*call.args, *call.kwargs.values()):
                code.build(value)

    def emit(self, code: PythonCode) -> None:
        for call in self.calls:
            call.emit(code)


def _changed(value: Any) -> GraphBreak:
    name = value.get("__name__") if type(value) is dict else None
    what = f"a {type(value).__name__}" if name is None else f"the module {name}"
    return GraphBreak("mutation", value=f"{what}, which a call behind the graph reads,")


def may_catch(tx: Interpreter) -> bool:
    """Whether the program may catch an exception of the present instruction."""
    return any(_may_catch(frame) for frame in tx.chain())


def _may_catch(frame: Any) -> bool:
    """Whether a handler of the frame may act on an exception of the present instruction.

    The end of a `with` block of torch does not: it sets modes back, which the code behind the graph does too.
    """
    handler = frame.handlers[frame.current.index]
    while handler is not None:
        end = dialect.end_of_with(frame.instructions, handler.target)
        if end is None or not _is_of_torch(frame.stack[handler.depth - 1]):
            return True
        handler = frame.handlers[end]
        while handler is not None and dialect.only_reraises(frame.instructions, handler.target):
            handler = frame.handlers[handler.target]
    return False


def _is_of_torch(leave: Variable) -> bool:
    """Whether the `__exit__` method is that of a manager of torch."""
    owner = getattr(leave, "owner", None)
    return isinstance(owner, Variable) and owner.python_type().__module__.partition(".")[0] == "torch"
