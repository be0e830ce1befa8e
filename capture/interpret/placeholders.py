"""The inputs of a graph: existing tensors, arrays and numbers, and numbers from Python's random streams.

In:  a value of the program and its source.
Out: its variable; a placeholder in `graph`, an entry in `all`, and guards on the properties of the value.

    x: float32[3, 4] at LocalSource("x")   ->   placeholder x, a fake tensor, a TensorGuard
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.fx
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes

from capture.graph.converted_inputs import number_as_tensor, numpy_number_as_tensor, plain_tensor
from capture.graph.inputs import (
    ArrayInput,
    FloatInput,
    GraphInput,
    NumpyNumberInput,
    ReadOnlyArrayInput,
    SubclassInput,
    input_name,
    version_of,
)
from capture.variables.tensors.tensor import TensorVariable
from codegen.fake.twins import check_supported, to_fake
from guards.kinds.identity import ExactTypeGuard
from guards.kinds.sizes import free_stride_guards
from guards.kinds.tensors import BufferGuard, TensorGuard
from guards.sources import ConstantSource, Source

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph
    from capture.variables.core.base import Variable
    from capture.variables.numbers import clock_reads
    from capture.variables.numbers.random_draws import Draw
    from capture.variables.tensors.new_parameter import MadeSource
    from capture.variables.tensors.tensor import TensorVariable


class Placeholders:
    """The part of an `OutputGraph` that takes values from the program."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self.graph = output.graph
        self.fake_mode = output.fake_mode
        self.guards = output.guards
        self.all: list[GraphInput] = []
        self.draws: list[Draw] = []  # numbers from Python's random streams, in their order
        self.clocks: list[clock_reads.Read] = []  # in their order
        self.new_parameters: list[MadeSource] = []  # parameters that the frame's new code makes
        #: tensors that no node reads, in a graph that writes to another one: if both are one, what the frame
        #: knows of such a tensor (its shape, after `t_()`) is that of the other
        self.unread: list[GraphInput] = []
        self.uncounted: set[torch.fx.Node] = set()  # an operation writes to them, and no version says so
        self._finished = False
        self._last_placeholder: torch.fx.Node | None = None

    def add_tensor(self, value: torch.Tensor, source: Source | None) -> Variable:
        source = source or ConstantSource(value)
        check_supported(value)
        layout, dims, open_strides = self.output.symbols.layout_of(value, source)
        fake = self._fake_of(value, layout)
        node = self._placeholder(input_name(source), fake)
        self.all.append(GraphInput(source, node, value))
        self.guards.add(TensorGuard.of(source, value, dims, check_leaf=True, open_strides=open_strides))
        for guard in free_stride_guards(source, value, dims, open_strides) if layout is not None else ():
            self.guards.add(guard)
        variable = TensorVariable(node, fake, source)
        variable.value = value
        return variable

    def add_subclass(self, value: torch.Tensor, source: Source | None) -> Variable:
        """A tensor of a class with its own operations. The graph takes the plain tensor on its memory."""
        source = source or ConstantSource(value)
        plain = plain_tensor(value)
        check_supported(plain)
        layout, dims, open_strides = self.output.symbols.layout_of(plain, source)
        node = self._placeholder(input_name(source), self._fake_of(plain, layout))
        self.all.append(SubclassInput(source, node, plain))
        self.guards.add(TensorGuard.of(source, value, dims, check_leaf=True, open_strides=open_strides))
        for guard in free_stride_guards(source, plain, dims, open_strides) if layout is not None else ():
            self.guards.add(guard)
        from capture.variables.tensors.tensor_subclass import SubclassVariable  # lazy: import time

        variable = SubclassVariable(type(value), node, node.meta["example_value"], source)
        variable.value = value
        return variable

    def add_symbol(self, source: Source, name: str, value: int, symbol: torch.SymInt) -> torch.fx.Node:
        node = self._placeholder(name, symbol)
        self.all.append(GraphInput(source, node, value))
        return node

    def _fake_of(self, value: torch.Tensor, layout: Any = None) -> torch.Tensor:
        """The fake tensor of a value. It has no level, even in the body of a function transform."""
        if torch._C._functorch.peek_interpreter_stack() is None:
            return to_fake(self.fake_mode, value, layout)
        with temporarily_clear_interpreter_stack(), _disable_current_modes():
            return to_fake(self.fake_mode, value, layout)

    def add_float(self, source: Source, symbol: torch.SymFloat) -> torch.fx.Node:
        """A float that changes. The graph takes it as a 0-d tensor; the result is the node that reads the
        number.
        """
        value: float = symbol.node.hint
        known = next((i for i in self.all if i.source == source), None)
        if known is None:
            node = self._placeholder(input_name(source), self._fake_of(number_as_tensor(value)))
            known = FloatInput(source, node, value)
            self.all.append(known)
        with self.graph.inserting_after(self._last_placeholder):
            item = self.graph.call_method("item", (known.node,))
        item.meta["example_value"] = symbol
        return item

    def add_draw(
        self, function: Any, args: tuple[Any, ...], bounds: tuple[Any, Any], owner: Source | None = None
    ) -> Variable:
        """A number from one of Python's random streams. Capture draws no number, so the backend gets an
        example.
        """
        from capture.variables.numbers.random_draws import (  # lazy: import time
            Draw,
            DrawnVariable,
            DrawSource,
        )

        source, kind = DrawSource(len(self.draws)), type(bounds[0])
        self.draws.append(Draw(source.local, function, args, owner))
        example = kind((bounds[0] + bounds[1]) / 2)
        node = self._placeholder(source.text, self._fake_of(number_as_tensor(example)))
        self.all.append(FloatInput(source, node, example))
        return DrawnVariable(node, source, kind)

    def add_clock(self, function: Any) -> clock_reads.Read:
        """A read of a clock by the frame's new code."""
        from capture.variables.numbers import clock_reads  # lazy: import time

        in_front = self.output.operation_count() == 0
        read = clock_reads.Read(f"___clock_{len(self.clocks)}", function, in_front)
        self.clocks.append(read)
        return read

    def made_outside(self) -> int:
        """How many numbers the frame's new code makes around the graph."""
        return len(self.draws) + len(self.clocks)

    def add_array(self, array: Any, tensor: torch.Tensor, source: Source) -> TensorVariable:
        """A NumPy array, and the tensor on its memory."""
        fake = self._fake_of(tensor)
        node = self._placeholder(input_name(source), fake)
        self.all.append((ArrayInput if array.flags.writeable else ReadOnlyArrayInput)(source, node, tensor))
        self.guards.add(BufferGuard.of(source, array))
        return TensorVariable(node, fake)

    def add_numpy_number(self, number: Any, source: Source) -> TensorVariable:
        """One of NumPy's numbers. There is a guard on its type, and none on its value."""
        tensor = numpy_number_as_tensor(number)
        fake = self._fake_of(tensor)
        node = self._placeholder(input_name(source), fake)
        self.all.append(NumpyNumberInput(source, node, tensor))
        self.guards.add(ExactTypeGuard.of(source, number))
        return TensorVariable(node, fake)

    def add_made(self, source: MadeSource, fake: torch.Tensor, value: torch.Tensor) -> torch.fx.Node:
        """A tensor that the frame's new code makes before it calls the graph."""
        self.new_parameters.append(source)
        node = self._placeholder(source.text, fake)
        self.all.append(GraphInput(source, node, value))
        return node

    def tensors(self) -> list[GraphInput]:
        return [i for i in self.all if isinstance(i.value, torch.Tensor)]

    def _placeholder(self, name: str, value: Any) -> torch.fx.Node:
        anchor = self._last_placeholder
        if anchor is None:
            first = next(iter(self.graph.nodes), None)
            with self.graph.inserting_before(first):
                node = self.graph.placeholder(name)
        else:
            with self.graph.inserting_after(anchor):
                node = self.graph.placeholder(name)
        self._last_placeholder = node
        node.meta["example_value"] = value
        return node

    def written(self) -> list[GraphInput]:
        """The inputs that an operation writes to."""
        return list(filter(self._is_written, self.tensors()))

    def are_written(self) -> bool:
        return any(map(self._is_written, self.tensors()))

    def _is_written(self, item: GraphInput) -> bool:
        if item.version is None or item.node in self.uncounted:
            return True
        return version_of(item.node.meta["example_value"]) != item.version

    def used(self) -> list[GraphInput]:
        """The inputs that an operation reads, and the symbols in the sizes of these inputs."""
        if self._finished:
            return self.all
        read = [i for i in self.all if i.node.users]
        needed = self.output.symbols.nodes_in(i.node.meta["example_value"] for i in read)
        return [i for i in self.all if i.node.users or i.node in needed]

    def finish(self) -> None:
        """Remove the placeholders that no node reads."""
        used = self.used()
        kept = set(map(id, used))
        if self.are_written():
            self.unread = [i for i in self.tensors() if id(i) not in kept]
        for item in self.all:
            if id(item) not in kept:
                self.graph.erase_node(item.node)
        self.all = used
        self._finished = True
