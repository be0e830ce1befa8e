"""The graph under construction, with its inputs, guards, side effects and modes.

In:  operations from the interpreter (`call_function`, `call_method`), existing tensors (`inputs.add_tensor`).
Out: an `fx.Graph` of torch calls with fake tensors in `meta["example_value"]`, a `GuardSet`, the list of
     inputs.

One `OutputGraph` serves one attempt at one frame, with all the calls that the attempt inlines.

    y = x + 1    ->    placeholder x; add = operator.add(x, 1); guards on x
"""

from __future__ import annotations

import re
import traceback
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from capture.graph.bodies import module_of
from capture.graph.drop_unread import drop_idle_grad_changes, drop_unread_numbers
from capture.graph.inputs import ArrayInput, NumpyNumberInput
from capture.graph.named_functions import new_graph
from capture.graph.program_places import PLACES, places_of
from capture.interpret.budget import Budget
from capture.interpret.changed_flags import ChangedFlags
from capture.interpret.changing_items import changing_items
from capture.interpret.existing_objects import ExistingObjects
from capture.interpret.guarding import Guarding, guards_of_state
from capture.interpret.heard_warnings import HeardWarnings
from capture.interpret.hidden_writes import HiddenWrites
from capture.interpret.inner_gradients import InnerGradients
from capture.interpret.late_errors import LateErrors
from capture.interpret.modes import Modes
from capture.interpret.operations import Operations
from capture.interpret.placeholders import Placeholders
from capture.interpret.side_effects import SideEffects
from capture.report.break_reasons import GraphBreak, SkipFrame
from capture.sizes.assertions import Assertions
from capture.sizes.policy import Seen, SizePolicy
from capture.sizes.symbols import Symbols
from capture.sizes.unbacked import Allowed, Unbacked
from capture.variables.core.base import Variable
from capture.variables.core.granted import begin
from capture.variables.core.overriding import concerns
from codegen.fake.fake import fake_mode
from codegen.kernel.graph_module import GraphModule
from guards.guard_set import GuardSet
from guards.kinds.tensors import SharedStorageGuard
from guards.properties.tensor import storage_key
from guards.sources import ConstantSource, Source

if TYPE_CHECKING:
    from capture.interpret.translator import Translator
    from capture.variables.core.protocols import Interpreter
    from capture.variables.iterators.generator import GeneratorVariable
    from capture.variables.objects.new_class import NewClassVariable


