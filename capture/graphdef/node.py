"""One node of the GraphDef while it is imported: its attributes and inputs, and the calls that it becomes.

In:  NodeDef, the values of its inputs.
Out: calls in the fx graph. GraphDefError names the node.

    @rule("Relu")
    def relu(node): return node.call(torch.relu, node.tensor(0))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from capture.graphdef import dtypes
from capture.graphdef.functions import sizes
from capture.graphdef.values import Constant, Sizes, Tensor, Value
from capture.report.errors import GraphDefError

#: constants with more elements are no sizes
_MOST_SIZES = 64
#: the dtypes of sizes
INTEGERS = (torch.int32, torch.int64)
_MISSING = object()


class Graph:
    """The fx graph in the making. Constants become buffers when they are first read."""

    def __init__(self) -> None:
        self.fx = fx.Graph()
        self.root = torch.nn.Module()
        self._buffers: dict[int, tuple[Constant, fx.Node]] = {}

    def buffer(self, constant: Constant) -> fx.Node:
        known = self._buffers.get(id(constant))
        if known is None:
            name = self._free_name(constant.name)
            self.root.register_buffer(name, constant.tensor)
            known = self._buffers[id(constant)] = (constant, self.fx.get_attr(name))
        return known[1]

    def _free_name(self, name: str) -> str:
        start = found = identifier(name)
        number = 0
        while hasattr(self.root, found):
            number += 1
            found = f"{start}_{number}"
        return found


def identifier(name: str) -> str:
    """A Python name for the name of a node: "dense/kernel" -> "dense_kernel"."""
    found = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    return found if found[:1].isalpha() else f"n_{found}"


class Node:
    """A node and the values of its data inputs."""

    def __init__(self, graph: Graph, proto: Any, inputs: Sequence[Value]) -> None:
        self.graph = graph
        self.proto = proto
        self.inputs = list(inputs)

    @property
    def name(self) -> str:
        return str(self.proto.name)

    @property
    def op(self) -> str:
        return str(self.proto.op)

    def error(self, text: str) -> GraphDefError:
        return GraphDefError(f"node {self.name!r} ({self.op}): {text}")

    # --- attributes ---------------------------------------------------------------------------------------

    def attr(self, name: str, kind: str, default: Any = _MISSING) -> Any:
        """The attribute `name`: `kind` is a field of AttrValue (i, f, b, s, type, shape, tensor)."""
        if name not in self.proto.attr:
            if default is _MISSING:
                raise self.error(f"the attribute {name!r} is missing")
            return default
        value = self.proto.attr[name]
        self._check_kind(name, value.WhichOneof("value"), kind)
        found = getattr(value, kind)
        return self._text(name, found) if kind == "s" else found

    def attr_list(self, name: str, kind: str, default: Any = _MISSING) -> list[Any]:
        found = self.attr(name, "list", None if default is not _MISSING else _MISSING)
        if found is None:
            return list(default)
        given = [field.name for field, _ in found.ListFields()]
        for other in given:
            self._check_kind(name, f"list({other})", f"list({kind})")
        return list(getattr(found, kind))

    def dtype(self, name: str) -> torch.dtype:
        try:
            return dtypes.torch_dtype(self.attr(name, "type"))
        except ValueError as error:
            raise self.error(str(error)) from None

    def _check_kind(self, name: str, found: str | None, wanted: str) -> None:
        if found != wanted:
            raise self.error(f"the attribute {name!r} is of the kind {found or 'nothing'}, not {wanted}")

    def _text(self, name: str, value: bytes) -> str:
        try:
            return value.decode("ascii")
        except UnicodeDecodeError:
            raise self.error(f"the attribute {name!r} is {value!r}") from None

    # --- inputs -------------------------------------------------------------------------------------------

    def count(self, least: int, most: int | None = None) -> None:
        """The operator takes so many inputs."""
        most = least if most is None else most
        if not least <= len(self.inputs) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.error(f"it has {len(self.inputs)} inputs, the operator takes {wanted}")

    def as_tensor(self, value: Value) -> fx.Node:
        if isinstance(value, Constant):
            return self.graph.buffer(value)
        if isinstance(value, Tensor):
            return value.node
        if value.tensor is not None:
            return value.tensor
        return self.graph.fx.call_function(sizes.as_tensor, (value.node, value.dtype))

    def tensor(self, position: int) -> fx.Node:
        return self.as_tensor(self.inputs[position])

    def tensors(self) -> list[fx.Node]:
        return [self.as_tensor(value) for value in self.inputs]

    def numbers(self, position: int) -> Any:
        """An input that is sizes or axes: numbers, nested as the tensor is, or a node that gives them."""
        value = self.inputs[position]
        if isinstance(value, Constant):
            return value.tensor.tolist()
        if isinstance(value, Sizes):
            return value.node
        return self.graph.fx.call_method("tolist", (value.node,))

    def fixed(self, position: int, what: str) -> Any:
        """An input that has to be a constant, as numbers."""
        value = self.inputs[position]
        if not isinstance(value, Constant):
            raise self.error(f"{what} is no constant")
        return value.tensor.tolist()

    def fixed_int(self, position: int, what: str) -> int:
        found = self.fixed(position, what)
        while isinstance(found, list) and len(found) == 1:
            found = found[0]
        if type(found) is not int:
            raise self.error(f"{what} is no whole number")
        return found

    def fixed_ints(self, position: int, what: str) -> list[int]:
        found = self.fixed(position, what)
        if not isinstance(found, list) or not all(type(number) is int for number in found):
            raise self.error(f"{what} is no list of whole numbers")
        return found

    # --- calls --------------------------------------------------------------------------------------------

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Tensor:
        return Tensor(self.emit(function, *args, **kwargs))

    def emit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> fx.Node:
        name = identifier(self.name)
        return self.graph.fx.create_node("call_function", function, args, kwargs, name)

    def method(self, name: str, *args: Any) -> fx.Node:
        return self.graph.fx.create_node("call_method", name, args, {}, identifier(self.name))

    def prepared(self, value: Value, function: Callable[..., Any], *args: Any) -> fx.Node:
        """`value` in another layout, as (function, arguments) gives it: of a constant it is made now."""
        if isinstance(value, Constant):
            made = self._now(function, value.tensor, *args)
            return self.graph.buffer(Constant(made.contiguous(), value.name))
        return self.graph.fx.call_function(function, (self.as_tensor(value), *args))

    # --- sizes --------------------------------------------------------------------------------------------

    def rank_of(self, value: Value) -> int | None:
        """The rank of a value that can be sizes, else None."""
        if isinstance(value, Sizes):
            return value.rank
        if isinstance(value, Constant) and value.tensor.dtype in INTEGERS and value.tensor.dim() < 2:
            return value.tensor.dim() if value.tensor.numel() <= _MOST_SIZES else None
        return None

    def are_sizes(self) -> bool:
        """Whether all inputs are numbers of sizes: then the node computes sizes."""
        return bool(self.inputs) and all(self.rank_of(value) is not None for value in self.inputs)

    def size_call(self, function: Callable[..., Any], rank: int, *args: Any, dtype: Any = None) -> Value:
        """A call of `functions.sizes`: made now if all its arguments are numbers."""
        kind = dtype or self._sizes_dtype()
        if not _nodes(args):
            return Constant(torch.tensor(self._now(function, *args)).to(kind), self.name)
        return Sizes(self.emit(function, *args), rank, kind)

    def _sizes_dtype(self) -> torch.dtype:
        first = self.inputs[0]
        return first.tensor.dtype if isinstance(first, Constant) else first.dtype  # type: ignore[union-attr]

    def _now(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return function(*args)
        except (ArithmeticError, IndexError, RuntimeError, TypeError, ValueError) as error:
            raise self.error(str(error)) from None


def _nodes(args: Any) -> list[fx.Node]:
    found: list[fx.Node] = []
    fx.node.map_arg(list(args), found.append)
    return found
