"""The graph under construction and all that goes with it: inputs, guards, side effects, state of the process.

In:  operations from the interpreter (`call_function`, `call_method`), existing tensors (`add_tensor_input`).
Out: an `fx.Graph` at the level of torch calls with fake tensors in `meta["example_value"]`, a GuardSet, and
     the list of inputs.

One `OutputGraph` serves one attempt to translate one frame, inlined calls included.
"""

from __future__ import annotations

import contextlib
import operator
import re
import sys
import traceback
from typing import TYPE_CHECKING, Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
)
from torch.amp import autocast_mode
from torch.autograd import grad_mode

from capture.graph import arguments as graph_arguments
from capture.graph.drop_unread import drop_idle_grad_changes, drop_unread_numbers
from capture.graph.inputs import ArrayInput, GraphInput, NumpyNumberInput, version_of
from capture.interpret import node_annotations
from capture.interpret.placeholders import Placeholders
from capture.interpret.side_effects import SideEffects
from capture.process.thread_state import read_modes
from capture.report.break_reasons import GraphBreak, SkipFrame
from capture.report.config import config
from capture.report.retry import SizesAsNumbers
from capture.sizes.assertions import Assertions
from capture.sizes.policy import Seen, SizePolicy
from capture.sizes.symbols import Symbols
from capture.sizes.unbacked import Allowed, Unbacked
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.named_tuple import NamedTupleVariable
from capture.variables.containers.sequence import SequenceVariable, TupleVariable
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.wrap import constant, wrap
from capture.variables.numbers import graph_float
from capture.variables.numbers import max_min as choice
from capture.variables.numbers.symbolic import as_number, is_symbolic, proxy_for
from capture.variables.tensors import torch_function_overrides as overrides
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.torch.nn_module import ModuleVariable
from guards.guard_set import GuardSet
from guards.kinds.constants import ConstantGuard
from guards.kinds.tensors import SharedStorageGuard
from guards.lookup import is_nn_module
from guards.properties.tensor import storage_key
from guards.sources import AttrSource, ConstantSource, FunctionModeSource, Source, StateSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from capture.interpret.translator import Translator
    from capture.variables.iterators.generator import GeneratorVariable


#: values of the program that one capture guards; some take two of the 65,536 registers of a guard program
MOST_PLACES = 40_000


