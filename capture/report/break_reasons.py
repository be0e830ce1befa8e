"""The reasons of graph breaks: one table. `docs/graph_breaks.md` is generated from it.

In:  an id of `REASONS`, and values for the texts of the reason.
Out: `GraphBreak`, which the interpreter raises; `BreakReason`, which `explain()` and the logs show.

    raise GraphBreak("data_dependent_jump")
        ->  "a branch depends on the values of a tensor", hint "use torch.where ..."
"""

from __future__ import annotations

import traceback
from dataclasses import field
from typing import TYPE_CHECKING, Any

from capture.report.retry import Retry
from capture_records import dataclass

if TYPE_CHECKING:
    from types import CodeType

    from guards.guard_set import GuardSet


@dataclass(frozen=True)
class Reason:
    """`text` and `hint` are format strings over the keyword arguments of `GraphBreak`."""

    text: str
    hint: str


#: Breaks that are no fault of the program. Only a block that waits until loops are hot has them.
WANTED = {
    "turn": Reason(
        "a turn of a loop in {name}() is captured alone: the loop got hot while it ran",
        "nothing has to: the same graphs run each turn",
    ),
}

REASONS: dict[str, Reason] = {
    "data_dependent_jump": Reason(
        "a branch depends on the values of a tensor",
        "use torch.where or torch.cond, which keep both sides in the graph",
    ),
    "data_dependent_value": Reason(
        "{what} needs the values of a tensor",
        "keep the value in a tensor, or read it once outside the captured code",
    ),
    "data_dependent_shape": Reason(
        "the result of {what} has a shape that depends on the values of a tensor",
        "use an operation with a fixed shape (torch.where, masked_fill, nonzero_static)",
    ),
    "unbacked_decision": Reason(
        "the program decides on {what}, a number that only a run of the graph knows",
        "say with torch._check what is known about it, or use torch.where or torch.cond",
    ),
    "call": Reason("the call of {value} is not captured", "move the call out of the captured code"),
    "call_skipped": Reason(
        "the call of {name} is left to Python ({why})", "move the call out of the captured code"
    ),
    "inner_gradients": Reason(
        "behind the graph, the program has {what}",
        "compute the gradients in the code that uses them, and return detached tensors",
    ),
    "call_of_capture": Reason(
        "the program calls {name} of capture itself", "enable and disable capture outside the captured code"
    ),
    "call_disabled": Reason("capture is disabled for {name}", "remove capture.disable"),
    "debugger": Reason("{name}() stops in a debugger", "remove the call; Python runs the whole function"),
    "explicit": Reason("the program calls graph_break({message})", "remove the call"),
    "builtin": Reason(
        "the call {name}() of {value} is not captured", "move the call out of the captured code"
    ),
    "numpy_random": Reason(
        "{name} uses random numbers of NumPy, whose streams no graph has",
        "draw with torch, or hand the drawn array to the captured code",
    ),
    "method": Reason(
        "the method {name} of {value} is not captured", "move the call out of the captured code"
    ),
    "get_attr": Reason(
        "the attribute {name} of {value} is not captured", "read the attribute outside the captured code"
    ),
    "set_attr": Reason(
        "a store to the attribute {name} of {value} is not captured", "set it outside the captured code"
    ),
    "property": Reason(
        "the attribute {name} of {value} runs code that is not captured",
        "read it outside the captured code",
    ),
    "iterate": Reason("the iteration over {value} is not captured", "iterate over a list, tuple or range"),
    "changing_items": Reason(
        "{value} is of another kind in each call: Python runs the statements that read it",
        "keep what may be missing in one tensor, with a mask beside it",
    ),
    "changing_number": Reason(
        "an operation takes {value} only as a constant, and it has had another value in each capture",
        "pass the number as a tensor, or keep it constant",
    ),
    "truth_value": Reason("the truth value of {value} is not known", "compare with a value explicitly"),
    "unknown_type": Reason("the type of {value} is not known", "use a plain Python value"),
    "not_constant": Reason("the value of {value} must be known here", "use a plain Python value"),
    "not_a_graph_argument": Reason(
        "{value} can't be an argument of an operation in the graph",
        "pass tensors, numbers, or containers of them",
    ),
    "operator": Reason(
        "the operator {name} on {value} is not captured", "compute it outside the captured code"
    ),
    "compare": Reason(
        "the comparison {name} of {value} is not captured", "compare outside the captured code"
    ),
    "opcode": Reason(
        "the instruction {name} is not captured", "move this statement out of the captured code"
    ),
    "torch_op_failed": Reason("{name} raised {error}", "Python runs the call and raises its own error"),
    "numpy_differs": Reason(
        "numpy's {name} is not captured: torch gives another {what}", "Python runs the call with NumPy"
    ),
    "unsupported_tensor": Reason("{why}", "keep such tensors out of the captured code"),
    "unsupported_torch_function": Reason(
        "the torch function {name} changes state or is not an operation",
        "call it outside the captured code",
    ),
    "raised": Reason("the program raises {error}", "Python runs the statement and raises it"),
    "with_context": Reason(
        "the context manager {value} is not captured", "open it outside the captured code"
    ),
    "inline_depth": Reason("calls are nested more than {limit} deep", "raise config.inline_depth"),
    "too_many_instructions": Reason(
        "the frame needs more than {limit} instructions", "shorten the loop or raise config.max_instructions"
    ),
    "recurrent_length": Reason(
        "{name} unrolls its loop over time, whose length changes from call to call",
        "compute it in float32, call it outside the captured code, pad to one length, or use an LSTM",
    ),
    "too_many_places": Reason(
        "the graph would need guards on more than {limit} values of the program",
        "keep large collections of numbers in a tensor",
    ),
    "reconstruct": Reason(
        "{value} can't be rebuilt after a graph break", "don't use it on both sides of the graph break"
    ),
    "mutation": Reason("a change of {value} is not captured", "change it outside the captured code"),
    "write_without_grad": Reason(
        "{name} and the operations before it are two graphs: autograd records one of them, and does not see "
        "that the other writes to a tensor that requires grad",
        "nothing has to be done; an optimizer's step and the forward behind it are two graphs",
    ),
    "changed_flag": Reason(
        "an operation reads {value}, whose requires_grad the frame has changed before",
        "nothing has to be done; the graph behind the change has the new flag",
    ),
    "late_error": Reason(
        "{name} may raise behind a write to an input, in a graph that runs call by call, where the program "
        "has changed a Python object or may catch the error",
        "nothing has to be done with native code; else check such values before the first write",
    ),
    "finalizer": Reason("{value} has a __del__ method", "make the object outside the captured code"),
    "import": Reason("the code imports {name}", "import it at the top of the module"),
    "generator": Reason("{what} of a generator is not captured", "use a list"),
    "aliasing": Reason("{what}", "pass tensors that do not share memory"),
    "subclass": Reason(
        "operations on {value} are not captured (__torch_dispatch__ without a suitable handler)",
        "use a plain tensor",
    ),
}


