"""Convolutions with constant weights, in the form that oneDNN needs.

In:  a graph and its constants (`codegen.freeze.constants.Constants`).
Out: the graph; its convolutions call `mkldnn::_convolution_pointwise` on a packed weight. A sum and an
     activation that follow are the epilogue.

    relu(convolution(x, w, b) + y)   ->   _convolution_pointwise.binary(x, y, packed w, b, "add", "relu")

Such a convolution returns channels_last, and is fastest on channels_last. So values computed from its results
have other strides than in eager. To find them, the operators run on fake tensors. The results of the graph
are copied back into eager's layout. Where the meaning of an operator depends on the layout (as_strided,
random numbers), the graph stays as it was.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from codegen.freeze.constants import Constants
from codegen.trace.nodes import is_effect

aten, mkldnn = torch.ops.aten, torch.ops.mkldnn
VIEWS = (aten.view.default, aten._unsafe_view.default)


def pack_convolutions(constants: Constants) -> None:
    chosen = [node for node in constants.graph.nodes if is_packable(constants, node)]
    if len(chosen) < 2:  # one alone does not save the time of a copy into eager's layout
        return
    layouts = Layouts(constants.graph, set(chosen))
    if layouts.are_known():
        layouts.apply()
        places = {node: place for place, node in enumerate(constants.graph.nodes)}
        for node in chosen:
            pack_convolution(constants, node, places)


def is_packable(constants: Constants, node: fx.Node) -> bool:
    """convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)"""
    if node.target is not aten.convolution.default or node.kwargs:
        return False
    arguments: tuple[Any, ...] = node.args
    data, weight, bias = arguments[:3]
    value = constants.get(weight)
    is_float = value is not None and value.dtype is torch.float32 and value.dim() == 4
    is_static = all(type(size) is int for size in (*data.meta["val"].shape, *node.meta["val"].shape))
    has_bias = bias is None or constants.get(bias) is not None
    return is_float and is_static and has_bias and node.args[6] is False and node.meta["val"].numel() > 0


# --- layouts ----------------------------------------------------------------------------------------------


class Layouts:
    """The layouts of a graph's values when the chosen convolutions return channels_last.

    `values`: node -> its value, where the strides differ from eager's. `copied`: views that need a row-major
    copy. `restored`: results in eager's memory format.
    """

    def __init__(self, graph: fx.Graph, chosen: set[fx.Node]) -> None:
        self.graph = graph
        self.chosen = chosen
        self.values: dict[fx.Node, torch.Tensor] = {}
        self.copied: set[fx.Node] = set()
        self.restored: dict[fx.Node, torch.memory_format] = {}

    def are_known(self) -> bool:
        """Fills the tables; False where a layout is unknown."""
        return all(map(self._visit, self.graph.nodes))

    def _visit(self, node: fx.Node) -> bool:
        if node.op == "output":
            return all(self._restore(value) for value in node.all_input_nodes if value in self.values)
        if node in self.chosen:
            self._note(node, _channels_last(node.meta["val"]))
            return True
        if not any(value in self.values for value in node.all_input_nodes):
            return True
        if isinstance(node.target, OpOverload) and node.target._schema.is_mutable:
            return True  # a copy into an input may have any layout
        return self._propagate(node)

    def _note(self, node: fx.Node, value: Any) -> None:
        old = node.meta["val"]
        is_same = isinstance(old, torch.Tensor) and old.stride() == value.stride()
        if not is_same:
            self.values[node] = value

    def _propagate(self, node: fx.Node) -> bool:
        if is_effect(node) or node.target is aten.as_strided.default or not callable(node.target):
            return False
        value = self._run(node, self.values)
        if value is None and node.target in VIEWS:
            self.copied.add(node)
            value = self._run(node, {})
        if value is None:
            return False
        self._note(node, value)
        return True

    def _run(self, node: fx.Node, values: dict[fx.Node, torch.Tensor]) -> Any:
        """None where the operator refuses arguments of that layout."""
        given: Any = (node.args, node.kwargs)
        args, kwargs = fx.node.map_arg(given, lambda known: values.get(known, known.meta["val"]))
        if node.target is operator.getitem:
            return operator.getitem(*args)
        try:
            with _mode(node):
                return node.target(*args, **kwargs)  # type: ignore[operator]
        except RuntimeError:
            return None

    def _restore(self, node: fx.Node) -> bool:
        old = node.meta["val"]
        for memory_format in (torch.contiguous_format, torch.channels_last):
            if old.dim() == 4 or memory_format is torch.contiguous_format:
                with _mode(node):
                    if torch.empty(old.shape, memory_format=memory_format).stride() == old.stride():
                        self.restored[node] = memory_format
                        return True
        return False

    def apply(self) -> None:
        for node in self.copied:
            base = node.args[0]
            assert isinstance(base, fx.Node)
            with self.graph.inserting_before(node):
                copy = self.graph.call_function(
                    aten.clone.default, (base,), {"memory_format": torch.contiguous_format}
                )
            copy.meta["val"] = base.meta["val"]
            node.replace_input_with(base, copy)
        (output,) = (node for node in self.graph.nodes if node.op == "output")
        for node, memory_format in self.restored.items():
            with self.graph.inserting_before(output):
                copy = self.graph.call_function(aten.clone.default, (node,), {"memory_format": memory_format})
            copy.meta["val"] = node.meta["val"]
            output.replace_input_with(node, copy)
        for node, value in self.values.items():
            node.meta["val"] = value


def _mode(node: fx.Node) -> Any:
    tensor: Any = next(
        value.meta["val"]
        for value in (node, *node.all_input_nodes)
        if isinstance(value.meta["val"], torch.Tensor)
    )
    return tensor.fake_mode


def _channels_last(value: Any) -> Any:
    with value.fake_mode:
        return torch.empty(value.shape, dtype=value.dtype, memory_format=torch.channels_last)


# --- the calls --------------------------------------------------------------------------------------------


def pack_convolution(constants: Constants, node: fx.Node, places: dict[fx.Node, int]) -> None:
    data, weight, bias, stride, padding, dilation, _, _, groups = node.args
    dense = constants.get(weight)
    assert dense is not None and isinstance(data, fx.Node) and isinstance(weight, fx.Node)
    sizes = list(data.meta["val"].shape)
    packed = mkldnn._reorder_convolution_weight(dense.contiguous(), padding, stride, dilation, groups, sizes)
    last, other = _summand(node, places)
    activation, last = _activation(last)
    holder = constants.add(packed, weight, node)
    rest = (holder, bias, padding, stride, dilation, groups)
    with constants.graph.inserting_before(node):
        if other is None:
            call: Any = mkldnn._convolution_pointwise.default
            args: tuple[Any, ...] = (data, *rest, activation or "none", [], "")
        else:
            call = mkldnn._convolution_pointwise.binary
            args = (data, other, *rest, "add", 1.0, activation, [], "")
        product = constants.graph.call_function(call, args)
    product.meta["val"] = node.meta["val"]
    places[product] = places[node]
    last.replace_all_uses_with(product)


def _summand(node: fx.Node, places: dict[fx.Node, int]) -> tuple[fx.Node, fx.Node | None]:
    """The sum of the result and another tensor of the same kind that already exists, and that tensor."""
    user = next(iter(node.users))
    if len(node.users) > 1 or user.target is not aten.add.Tensor or user.kwargs or len(user.args) != 2:
        return node, None
    others = [value for value in user.args if value is not node]
    if len(others) != 1 or not isinstance(others[0], fx.Node) or places[others[0]] > places[node]:
        return node, None
    ours, theirs = node.meta["val"], others[0].meta["val"]
    same = ours.shape == theirs.shape and ours.dtype == theirs.dtype and ours.stride() == theirs.stride()
    return (user, others[0]) if same else (node, None)


def _activation(node: fx.Node) -> tuple[str | None, fx.Node]:
    user = next(iter(node.users), None)
    if user is not None and len(node.users) == 1 and user.target is aten.relu.default:
        return "relu", user
    return None, node