class OutputGraph(Placeholders):
    def __init__(
        self,
        policy: SizePolicy | None = None,
        *,
        break_at_assertions: bool = False,
        unbacked: Allowed = Allowed(),
    ) -> None:
        super().__init__()
        self.side_effects = SideEffects()
        self.assertions = Assertions(break_at_assertions)
        self.symbols = Symbols(self, policy or SizePolicy(False, Seen()))
        self.unbacked = Unbacked(self, unbacked)
        self.translator: Translator | None = None  # the frame whose instruction runs
        self.state_changes: list[tuple[Any, list[Any]]] = []
        self.open_autocasts: list[tuple[Variable, torch.fx.Node]] = []
        self.open_inference: list[torch.fx.Node] = []
        self.printed: list[Variable] = []  # containers whose text is being made, the outermost first
        self.generators: list[GeneratorVariable] = []  # made by the frame
        self.function_modes: list[Variable] = []  # of torch, that see each operation; the innermost last
        self.modes_around: list[Variable] = []
        self.choices: list[torch.Tensor] = []  # fake values of what max() and min() chose
        self._open_contexts: list[Any] = []  # entered by the translation itself
        self._around = sys.exception()  # what the caller of the frame handles
        self.is_broken = False  # the frame goes on behind the graph
        self.instructions = 0
        self.places = 0  # of the program whose values were wrapped
        self.root_step = 0  # instructions of the captured frame itself that are done
        self._objects: dict[int, tuple[Any, Variable]] = {}
        self._modules: dict[int, Variable] = {}  # those of them that are modules
        self._finished = False

    def handles_nothing_around(self) -> bool:
        """Whether the frame's caller handles no exception; if so, that is guarded."""
        if self._around is not None:
            return False
        self.guards.add(ConstantGuard.of(StateSource(sys.exception), None))
        return True

    # --- budget ---

    def count_instruction(self, limited: bool = True) -> None:
        """`limited`: the graph may break here."""
        self.instructions += 1
        if limited and self.instructions > config.max_instructions:
            raise GraphBreak("too_many_instructions", limit=str(config.max_instructions))

    def count_place(self) -> None:
        """A value of the program is about to be guarded."""
        self.places += 1
        if self.places > MOST_PLACES:
            raise GraphBreak("too_many_places", limit=str(MOST_PLACES))

    # --- existing objects ---

    def known_object(self, value: Any) -> Variable | None:
        held = self._objects.get(id(value))
        return held[1] if held is not None else None

    def object_of(self, variable: Variable) -> Any:
        """The existing object behind a variable; None where the frame made it, or where it is a mere
        constant.
        """
        return next((value for value, known in self._objects.values() if known is variable), None)

    def remember_object(self, value: Any, variable: Variable) -> None:
        self._objects[id(value)] = (value, variable)
        if is_nn_module(value):
            self._modules[id(value)] = variable

    def forget_objects(self) -> None:
        """At the end: variables and this graph refer to each other; objects of the program shall not live on
        with them.
        """
        self._objects.clear()
        self._modules.clear()
        for generator in self.generators:
            generator.forget_frame()
        self._class_entries.clear()
        self.fake_mode.forget_tensors()
        self.inputs = []
        self.side_effects = SideEffects()
        self.translator = None

    def resolve(self, variable: Variable) -> Variable:
        """A lazy variable whose object was wrapped meanwhile is that variable, and guarded to stay it."""
        if isinstance(variable, LazyVariable) and self.known_object(variable.value) is not None:
            return variable.realize()
        return variable

    def resolve_place(self, variable: Variable) -> Variable:
        """The same for loading the object: one that came another way is loaded from there, and needs no
        guard.
        """
        known = self.known_object(variable.value) if isinstance(variable, LazyVariable) else None
        return variable if known is None or known.source != variable.source else known

    def pending_global(self, namespace: dict[str, Any], name: str) -> Variable | None:
        return self.side_effects.pending_global(namespace, name)

    def check_namespace(self, namespace: dict[str, Any]) -> None:
        """Before a name of a module is read: the frame may have changed the module's dict (`globals()`) as a
        dict.
        """
        if self.changed_dict(namespace) is not None:
            raise GraphBreak("mutation", value="the dict of a module that the frame wrote to,")

    def check_no_dict_of(self, namespace: dict[str, Any]) -> None:
        """Before a name of a module is bound or deleted: what the frame knows of the module's dict would be
        out of date.
        """
        if isinstance(self.known_object(namespace), DictVariable):
            raise GraphBreak("mutation", value="a module whose dict the frame has")

    def pending_item(self, mapping: Any, key: Any) -> Variable | None:
        """What the frame stored in an existing dict (a module's registry) that it also changed as a dict."""
        known = self.known_object(mapping)
        if isinstance(known, DictVariable):
            entry = known.entries.get(key)
            if entry is not None and not isinstance(entry[1], LazyVariable):
                return entry[1]
        return None

    def changed_dict(self, mapping: Any) -> Any:
        """The variable of an existing dict that the frame has changed; None of any other."""
        known = self.known_object(mapping)
        return known if isinstance(known, DictVariable) and self.side_effects.is_mutated(known) else None

    # --- where things are ---

    def is_of_module(self, source: Source) -> bool:
        """Whether what is found there belongs to an nn.Module: an attribute, or what is inside of one."""
        owners = {step.base for step in source.chain() if isinstance(step, AttrSource)}
        return bool(owners) and any(
            isinstance(variable, ModuleVariable) and variable.source in owners
            for variable in self._modules.values()
        )

    def user_line(self) -> Any:
        """The user's frames, outermost first, as the guards carry them."""
        return (
            traceback.StackSummary.from_list(self.translator.user_stack())
            if self.translator is not None
            else None
        )

    # --- operations ---

    def call_function(
        self, tx: Translator, function: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if overrides.concerns(self, args, kwargs):
            overridden = overrides.call(tx, function, args, kwargs)
            if overridden is not None:
                return overridden
        return self._operation(tx, "call_function", function, args, kwargs)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if overrides.concerns(self, args, kwargs):
            overridden = overrides.call(tx, getattr(torch.Tensor, name), args, kwargs)
            if overridden is not None:
                return overridden
        return self._operation(tx, "call_method", name, args, kwargs)

    def _operation(
        self, tx: Translator, kind: str, target: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if graph_float.is_in_lists(target, args):
            return graph_float.one_by_one(tx, target, args, kwargs)
        kwargs = graph_float.read_numbers(tx, target, args, kwargs)
        if graph_float.is_among([*args, *kwargs.values()]):
            return graph_float.tensor_operation(tx, target, args, kwargs)
        proxies = tuple(proxy_for(target, a) for a in args)
        keywords = {k: proxy_for(target, v) for k, v in kwargs.items()}
        self._check_alive((proxies, keywords))
        try:
            value = self._propagate(kind, target, proxies, keywords)
        except SizesAsNumbers:
            if not any(map(is_symbolic, [*args, *kwargs.values()])):
                raise
            proxies = tuple(as_number(proxy, a) for proxy, a in zip(proxies, args))
            keywords = {k: as_number(proxy, kwargs[k]) for k, proxy in keywords.items()}
            value = self._propagate(kind, target, proxies, keywords)
        known = self.symbols.known_number(value)
        if known is not None:
            return known
        if isinstance(value, bool):
            return ConstantVariable(value)  # a question about types and layouts, answered
        if graph_arguments.are_foreign(proxies) or graph_arguments.are_foreign(keywords.values()):
            proxies, keywords = graph_arguments.as_plain(target, proxies, keywords, value)
        node = self.graph.create_node(kind, target, proxies, keywords)
        node.meta["stack_trace"] = tx.stack_text()
        node.meta["example_value"] = value
        if (custom := node_annotations.current(tx)) is not None:
            node.meta["custom"] = custom
        self.unbacked.bind(value, node)
        if self.choices:
            choice.check_use(self.choices, node)
        same = _argument_returned(value, [*args, *kwargs.values()])
        if same is not None:
            node.meta["example_value"] = value
            same.node = node  # type: ignore[attr-defined]
            return same
        returned = self._list_returned(value, args)
        return self.wrap_result(value, node) if returned is None else returned

    def _list_returned(self, value: Any, args: list[Variable]) -> Variable | None:
        """`torch._foreach_add_` and the like return the list that they are given; a new one of the same
        objects where a class of tensors is asked.
        """
        given = args[0] if args else None
        if not isinstance(value, (list, tuple)) or not isinstance(given, SequenceVariable):
            return None
        items = [self.resolve(item) for item in given.items]
        if not items or len(items) != len(value):
            return None
        if any(getattr(item, "fake", None) is not tensor for item, tensor in zip(items, value)):
            return None
        plain = all(item.cls is torch.Tensor for item in items)  # type: ignore[attr-defined]
        return given if plain and not self.function_modes else given.like(items)

    def _check_alive(self, arguments: Any) -> None:
        """A tensor made in the body of a function transform is none of the graph around it."""

        def check(node: torch.fx.Node) -> torch.fx.Node:
            if node._erased:
                raise GraphBreak("mutation", value="what a function transform's body keeps for later")
            return node

        torch.fx.node.map_arg(arguments, check)

    def _propagate(self, kind: str, target: Any, args: Any, kwargs: Any) -> Any:
        """Run the operation on fake tensors."""
        values = torch.fx.node.map_arg(args, lambda n: n.meta["example_value"])
        keywords = torch.fx.node.map_arg(kwargs, lambda n: n.meta["example_value"])
        name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
        try:
            with self.fake_mode, self._dispatcher():
                form = self._fake_form(target) if kind != "call_method" else _method_caller(target)
                arguments = [*values, *keywords.values()]
                return self.unbacked.likely.propagate(
                    self.symbols.env, lambda: form(*values, **keywords), arguments
                )
        except DataDependentOutputException:
            if self.unbacked.start(scalar=True):
                return self._propagate(kind, target, args, kwargs)
            raise GraphBreak("data_dependent_value", what=name) from None
        except DynamicOutputShapeException:
            if self.unbacked.start(scalar=False):
                return self._propagate(kind, target, args, kwargs)
            raise GraphBreak("data_dependent_shape", what=name) from None
        except (GraphBreak, MemoryError, RecursionError, KeyboardInterrupt):
            raise
        except Exception as error:
            if self.symbols.are_optional():
                raise SizesAsNumbers(f"{name}: {error}") from error
            text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            raise GraphBreak("torch_op_failed", name=name, error=text) from error

    def _fake_form(self, target: Any) -> Any:
        """What stands for a function that reads its numbers in C++, where some of them may be symbols."""
        if self.symbols.env is None:
            return target
        from codegen.rewrite.symbolic_functions import FAKE_FORMS  # lazy: import time

        return FAKE_FORMS.get(target, target)

    def _dispatcher(self) -> Any:
        """Composite operators run by their Python bodies on symbols: those in C++ want numbers."""
        return (
            torch._C._EnablePythonDispatcher() if self.symbols.env is not None else contextlib.nullcontext()
        )

    def variable_of(self, node: torch.fx.Node) -> Variable:
        """A node's tensor or number as an argument of another operation."""
        return self.wrap_result(node.meta["example_value"], node)

    def wrap_result(self, value: Any, node: torch.fx.Node) -> Variable:
        """The result of an operation as a variable; parts of a tuple become `getitem` nodes."""
        node.meta["example_value"] = value
        if is_fake(value):
            return TensorVariable(node, value)
        if isinstance(value, torch.Tensor):
            raise GraphBreak("subclass", value=type(value).__name__)
        if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
            items = [self._item(value, node, i) for i in range(len(value))]
            if type(value) is list:
                return ListVariable(items)
            return TupleVariable(items) if type(value) is tuple else NamedTupleVariable(items, type(value))
        return constant(value)

    def _item(self, value: Any, node: torch.fx.Node, index: int) -> Variable:
        if not isinstance(value[index], (torch.Tensor, tuple, list)):
            return constant(value[index])
        part = self.graph.call_function(operator.getitem, (node, index))
        part.meta["stack_trace"] = node.meta.get("stack_trace", "")
        return self.wrap_result(value[index], part)

    def change_state(self, tx: Translator, function: Any, args: list[Any]) -> Variable:
        """A function that changes the mode of the thread: done now, in the graph, and for the code behind the
        graph.
        """
        result = function(*args)
        node = self.state_node(function, tuple(args))
        node.meta["in_context"] = any(t.code.co_name == "__enter__" for t in tx.chain())
        self.state_changes.append((function, args))
        return ConstantVariable(result)

    def state_node(self, function: Any, args: tuple[Any, ...]) -> torch.fx.Node:
        """A call in the graph that changes the mode of the thread."""
        node = self.graph.call_function(function, args)
        node.meta["changes_state"] = True
        return node

    def enter_context(self, manager: Any) -> None:
        """`manager` was entered, to be left when the translation ends at the latest."""
        self._open_contexts.append(manager)

    def leave_context(self, manager: Any) -> None:
        if not self._open_contexts or self._open_contexts[-1] is not manager:
            raise GraphBreak("with_context", value=type(manager).__name__)
        self._open_contexts.pop().__exit__(None, None, None)

    def leave_all_contexts(self) -> None:
        while self._open_contexts:
            self._open_contexts.pop().__exit__(None, None, None)

    def state_is_as_at_entry(self) -> bool:
        unchanged = not self.state_changes or read_modes() == self.modes_at_entry
        return unchanged and self.function_modes == self.modes_around

    def surround_with(self, modes: Iterable[Any]) -> None:
        """Modes of torch that are entered around the frame, the innermost last."""
        self.function_modes = [wrap(self, m, FunctionModeSource(i)) for i, m in enumerate(modes)]
        self.modes_around = list(self.function_modes)

    # --- writes to inputs ---

    def mutated_inputs(self) -> list[GraphInput]:
        """Inputs that some operation writes to."""
        return [
            i
            for i in self.tensor_inputs()
            if i.version is None or version_of(i.node.meta["example_value"]) != i.version
        ]

    def mutates_inputs(self) -> bool:
        return bool(self.mutated_inputs())

    def check_generators(self) -> None:
        """One that is left inside of a `try` or `with` is Python's from the start: it ends that block when it
        is let go of.
        """
        for generator in self.generators:
            if generator.waits_in_try():
                signal = GraphBreak("generator", what="leaving an open block")
                signal.born = generator.born
                raise signal

    def check_aliasing(self) -> None:
        """A write to an input that shares its memory with another input is left to Python where autograd
        records either: it changes both.
        """
        if not self.mutates_inputs():
            return
        inputs = self.tensor_inputs()
        if len(inputs) > 1 and any(isinstance(i, ArrayInput) for i in inputs):
            # whether arrays share memory is guarded nowhere
            raise SkipFrame(
                "an input is written to, which may share its memory with an array",
                guards=self.finished_guards(),
            )
        sharing: dict[int, list[bool]] = {}
        for item in inputs:
            recorded = item.node.meta["example_value"].requires_grad
            sharing.setdefault(storage_key(item.value), []).append(recorded)
        for item in self.mutated_inputs():
            recorded = sharing[storage_key(item.value)]
            if len(recorded) > 1 and any(recorded):
                text = f"{item.source.text} is written to and shares its memory with another input"
                raise SkipFrame(text, guards=self.finished_guards())

    def drop_nodes_after(self, last: torch.fx.Node | None) -> None:
        """Take back the operations that were added behind `last`."""
        for node in reversed(list(self.graph.nodes)):
            if node is last:
                return
            if node.op != "placeholder":
                self.graph.erase_node(node)

    # --- finishing ---

    def used_inputs(self) -> list[GraphInput]:
        """Inputs that some operation reads, and the symbols in the sizes of those."""
        if self._finished:
            return self.inputs
        read = [i for i in self.inputs if i.node.users]
        needed = self.symbols.nodes_in(i.node.meta["example_value"] for i in read)
        return [i for i in self.inputs if i.node.users or i.node in needed]

    def finished_module(self, outputs: list[torch.fx.Node], name: str) -> torch.fx.GraphModule:
        """The graph with its outputs, without placeholders that nothing reads."""
        self._leave_modes()
        drop_idle_grad_changes(self.graph)
        drop_unread_numbers(self.graph)
        used = self.used_inputs()
        for item in self.inputs:
            if item not in used:
                self.graph.erase_node(item.node)
        self.inputs = used
        self._finished = True
        self.graph.output(tuple(outputs))
        class_name = re.sub(r"\W", "_", name) or "graph"
        return torch.fx.GraphModule(torch.nn.Module(), self.graph, class_name=f"Captured_{class_name}")

    def _leave_modes(self) -> None:
        """The graph leaves the thread as it found it: what goes on behind it enters again."""
        for node in reversed(self.open_inference):
            self.state_node(grad_mode._exit_inference_mode, (node,))
        for _, node in reversed(self.open_autocasts):
            self.state_node(autocast_mode._exit_autocast, (node,))
        changes = [n for n in self.graph.nodes if n.target is torch._C._set_grad_enabled]
        before = self.modes_at_entry["grad"]
        if self.is_broken and changes and changes[-1].meta["in_context"] and changes[-1].args[0] != before:
            self.state_node(torch._C._set_grad_enabled, (before,))

    def finished_guards(self) -> GuardSet:
        """With the guard that tensors share memory as they do now, and those of the symbols."""
        for guard in self.symbols.guards():
            self.guards.add(guard)
        unguarded: set[Source] = set(self.made_first)
        tensors = [
            (i.source, i.value)
            for i in self.tensor_inputs()
            if not isinstance(i.source, ConstantSource) and not isinstance(i, (ArrayInput, NumpyNumberInput))
            if i.source not in unguarded
        ]
        if len(tensors) > 1:
            self.guards.add(SharedStorageGuard.of([s for s, _ in tensors], [t for _, t in tensors]))
        self.guard_changed_objects(self._objects.values(), self.side_effects.changed_sources())
        return self.guards

    def operation_count(self) -> int:
        """Nodes that do something. Changes of state alone need no graph: they are replayed."""
        calls = [n for n in self.graph.nodes if n.op.startswith("call_")]
        return 0 if all("changes_state" in n.meta for n in calls) else len(calls)


def _method_caller(name: str) -> Any:
    return lambda owner, *args, **kwargs: getattr(owner, name)(*args, **kwargs)


def is_fake(value: Any) -> bool:
    """A fake tensor, or one inside of a function transform, which wraps it in a tensor of its level."""
    return isinstance(value, FakeTensor) or (
        type(value) is torch.Tensor and torch._C._functorch.is_functorch_wrapped_tensor(value)
    )


def _argument_returned(value: Any, args: list[Variable]) -> Variable | None:
    """An in-place operation returns one of its arguments."""
    if not is_fake(value):
        return None
    for arg in args:
        if isinstance(arg, TensorVariable) and arg.fake is value:
            return arg
    return None
