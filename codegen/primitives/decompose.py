"""Calls of ATen operators become calls of primitives (`torch.ops.prims`).

In:  a functional ATen graph (`codegen.trace`), fake tensors for its inputs.
Out: a graph in which each operator is what torch's reference implementation of it calls.

    add(f16[3], 1)   ->   convert_element_type(x, f32); prims.add(.., 1); convert_element_type(.., f16)

An operator stays a call where torch has no reference for it, where the reference refuses the arguments, where
its result is of another kind than eager's, and where the operator draws random numbers: a reference would
draw others.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import fx
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from codegen.fake.dispatch import run_rule
from codegen.fake.fake import FakeMode, device_in_c
from codegen.kernel.fx_graph import Graph
from codegen.primitives.references import REFERENCES
from codegen.trace.behaviour import CONSTANTS, behaviour_of

aten, prims = torch.ops.aten, torch.ops.prims

#: namespaces of operators that are primitives
PRIMITIVE = ("prims", "prim", "rngprims")
#: what a reference may not call: its numbers are right for one layout of the tensor alone
OF_ONE_LAYOUT = (aten.as_strided.default, prims.as_strided.default)
NO_REFERENCE = "torch has no reference for it"
DRAWS = "it draws random numbers"
#: what references raise for arguments that they don't know; the call itself was traced, so it is right
REFUSALS = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError, AssertionError, KeyError)
#: how often an operator may be inside of its own reference
DEEPEST = 2


#: the last node, the number of tensors that have nodes, and the operators that stay calls
State = tuple[fx.Node | None, int, dict[str, str]]


class Decomposition(TorchDispatchMode):
    """Records primitives on the fake tensors of `mode` as nodes of `graph`."""

    def __init__(self, mode: FakeMode) -> None:
        super().__init__()
        self.mode = mode
        self.root = torch.nn.Module()
        self.graph = Graph(self.root)
        #: id of a tensor -> the tensor, which has to live as long as its id counts, and its node
        self.nodes: dict[int, tuple[torch.Tensor, fx.Node]] = {}
        self.running: list[OpOverload] = []  # operators whose references run
        #: operator that stays a call -> why
        self.kept: dict[str, str] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the decorator that this switches off imports torch._dynamo at its first call

    # --- inputs

    def place(self, tensor: torch.Tensor, node: fx.Node) -> None:
        """`node` has the value `tensor`. A tensor that has a node keeps it: the new one writes to it."""
        node.meta["val"] = tensor
        self.nodes.setdefault(id(tensor), (tensor, node))

    def held(self, name: str, value: torch.Tensor, fake: torch.Tensor) -> None:
        """A tensor that the graph holds."""
        self.place(fake, self.attribute(name, value))

    def attribute(self, name: str, value: torch.Tensor) -> fx.Node:
        while hasattr(fx.GraphModule, name) or hasattr(self.root, name):
            name += "_"
        if isinstance(value, torch.nn.Parameter):
            self.root.register_parameter(name, value)
        else:
            self.root.register_buffer(name, value)
        return self.graph.get_attr(name)

    # --- calls

    def expand(self, func: OpOverload, args: Any, kwargs: Any, value: Any) -> Any:
        """Records a call of `func` by primitives if their results are like `value`, else the call itself."""
        before = self.state()
        with self:
            result = func(*args, **kwargs)
        why = unlike(result, value)
        if any(id(tensor) not in self.nodes for tensor in tensors_of(result)):
            why = why or "its reference returns a tensor that it does not compute"
        new = set(self.made_since(before))
        shared = [] if why else [node for node in self.nodes_in(result) if origin(node) not in new]
        if not why and func.is_view and not shared:
            why = "its reference makes no view"
        if not why:
            return result if func.is_view or not shared else self.copied(result, shared)
        self.go_back(before)
        return self.record(func, args, kwargs, why)

    def state(self) -> State:
        return next(iter(reversed(self.graph.nodes)), None), len(self.nodes), dict(self.kept)

    def made_since(self, state: State) -> list[fx.Node]:
        """The nodes that are newer than `state`, the newest first."""
        return list(itertools.takewhile(lambda node: node is not state[0], reversed(self.graph.nodes)))

    def go_back(self, state: State) -> None:
        for node in self.made_since(state):
            self.graph.erase_node(node)
        while len(self.nodes) > state[1]:
            self.nodes.popitem()
        self.kept = dict(state[2])

    def copied(self, result: Any, shared: list[fx.Node]) -> Any:
        """The operator makes a new tensor, and its reference has returned the old one or a view of it."""

        def copy(value: Any) -> Any:
            is_shared = isinstance(value, torch.Tensor) and self.nodes[id(value)][1] in shared
            return self.record(prims.clone.default, (value,), {}) if is_shared else value

        return pytree.tree_map(copy, result)

    def run_operator(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in CONSTANTS and id(args[0]) not in self.nodes:
            return self.constant(func, args)
        if behaviour_of(func).handle == "query":
            return run_rule(self.mode, func, args, kwargs)
        if func in OF_ONE_LAYOUT and self.running:
            raise NotImplementedError("strides are constants in it")
        reference, why = self.reference(func)
        if reference is None:
            return self.record(func, args, kwargs, why)
        before = self.state()
        self.running.append(func)
        try:
            with self:
                return reference(*args, **kwargs)
        except REFUSALS as error:
            self.go_back(before)
            return self.record(func, args, kwargs, f"its reference raises {type(error).__name__}: {error}")
        finally:
            self.running.pop()

    __torch_dispatch__ = device_in_c(run_operator, "mode")

    def reference(self, func: OpOverload) -> tuple[Callable[..., Any] | None, str]:
        """What computes the operator by simpler ones; or None, and why there is no such function."""
        if func.namespace in PRIMITIVE:
            return None, ""
        if torch.Tag.nondeterministic_seeded in func.tags:
            return None, DRAWS
        if self.running.count(func) >= DEEPEST:
            return None, "its reference calls it"
        reference = REFERENCES.get(func) or torch._decomp.decomposition_table.get(func)
        if reference is None and func.has_kernel_for_dispatch_key(
            torch._C.DispatchKey.CompositeImplicitAutograd
        ):
            return func.decompose, ""
        return reference, NO_REFERENCE

    def constant(self, func: OpOverload, args: tuple[Any, ...]) -> torch.Tensor:
        """`torch.tensor(...)` in a reference: the graph holds the numbers."""
        fake = run_rule(self.mode, func, args, {})
        node = self.attribute("constant", args[0])
        self.place(fake, self.graph.create_node("call_function", prims.clone.default, (node,), {}, "clone"))
        return fake

    def record(self, func: OpOverload, args: Any, kwargs: Any, why: str = "") -> Any:
        """Records the call as it is."""
        value = run_rule(self.mode, func, args, kwargs)
        self.append(func, args, kwargs, value)
        if func.namespace not in PRIMITIVE:
            self.kept.setdefault(str(func), why)
        return value

    def append(self, target: Any, args: Any, kwargs: Any, value: Any) -> fx.Node:
        name = target._opname if isinstance(target, OpOverload) else target.__name__
        args, kwargs = self.as_nodes(args), self.as_nodes(kwargs)
        node = self.graph.create_node("call_function", target, args, kwargs, name)
        if isinstance(value, torch.Tensor):
            self.place(value, node)
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                if isinstance(item, torch.Tensor):
                    self.place(item, self.graph.call_function(operator.getitem, (node, i)))
        return node

    def as_nodes(self, values: Any) -> Any:
        """The same values with nodes in place of tensors."""
        return pytree.tree_map(
            lambda value: self.nodes[id(value)][1] if isinstance(value, torch.Tensor) else value, values
        )

    def nodes_in(self, value: Any) -> Iterator[fx.Node]:
        return (self.nodes[id(tensor)][1] for tensor in tensors_of(value))


def tensors_of(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def origin(node: fx.Node) -> fx.Node:
    """The node whose memory the value of `node` is in."""
    while True:
        made = node.args[0] if node.target is operator.getitem else node
        if not (isinstance(made, fx.Node) and is_view(made.target)):
            return node
        (node, *_) = made.all_input_nodes


def is_view(target: Any) -> bool:
    return isinstance(target, OpOverload) and target.is_view


def unlike(result: Any, value: Any) -> str:
    """How the results of a reference differ from those of the operator; "" where they don't."""
    found, wanted = pytree.tree_leaves(result), pytree.tree_leaves(value)
    if len(found) != len(wanted):
        return f"its reference has {len(found)} results"
    for one, other in zip(found, wanted):
        if isinstance(one, torch.Tensor) != isinstance(other, torch.Tensor):
            return f"its reference gives a {type(one).__name__}"
        if not isinstance(one, torch.Tensor):
            continue
        for name in ("dtype", "shape", "device"):
            if getattr(one, name) != getattr(other, name):
                return f"its reference has the {name} {getattr(one, name)}"
        if one.stride() != other.stride() and one.numel() > 1:
            return f"its reference has the strides {one.stride()}"
    return ""
