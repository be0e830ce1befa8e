"""The graph under construction and all that goes with it: inputs, guards, side effects, state of the process.

In:  operations from the interpreter (`call_function`, `call_method`), existing tensors (`add_tensor_input`).
Out: an `fx.Graph` at the level of torch calls with fake tensors in `meta["example_value"]`, a GuardSet, and the list of inputs.

One `OutputGraph` serves one attempt to translate one frame, inlined calls included.
"""

from __future__ import annotations

import re
import traceback
from typing import TYPE_CHECKING, Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
)

from capture.break_reasons import GraphBreak, SkipFrame
from capture.config import config
from capture.side_effects import SideEffects
from capture.thread_state import read_modes
from capture.variables.base import LazyVariable, Variable
from capture.variables.constant import ConstantVariable
from codegen.fake import fake_mode, to_fake
from guards import guard as make_guard
from guards.guard_set import GuardSet
from guards.tensor_properties import storage_key
from guards.source import ConstantSource, Source, TypeSource

if TYPE_CHECKING:
    from capture.translator import Translator


class GraphInput:
    """A placeholder: where the tensor comes from, and the tensor."""

    def __init__(self, source: Source, node: torch.fx.Node, value: torch.Tensor) -> None:
        self.source = source
        self.node = node
        self.value = value
        self.version: int = node.meta["example_value"]._version


