"""`assert` on the values of a tensor, without a graph break. Checks in `torch.distributions` work alike.

In:  the condition (a tensor), and the instruction after the jump over `raise AssertionError` or a similar
     `raise`.
Out: the graph goes on as if the condition holds. It gets a node for the assertion.

If the condition is false, Python runs the frame from its start and raises the program's own error. So
nothing may be changed by then. Where the graph writes to no input, draws no number, and nothing writes to the
condition later, the condition is an output, and the frame checks it: that is the fastest way. Else native
code checks it itself, before it writes. Where the graph does not become native code, the frame is translated
again, with a graph break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from capture.bytecode.dialects import dialect
from capture.graph.inputs import version_of
from capture.report.retry import AssertionsAsBreaks
from capture.variables.core.constant import ConstantVariable
from codegen.fake.known_values import is_still_constant

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph
    from capture.interpret.translator import Translator
    from capture.variables.tensors.tensor import TensorVariable


#: the mark of an assertion whose condition is a result of the graph
OUTSIDE = "checked_outside"


class Assertions:
    """The assertions of one graph. `break_at_each`: every assertion breaks the graph. `is_native`: the graph
    becomes native code.
    """

    def __init__(self, break_at_each: bool, is_native: bool) -> None:
        self.break_at_each = break_at_each
        self._is_native = is_native
        self.are_in_graph = False  # the graph checks them itself
        self._nodes: list[torch.fx.Node] = []  # of the assertions
        self._conditions: list[tuple[TensorVariable, int | None, torch.fx.Node]] = []

    def __bool__(self) -> bool:
        return bool(self._conditions)

    def take(self, tx: Translator, condition: TensorVariable) -> bool:
        """Take the following assertion into the graph, if possible. Returns whether it was possible."""
        if not is_assertion(tx) or condition.fake.numel() != 1:
            return False
        if self.break_at_each:
            return _holds(condition)
        tx.output.call_function(tx, torch._assert_async, [condition, ConstantVariable(_message(tx))], {})
        node = next(reversed(tx.output.graph.nodes))
        node.meta[OUTSIDE] = True
        self._nodes.append(node)
        self._conditions.append((condition, version_of(condition.fake), condition.node))
        return True

    def check(self, output: OutputGraph) -> None:
        """Decide who checks the conditions: the graph itself where it can't run twice, else the frame.

        Raises AssertionsAsBreaks.
        """
        written = any(_is_written(*condition) for condition in self._conditions)
        written = bool(self._conditions) and (written or output.inputs.are_written())
        if written and not self._is_native:
            raise AssertionsAsBreaks
        if written or (output.fake_mode.has_drawn and self._is_native and self._conditions):
            self.are_in_graph, self._conditions = True, []
            for node in self._nodes:
                node.meta.pop(OUTSIDE)

    def check_compiled(self, output: OutputGraph, fails_unchanged: bool) -> None:
        """`fails_unchanged`: the callable has written to no input if it raises. Raises AssertionsAsBreaks."""
        if self.are_in_graph and output.inputs.are_written() and not fails_unchanged:
            raise AssertionsAsBreaks

    def nodes(self) -> list[torch.fx.Node]:
        return [condition.node for condition, *_ in self._conditions]


def _is_written(condition: TensorVariable, version: int | None, node: torch.fx.Node) -> bool:
    """Whether the condition may have been written to since its assertion.

    An inference tensor does not count its writes. It may be written to if another node returns its memory.
    """
    if version is not None:
        return version_of(condition.fake) != version
    memory = condition.fake.untyped_storage()._cdata
    given = (user.meta.get("example_value") for user in node.users)
    shared = any(isinstance(v, torch.Tensor) and v.untyped_storage()._cdata == memory for v in given)
    return shared or condition.node is not node


def _holds(condition: TensorVariable) -> bool:
    """Whether the condition is a true constant: `Normal(0, 1)` checks its own numbers."""
    fake: Any = condition.fake
    if not is_still_constant(fake):
        return False
    with torch._C._DisableTorchDispatch():
        return bool(fake.constant.item())


def is_assertion(tx: Translator) -> bool:
    if tx.instructions[tx.index].name in dialect.LOADS_ASSERTION_ERROR:
        return True
    jump = tx.instructions[tx.index - 1]
    package = str(tx.scope.globals.get("__name__")).partition(".")[0]
    return package == "torch" and _raises(tx, jump.target)


def _raises(tx: Translator, end: int | None) -> bool:
    """Whether the jump to `end` skips only one `raise`."""
    skipped = tx.instructions[tx.index : end]
    last = skipped[-1].name if skipped else None
    return last in dialect.RAISES and all(i.target is None for i in skipped)


def _message(tx: Translator) -> str:
    """The message for readers of the graph. The user of the program sees Python's own message."""
    following = tx.instructions[tx.index + 1]
    text = following.value if following.name in dialect.LOADS_CONSTANT else None
    return text if isinstance(text, str) else "assertion error"