@dataclass(frozen=True)
class BreakReason:
    """One graph break, as the user sees it.

    id: key of `REASONS`, or of `WANTED`.
    reason, hint: texts.
    user_stack: the user's frames, outermost first. The last line is the line of the graph break.
    message: what the program gave to `capture.graph_break`.
    made_by: where a value decided, the operations that made it, each as a line of Python and its place.
    """

    id: str
    reason: str
    hint: str
    user_stack: traceback.StackSummary = field(default_factory=traceback.StackSummary)
    message: str | None = None
    made_by: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        where = "".join(self.user_stack.format()).rstrip()
        made = "; ".join(text for text, _ in self.made_by)
        lines = [f"{self.reason} [{self.id}]", f"  hint: {self.hint}", made and f"  made by: {made}", where]
        return "\n".join(filter(None, lines))


class GraphBreak(Retry):
    """The graph can't go on here: the next attempt stops before the instruction, and Python runs that.

    It never reaches the user, except as `Unsupported` under fullgraph.
    """

    def __init__(self, reason_id: str, **values: Any) -> None:
        reason = REASONS.get(reason_id) or WANTED[reason_id]
        texts = {k: v if isinstance(v, str) else _describe(v) for k, v in values.items()}
        self.reason_id = reason_id
        self.text = reason.text.format(**texts)
        self.hint = reason.hint.format(**texts)
        #: if a value can't be rebuilt: the step of the root frame that made it
        self.born: int | None = None
        #: Python then reads what only eager's own tensors have, so no backend compiles the graph before it
        self.wants_eager = False
        #: the frame is left to Python as a whole: behind a break, objects of the frame would live longer
        self.skips_frame = False
        #: the instruction breaks before it has changed anything but the stack
        self.is_at_once = False
        #: a callee of the frame breaks at the same place when it is captured alone
        self.breaks_callees = True
        #: Python walks over what has another length in each call
        self.changes_length = False
        #: what the program gave to `capture.graph_break`
        self.message: str | None = None
        #: where a value decided, the operations that made it, the last one last
        self.made_by: tuple[tuple[str, Any], ...] = ()
        #: innermost first; each frame adds its line when the signal passes it
        self.stack: list[traceback.FrameSummary] = []
        #: the same frames: code, number of finished instructions, index of the next instruction
        self.frames: list[tuple[CodeType, int, int]] = []
        super().__init__(self.text)

    def as_seen_from(self, depth: int) -> GraphBreak:
        """The same break with only the `depth` innermost frames."""
        seen = GraphBreak.__new__(GraphBreak, self.text)
        seen.__dict__.update(self.__dict__, stack=self.stack[:depth], frames=[])
        return seen

    def without_frames(self) -> GraphBreak:
        """The signal itself, without the interpreter's frames, which keep the program's objects alive."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self

    def as_reason(self) -> BreakReason:
        stack = traceback.StackSummary.from_list(self.stack[::-1])
        return BreakReason(self.reason_id, self.text, self.hint, stack, self.message, self.made_by)


def at_once(signal: GraphBreak) -> GraphBreak:
    """The signal of a rule that has done nothing yet: the attempt may end where it stands."""
    signal.is_at_once = True
    return signal


def finalized(value: Any) -> GraphBreak:
    """The signal for an object with `__del__`: Python calls that when the last reference goes."""
    signal = GraphBreak("finalizer", value=value)
    signal.skips_frame = True
    return signal


def changing_length(described: str) -> GraphBreak:
    """The signal for an iteration over what has had several lengths."""
    signal = GraphBreak("iterate", value=f"{described}, whose length changes,")
    signal.changes_length = True
    return signal


class SkipFrame(Exception):
    """Python runs the whole frame.

    guards: skip the frame as long as they hold; None: always.
    idle: Python also runs all functions that the frame calls, because they have nothing to capture.
    straight: the frame does the same each time, so its guards are not checked each time.
    granted: what the translation took for granted until then.
    """

    granted: Any = None

    def __init__(
        self, reason: str, *, guards: GuardSet | None = None, idle: bool = False, straight: bool = False
    ) -> None:
        super().__init__(reason)
        self.guards = guards
        self.idle = idle
        self.straight = straight


def _describe(value: Any) -> str:
    describe = getattr(value, "describe", None)
    return describe() if describe else repr(value)