class OutputGraph:
    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.inputs: list[GraphInput] = []
        self.guards = GuardSet([make_guard.global_state()])
        self.side_effects = SideEffects()
        self.fake_mode = fake_mode()
        self.state_changes: list[tuple[Any, list[Any]]] = []
        self.instructions = 0
        self._modes_at_entry = read_modes()
        self._objects: dict[int, tuple[Any, Variable]] = {}
        self._last_placeholder: torch.fx.Node | None = None

    # --- budget ---

    def count_instruction(self) -> None:
        self.instructions += 1
        if self.instructions > config.max_instructions:
            raise GraphBreak("too_many_instructions", limit=str(config.max_instructions))

    # --- existing objects ---

    def known_object(self, value: Any) -> Variable | None:
        held = self._objects.get(id(value))
        return held[1] if held is not None else None

    def remember_object(self, value: Any, variable: Variable) -> None:
        self._objects[id(value)] = (value, variable)

    def resolve(self, variable: Variable) -> Variable:
        """A lazy variable whose object was wrapped meanwhile is that variable."""
        if isinstance(variable, LazyVariable):
            return self.known_object(variable.value) or variable
        return variable

    # --- guards ---

    def guard_same_object(self, first: Source, second: Source) -> None:
        if isinstance(first, ConstantSource):
            if not isinstance(second, ConstantSource):
                self.guards.add(make_guard.id_match(second, first.value))
        elif isinstance(second, ConstantSource):
            self.guards.add(make_guard.id_match(first, second.value))
        else:
            self.guards.add(make_guard.object_aliasing(first, second))

    def guard_identity(self, variable: Variable, value: Any) -> None:
        if variable.source is not None and not isinstance(variable.source, ConstantSource):
            self.guards.add(make_guard.id_match(variable.source, value))

    def guard_dict_keys(self, source: Source | None, mapping: Any) -> None:
        if source is not None:
            self.guards.add(make_guard.dict_keys(source, mapping))

    def guard_dict_contains(self, variable: Any, key: Any, mapping: Any) -> None:
        from capture.variables.compare import ByIdentity

        if isinstance(key, ByIdentity) or variable.side_changed(self):
            variable.keys_guarded = True
            self.guard_dict_keys(variable.source, mapping)
        elif variable.source is not None:
            try:
                present = key in mapping
                self.guards.add(make_guard.dict_contains(variable.source, key, present))
            except TypeError:
                variable.keys_guarded = True
                self.guard_dict_keys(variable.source, mapping)

    def guard_no_attribute(self, variable: Variable, name: str) -> None:
        if variable.source is not None and not isinstance(variable.source, ConstantSource):
            self.guards.add(make_guard.no_attr(variable.source, name))

    def class_source(self, variable: Variable) -> Source | None:
        """Where the class of an object can be reached; of a class, the class itself."""
        from capture.variables.type_object import ClassVariable

        if isinstance(variable, ClassVariable):
            return variable.source
        if variable.source is not None:
            return TypeSource(variable.source)
        return self.side_effects.class_source(variable)

    def pending_global(self, namespace: dict[str, Any], name: str) -> Variable | None:
        return self.side_effects.pending_global(namespace, name)

    def pending_item(self, mapping: Any, key: Any) -> Variable | None:
        """What the frame stored in an existing dict (a module's registry) that it also changed as a dict."""
        from capture.variables.mapping import DictVariable

        known = self.known_object(mapping)
        if isinstance(known, DictVariable):
            entry = known.entries.get(key)
            if entry is not None and not isinstance(entry[1], LazyVariable):
                return entry[1]
        return None

    # --- inputs ---

    def add_tensor_input(self, value: torch.Tensor, source: Source | None) -> Variable:
        from capture.variables.tensor import TensorVariable

        fake = to_fake(self.fake_mode, value)
        source = source or ConstantSource(value)
        node = self._placeholder(source, fake)
        self.inputs.append(GraphInput(source, node, value))
        self.guards.add(make_guard.tensor_match(source, value, check_leaf=True))
        variable = TensorVariable(node, fake, source)
        variable.value = value
        return variable

    def _placeholder(self, source: Source, fake: torch.Tensor) -> torch.fx.Node:
        name = re.sub(r"\W+", "_", f"l_{source.text}_").lower()
        anchor = self._last_placeholder
        if anchor is None:
            first = next(iter(self.graph.nodes), None)
            with self.graph.inserting_before(first):
                node = self.graph.placeholder(name)
        else:
            with self.graph.inserting_after(anchor):
                node = self.graph.placeholder(name)
        self._last_placeholder = node
        node.meta["example_value"] = fake
        return node

    # --- operations ---

    def call_function(
        self, tx: Translator, function: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        return self._operation(tx, "call_function", function, args, kwargs)

    def call_method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        return self._operation(tx, "call_method", name, args, kwargs)

    def _operation(
        self, tx: Translator, kind: str, target: Any, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        proxies = tuple(a.as_proxy() for a in args)
        keywords = {k: v.as_proxy() for k, v in kwargs.items()}
        value = self._propagate(kind, target, proxies, keywords)
        node = self.graph.create_node(kind, target, proxies, keywords)
        node.meta["stack_trace"] = "".join(traceback.format_list(tx.user_stack()))
        same = _argument_returned(value, [*args, *kwargs.values()])
        if same is not None:
            node.meta["example_value"] = value
            same.node = node  # type: ignore[attr-defined]
            return same
        return self.wrap_result(value, node)

    def _propagate(self, kind: str, target: Any, args: Any, kwargs: Any) -> Any:
        """Run the operation on fake tensors."""
        values = torch.fx.node.map_arg(args, lambda n: n.meta["example_value"])
        keywords = torch.fx.node.map_arg(kwargs, lambda n: n.meta["example_value"])
        name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
        try:
            with self.fake_mode:
                if kind == "call_method":
                    return getattr(values[0], target)(*values[1:], **keywords)
                return target(*values, **keywords)
        except DataDependentOutputException:
            raise GraphBreak("data_dependent_value", what=name) from None
        except DynamicOutputShapeException:
            raise GraphBreak("data_dependent_shape", what=name) from None
        except (GraphBreak, MemoryError, RecursionError, KeyboardInterrupt):
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            raise GraphBreak("torch_op_failed", name=name, error=text) from error

    def wrap_result(self, value: Any, node: torch.fx.Node) -> Variable:
        """The result of an operation as a variable; parts of a tuple become `getitem` nodes."""
        from capture.variables.sequence import ListVariable, NamedTupleVariable, TupleVariable
        from capture.variables.tensor import TensorVariable
        from capture.wrap import constant

        node.meta["example_value"] = value
        if isinstance(value, FakeTensor):
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
        import operator

        if not isinstance(value[index], (torch.Tensor, tuple, list)):
            from capture.wrap import constant

            return constant(value[index])
        part = self.graph.call_function(operator.getitem, (node, index))
        part.meta["stack_trace"] = node.meta.get("stack_trace", "")
        return self.wrap_result(value[index], part)

    def change_state(self, tx: Translator, function: Any, args: list[Any]) -> Variable:
        """A function that changes the mode of the thread: done now, in the graph, and for the code behind the graph."""
        function(*args)
        self.graph.call_function(function, tuple(args))
        self.state_changes.append((function, args))
        return ConstantVariable(None)

    def state_is_as_at_entry(self) -> bool:
        return not self.state_changes or read_modes() == self._modes_at_entry

    # --- writes to inputs ---

    def mutated_inputs(self) -> list[GraphInput]:
        """Inputs that some operation writes to."""
        return [i for i in self.inputs if i.node.meta["example_value"]._version != i.version]

    def mutates_inputs(self) -> bool:
        return bool(self.mutated_inputs())

    def check_aliasing(self) -> None:
        """A write to an input that shares its memory with another input is left to Python."""
        if not self.mutates_inputs():
            return
        storages = [storage_key(i.value) for i in self.inputs]
        for item in self.mutated_inputs():
            if storages.count(storage_key(item.value)) > 1:
                raise SkipFrame(f"{item.source.text} is written to and shares its memory with another input", permanent=False)

    # --- finishing ---

    def used_inputs(self) -> list[GraphInput]:
        """Inputs that some operation reads."""
        return [i for i in self.inputs if i.node.users]

    def finished_module(self, outputs: list[torch.fx.Node], name: str) -> torch.fx.GraphModule:
        """The graph with its outputs, without placeholders that nothing reads."""
        used = self.used_inputs()
        for item in self.inputs:
            if item not in used:
                self.graph.erase_node(item.node)
        self.inputs = used
        self.graph.output(tuple(outputs))
        class_name = re.sub(r"\W", "_", name) or "graph"
        return torch.fx.GraphModule(torch.nn.Module(), self.graph, class_name=f"Captured_{class_name}")

    def finished_guards(self) -> GuardSet:
        """With the guard that tensors share memory as they do now."""
        tensors = [(i.source, i.value) for i in self.inputs if not isinstance(i.source, ConstantSource)]
        if len(tensors) > 1:
            self.guards.add(make_guard.tensor_aliasing([s for s, _ in tensors], [t for _, t in tensors]))
        return self.guards

    def operation_count(self) -> int:
        return sum(1 for n in self.graph.nodes if n.op.startswith("call_"))


def _argument_returned(value: Any, args: list[Variable]) -> Variable | None:
    """An in-place operation returns one of its arguments."""
    from capture.variables.tensor import TensorVariable

    if not isinstance(value, FakeTensor):
        return None
    for arg in args:
        if isinstance(arg, TensorVariable) and arg.fake is value:
            return arg
    return None
