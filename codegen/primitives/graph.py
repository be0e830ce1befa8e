"""What a graph of torch calls does, as a module of primitives.

In:  `fx.GraphModule` at the level of torch calls, its inputs, and where each of them comes from.
Out: `fx.GraphModule` of `torch.ops.prims`. Its arguments are the tensors of the call, its attributes the
     other tensors; `meta["kept"]` has the operators that stay calls, with the reasons.

    out = torch.add(a, b, out=c)   ->   add = prims.add(a, b); prims.copy_to(c, add); return c

A module that is called with tensors of other sizes, strides or dtypes raises: its numbers are those of the
call.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.utils._dtype_abbrs import dtype_abbrs

from codegen.autograd.joint_graph import check_sharing
from codegen.fake.fake import FakeMode, mode_of_a_trace
from codegen.fake.twins import to_fake
from codegen.kernel.foreign import is_foreign
from codegen.primitives.decompose import DRAWS, Decomposition
from codegen.rewrite.recurrent_operators import unrolled
from codegen.trace import autocast
from codegen.trace.behaviour import is_check
from codegen.trace.draws import draw
from codegen.trace.module_runner import fetch
from codegen.trace.nodes import drop_unused
from codegen.trace.trace import Trace, trace

aten, prims = torch.ops.aten, torch.ops.prims


def primitive_graph(
    gm: fx.GraphModule, inputs: Sequence[Any], arguments: Mapping[str, torch.Tensor], results: Any
) -> fx.GraphModule:
    """The primitives that `gm` does with `inputs`.

    `arguments`: the tensors that the module takes, by name. Other tensors among `inputs` are held.
    `results`: what the module returns: for a tensor its position in the outputs of `gm`, or the tensor itself
    if it is an input; a list of such ones.
    Raises UntraceableError, or the error of an operator.
    """
    with mode_of_a_trace() as mode, unrolled():
        traced = trace(gm, inputs, mode)
        check_sharing(traced, inputs)
        with mode:
            traced.copy_back()
            graph = traced.finish(traced.output_nodes(traced.outputs))
            builder = _Builder(mode, traced, graph)
            # The casts of autocast are in the trace already, and primitives have no gradients.
            with torch.no_grad(), autocast.switched(False):
                return builder.build([*inputs, *traced.lifted], arguments, results)


class _Builder:
    """Builds the module of primitives from a closed ATen graph."""

    def __init__(self, mode: FakeMode, traced: Trace, graph: fx.Graph) -> None:
        self.traced = traced
        self.aten = graph
        self.made = Decomposition(mode)
        self.values: dict[fx.Node, Any] = {}

    def build(self, inputs: list[Any], arguments: Mapping[str, torch.Tensor], results: Any) -> fx.GraphModule:
        self.place_inputs(inputs, arguments)
        for node in self.aten.nodes:
            if node.op == "get_attr":
                self.constant(node)
            elif node.op == "call_function":
                self.call(node)
        outputs: Any = self.aten.output_node().args[0]
        self.made.graph.output(self.returned(results, outputs))
        drop_unused(self.made.graph)
        return self.finished()

    def place_inputs(self, inputs: list[Any], arguments: Mapping[str, torch.Tensor]) -> None:
        """All arguments are placeholders, in order, also those that the graph does not read."""
        made = self.made
        places = [node for node in self.aten.nodes if node.op == "placeholder"]
        self.twins = {id(value): place.meta["val"] for value, place in zip(inputs, places)}
        for name, tensor in arguments.items():
            fake = self.twins.get(id(tensor))
            if fake is None:
                fake = self.twins[id(tensor)] = to_fake(made.mode, tensor)
            made.place(fake, made.graph.placeholder(name))
        given = {id(tensor) for tensor in arguments.values()}
        for place, value in zip(places, inputs):
            self.values[place] = place.meta["val"]
            if isinstance(value, torch.Tensor) and id(value) not in given:
                made.held(place.name.removeprefix("l_target_").strip("_"), value, place.meta["val"])

    def constant(self, node: fx.Node) -> None:
        value = fetch(self.traced.recorder.root, str(node.target))
        self.values[node] = node.meta["val"]
        self.made.held(node.name, value, node.meta["val"])

    def call(self, node: fx.Node) -> None:
        args: Any
        args, kwargs = fx.node.map_arg((node.args, node.kwargs), self.values.__getitem__)
        value, target = node.meta.get("val"), node.target
        if target is aten.copy_.default:  # the contents of an input at the end
            self.made.append(prims.copy_to.default, args[:2], {}, args[0])
            self.values[node] = args[0]
        elif isinstance(target, OpOverload) and not is_check(target) and not is_foreign(target):
            self.values[node] = self.made.expand(target, args, kwargs, value)
        elif target is operator.getitem:
            self.values[node] = args[0][args[1]]
        else:
            self.made.append(target, args, kwargs, value)
            self.values[node] = value
            if target is draw:
                self.made.kept[operator_name(node)] = DRAWS

    def returned(self, results: Any, outputs: Sequence[fx.Node]) -> Any:
        if isinstance(results, list):
            return tuple(self.returned(result, outputs) for result in results)
        value = (
            self.twins[id(results)] if isinstance(results, torch.Tensor) else self.values[outputs[results]]
        )
        return self.made.as_nodes(value)

    def finished(self) -> fx.GraphModule:
        """The module, without the fake tensors."""
        for node in self.made.graph.nodes:
            value = node.meta.pop("val", None)
            if isinstance(value, torch.Tensor):
                node.meta["type"] = shown_type(value)
                node.meta["strides"] = value.stride()
        module = fx.GraphModule(self.made.root, self.made.graph, class_name="Primitives")
        remaining = {operator_name(node) for node in module.graph.nodes}
        module.meta["kept"] = {name: why for name, why in self.made.kept.items() if name in remaining}
        places = {
            str(node.target): (node.meta["type"], node.meta["strides"])
            for node in module.graph.nodes
            if node.op == "placeholder"
        }
        module.register_forward_pre_hook(functools.partial(check_arguments, places), with_kwargs=True)
        return module


def operator_name(node: fx.Node) -> str:
    """A random operator fills a new tensor: `draw(aten.normal_, ...)`."""
    return str(node.args[0] if node.target is draw else node.target)


def check_arguments(
    places: dict[str, tuple[str, tuple[int, ...]]], module: Any, args: tuple[Any, ...], kwargs: Any
) -> None:
    """Raises where a tensor is of another size, dtype or layout than in the call that was traced."""
    for name, value in [*zip(places, args), *kwargs.items()]:
        found = shown_type(value), value.stride() if isinstance(value, torch.Tensor) else ()
        if found != places.get(name, found):
            wanted, given = (f"{kind} with strides {strides}" for kind, strides in (places[name], found))
            raise TypeError(f"these primitives are for {name}: {wanted}, not {given}")


def shown_type(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"{dtype_abbrs[value.dtype]}{list(value.shape)}"