class OutputGraph:
    """The parts (`inputs`, `operations`, `objects`, `guarding`, `modes` ...) have one task each."""

    def __init__(
        self,
        policy: SizePolicy | None = None,
        *,
        break_at_assertions: bool = False,
        unbacked: Allowed = Allowed(),
        has_to_pay: bool = False,
        may_wait: bool = False,
        splits_at_writes: bool = False,
        defers_calls: bool = True,
        breaks_before_errors: bool = False,
        is_native: bool = False,
        is_own: bool = False,
        watches_items: bool = True,
        watches_counters: bool = False,
    ) -> None:
        self.granted = begin()
        self.graph = new_graph()
        self.fake_mode = fake_mode()
        self.guards = GuardSet(guards_of_state())
        self.modes = Modes(self)
        self.guarding = Guarding(self)
        self.inputs = Placeholders(self)
        self.operations = Operations(self)
        self.heard = HeardWarnings(self)
        self.objects = ExistingObjects(self)
        self.side_effects = SideEffects(self.objects, defers_calls)
        self.assertions = Assertions(break_at_assertions, is_native)
        self.symbols = Symbols(self, policy or SizePolicy(False, Seen()))
        self.unbacked = Unbacked(self, unbacked)
        self.hidden_writes = HiddenWrites(splits_at_writes)
        self.changed_flags = ChangedFlags(self)
        self.inner_gradients = InnerGradients(self)
        self.late_errors = LateErrors(self, breaks_before_errors)
        self.budget = Budget(has_to_pay)
        self.changing_items = changing_items(self) if watches_items else None
        self.watches_counters = watches_counters
        self.may_wait = may_wait  # for the next call, if this is a first step
        self.is_native = is_native  # the graph becomes native code, whose operations are not those of Python
        self.is_own = is_own  # the backend is one of this package
        self.translator: Translator | None = None  # the frame whose instruction runs now
        self.printed: list[Variable] = []  # containers whose text is in the making, the outermost first
        self.generators: list[GeneratorVariable] = []  # those that the frame made
        self.new_classes: list[NewClassVariable] = []  # those that the frame made
        self.seen_lazy_modules: set[int] = set()  # ids of those that the frame has looked at
        self.is_broken = False  # the frame goes on after the graph
        self.is_at_end = False  # no more instructions are translated
        self.wants_eager = False  # behind the graph, Python reads what only eager's own tensors have
        self.root_step = 0  # the number of instructions that the captured frame has done

    def forget_objects(self) -> None:
        """Release the program's objects at the end. Variables and graph form a reference cycle, which would
        keep them alive.
        """
        self.objects.forget()
        self.granted.release()
        for generator in self.generators:
            generator.forget_frame()
        for made in self.new_classes:
            made.leave_bases()
        self.guarding.forget()
        self.inner_gradients.forget()
        self.fake_mode.forget_tensors()
        self.symbols.leave_environment()
        self.inputs.all = []
        self.side_effects = SideEffects(self.objects)
        self.translator = None

    def user_line(self) -> Any:
        """The user's frames, outermost first, in the form that guards hold."""
        return (
            traceback.StackSummary.from_list(self.translator.user_stack())
            if self.translator is not None
            else None
        )

    # --- operations ---

    def call_function(
        self, tx: Interpreter, function: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if concerns(self, args, kwargs):
            overridden = tx.call_override(function, args, kwargs)
            if overridden is not None:
                return overridden
        return self.operations.add(tx, "call_function", function, args, kwargs)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if concerns(self, args, kwargs):
            overridden = tx.call_override(getattr(torch.Tensor, name), args, kwargs)
            if overridden is not None:
                return overridden
        return self.operations.add(tx, "call_method", name, args, kwargs)

    # --- writes to inputs ---

    def check_generators(self) -> None:
        """Break the graph before a generator that stops inside of a `try` or `with`. Python has to make it,
        because its end runs the rest of that block.
        """
        for generator in self.generators:
            if generator.waits_in_try():
                signal = GraphBreak("generator", what="leaving an open block")
                signal.born = generator.born
                raise signal

    def check_classes(self) -> None:
        """Break the graph before a new class whose base knows it, so that `__subclasses__()` of the base has
        it behind the break.
        """
        for made in self.new_classes:
            if self.is_broken and made.has_known_base():
                signal = GraphBreak("reconstruct", value=made)
                signal.born = made.born
                raise signal

    def check_aliasing(self) -> None:
        """Skip the frame if it writes to an input that shares its memory with another input, and autograd
        records one of them.
        """
        if not self.inputs.are_written():
            return
        inputs = self.inputs.tensors()
        if len(inputs) > 1 and any(isinstance(i, ArrayInput) for i in inputs):
            # No guard says which arrays share memory.
            text = "the frame writes to an input that may share its memory with an array"
            raise SkipFrame(text, guards=self.finished_guards())
        sharing: dict[int, list[bool]] = {}
        for item in inputs:
            recorded = item.node.meta["example_value"].requires_grad
            sharing.setdefault(storage_key(item.value), []).append(recorded)
        for item in self.inputs.written():
            recorded = sharing[storage_key(item.value)]
            if len(recorded) > 1 and any(recorded):
                text = f"the frame writes to {item.source.text}, which shares its memory with another input"
                raise SkipFrame(text, guards=self.finished_guards())

    def drop_nodes_after(self, last: torch.fx.Node | None) -> None:
        """Remove the operations after the node `last`."""
        for node in reversed(list(self.graph.nodes)):
            if node is last:
                return
            if node.op != "placeholder":
                self.graph.erase_node(node)

    # --- finishing ---

    def finished_module(self, outputs: list[torch.fx.Node], name: str) -> GraphModule:
        """The graph with its outputs, without the placeholders that no node reads."""
        self.modes.leave()
        drop_idle_grad_changes(self.graph)
        drop_unread_numbers(self.graph)
        self.inputs.finish()
        self.graph.output(tuple(outputs))
        class_name = re.sub(r"\W", "_", name) or "graph"
        module = module_of(self.graph, f"Captured_{class_name}")
        vars(module)[PLACES] = places_of(self.graph)
        return module

    def finished_guards(self) -> GuardSet:
        """All guards, with those of the symbols, of the memory that tensors share, and of changed objects."""
        for guard in self.symbols.guards():
            self.guards.add(guard)
        unguarded: set[Source] = set(self.inputs.new_parameters)
        tensors = [
            (i.source, i.value)
            for i in (*self.inputs.tensors(), *self.inputs.unread)
            if not isinstance(i.source, ConstantSource) and not isinstance(i, (ArrayInput, NumpyNumberInput))
            if i.source not in unguarded
        ]
        if len(tensors) > 1:
            self.guards.add(SharedStorageGuard.of([s for s, _ in tensors], [t for _, t in tensors]))
        self.guarding.hashed_objects()
        self.guarding.changed_objects(self.objects.with_variables(), self.side_effects.changed_sources())
        return self.guards

    def progress(self) -> tuple[int, ...]:
        """Numbers that differ when an instruction has done more than move values on the stack."""
        env = self.symbols.env
        return (
            len(self.graph.nodes),
            self.guards.count(),
            self.side_effects.change_count(),
            self.objects.count(),
            len(self.inputs.all),
            len(self.modes.changes),
            len(self.generators),
            len(self.new_classes),
            0 if env is None else len(env.guards),
        )

    def operation_count(self) -> int:
        """The number of calls. It is 0 if all calls only change modes: then no graph is needed."""
        calls = [n for n in self.graph.nodes if n.op.startswith("call_")]
        return 0 if all("changes_state" in n.meta for n in calls) else len(calls)
