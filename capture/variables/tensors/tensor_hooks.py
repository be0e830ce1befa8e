"""Hooks on the gradients of tensors.

In:  `y.register_hook(hook)`, where autograd records `y`, a result of the graph; or `p.register_hook(hook)` of
     a leaf that existed before the frame.
Out: for a result, a node that registers the operations of the hook. They were interpreted once and moved to a
     body. Code that differentiates the graph finds the hook there. For a leaf, the registration itself, done
     after the graph.

    y.register_hook(lambda grad: grad * z)    ->    register_hook(y, z), on a body that multiplies

The body has the operations that the hook does at present. So the variables of the frame that the hook holds
must have their final values, and the rest of the frame must not change what the hook reaches. The graph
breaks for a hook with side effects, and for a hook that holds objects made by the frame. A hook may read
variables or existing objects of the program, which may change before the gradients arrive. Such a hook is
registered unchanged, in a graph that eager runs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.hooks import RemovableHandle

from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import decode
from capture.graph.linear import is_linear_in_first_input
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.builtin import BuiltinVariable
from capture.variables.callables.function import (
    BoundMethodVariable,
    CellVariable,
    FunctionVariable,
    NestedFunctionVariable,
)
from capture.variables.callables.partial import PartialVariable
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core.base import LazyVariable, ObservedException, Variable
from capture.variables.core.constant import NONE
from capture.variables.core.rules import rule
from capture.variables.core.watch import Watch
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors import subgraph
from capture.variables.tensors.tensor import TENSOR_METHODS, TensorVariable
from capture.variables.torch import wrapper_polyfills
from capture.variables.torch.hook_reads import function_that_reads_late
from capture.variables.torch.nn_module import ModuleVariable
from codegen.fake.fake import FakeTensor
from codegen.kernel.errors import UntraceableError
from codegen.rewrite import gradient_hooks

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter


class HandleVariable(Variable):
    """The result of `register_hook`. The program may drop it or remove the hook before the graph ends."""

    def __init__(self) -> None:
        super().__init__(None)

    def python_type(self) -> type:
        return RemovableHandle

    def describe(self) -> str:
        return "handle of a hook"

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name != "remove":
            return super().call_method(tx, name, args, kwargs)
        self.remove(tx)
        return NONE

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        return ValueMethod(self, name) if name == "remove" else super().get_attr(tx, name)

    def remove(self, tx: Interpreter) -> None:
        raise NotImplementedError


class GraphHandle(HandleVariable):
    """The handle of a hook on a result of the graph."""

    def __init__(self, node: torch.fx.Node) -> None:
        super().__init__()
        self.node: torch.fx.Node | None = node

    def remove(self, tx: Interpreter) -> None:
        if self.node is not None:
            tx.output.graph.erase_node(self.node)
            self.node = None


class LeafHandle(HandleVariable):
    """The handle of a hook on an existing leaf. The code that makes the handle registers the hook."""

    def __init__(self, leaf: TensorVariable, method: str, hook: Variable) -> None:
        super().__init__()
        self.leaf = leaf
        self.method = method
        self.hook = hook

    def remove(self, tx: Interpreter) -> None:
        tx.output.side_effects.forget_registration(self)

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.leaf)
        code.load_method(self.method)
        code.load(self.hook)
        code.call(1)

    def children(self) -> list[Variable]:
        return [self.leaf, self.hook]


class Removal(Variable):
    """A call of `remove` on an existing handle, done after the graph."""

    def __init__(self, handle: Variable) -> None:
        super().__init__(None)
        self.handle = handle

    def reconstruct(self, code: PythonCode) -> None:
        code.load(self.handle)
        code.load_method("remove")
        code.call(0)

    def children(self) -> list[Variable]:
        return [self.handle]


@rule(RemovableHandle.remove)
def _remove(tx: Interpreter, handle: Variable) -> Variable:
    """Removes a hook by its handle.

    The handle of a tensor's hook has one dict. Its id differs from call to call, and nothing reads it. Some
    handles of a module's hooks look the same. So a frame that reads the hooks of modules later breaks here
    (`check_hooks_known`).
    """
    effects = tx.output.side_effects
    exists = isinstance(handle, ObjectVariable) and handle.value is not None and handle.source is not None
    if not exists or effects.is_mutated(handle) or handle.get_attr(tx, "extra_dict_ref").truth(tx):
        return tx.wrap_function(wrapper_polyfills.remove_hook).call(tx, [handle], {})
    effects.register(Removal(handle))
    effects.hooks_unknown_since = tx.output.root_step
    return NONE


# --- on leaves --------------------------------------------------------------------------------------------


def _on_leaf(self: TensorVariable, tx: Interpreter, method: str, hook: Variable) -> Variable:
    """Registers a hook on a leaf. Autograd reads it when gradients arrive, so the moment does not matter."""
    is_leaf = self.fake.is_leaf and self.fake.requires_grad and not tx.output.changed_flags.has(self)
    if self.value is None or self.source is None or not is_leaf:
        raise GraphBreak("method", name=method, value=self)
    handle = LeafHandle(self, method, hook)
    tx.output.side_effects.register(handle)
    return handle


def _register_post_accumulate(self: TensorVariable, tx: Interpreter, hook: Variable) -> Variable:
    return _on_leaf(self, tx, "register_post_accumulate_grad_hook", hook)


# --- on results -------------------------------------------------------------------------------------------


def _register_hook(self: TensorVariable, tx: Interpreter, hook: Variable) -> Variable:
    if self.node.op == "placeholder":
        return _on_leaf(self, tx, "register_hook", hook)
    if not self.fake.requires_grad or not _is_settled(tx, hook):
        raise GraphBreak("method", name="register_hook", value=self)
    body = _body(tx, self, hook)
    late = function_that_reads_late(tx, hook)
    watch = HookWatch(hook, tx.output.root_step)
    if late is None and watch.reaches_objects:
        raise GraphBreak("method", name="register_hook", value=self)
    if late is None:
        node = tx.output.graph.call_function(_registering(body), (self.node, *body.lifted))
    else:
        node = tx.output.graph.call_function(_registering_function(late), (self.node,))
    node.meta["example_value"] = None
    tx.output.side_effects.keep(watch)
    return GraphHandle(node)


def _registering(body: subgraph.Body) -> Callable[..., None]:
    """The target of the node. (A graph can't hold a function among its arguments.)"""
    run, structure = body.module, body.structure
    is_linear = is_linear_in_first_input(run.graph)

    def register_hook(tensor: torch.Tensor, *lifted: torch.Tensor) -> None:
        if isinstance(tensor, FakeTensor):
            check_for_derivatives(is_linear, lifted)
        # a compiler differentiates a part of the graph at a time: no gradient comes to tensors of other parts
        hook = lambda grad: None if grad is None else structure.fill(run(grad, *lifted))  # noqa: E731
        gradient_hooks.register_hook(tensor, hook)

    return register_hook


def check_for_derivatives(is_linear: bool, lifted: Sequence[Any]) -> None:
    """Raises where gradients of gradients (`create_graph=True`) would not be eager's in a compiled graph.

    Through the hook alone gradients may come to a tensor that it reads. And a compiled graph calls the hook
    for parts of a gradient, one from each of its nodes, where eager calls it for their sum.
    """
    if any(isinstance(held, torch.Tensor) and held.requires_grad for held in lifted):
        raise UntraceableError("a hook that reads a tensor which requires grad")
    if not is_linear:
        raise UntraceableError("a hook that does more to a gradient than to scale it")


def _registering_function(function: Callable[[torch.Tensor], torch.Tensor | None]) -> Callable[..., None]:
    def register_hook(tensor: torch.Tensor) -> None:
        if isinstance(tensor, FakeTensor):  # a compiler would keep the present values that the function reads
            raise UntraceableError("a hook that reads variables, which may change before the backward")
        tensor.register_hook(function)

    return register_hook


def _body(tx: Interpreter, owner: TensorVariable, hook: Variable) -> subgraph.Body:
    output = tx.output
    # No mode is active when gradients are computed.
    modes, output.modes.function_modes = output.modes.function_modes, []
    states = len(output.modes.changes)
    try:
        with torch.no_grad():
            with output.fake_mode:
                grad = torch.zeros_like(owner.fake)
            body = subgraph.without_effects(tx, hook, (grad,), {})
    except ObservedException as raised:
        raise GraphBreak("raised", error=raised.variable.describe()) from None
    finally:
        output.modes.function_modes = modes
    result = body.example
    gives_gradient = result is None or (isinstance(result, torch.Tensor) and result.shape == owner.fake.shape)
    if body.writes or not gives_gradient or len(output.modes.changes) != states:
        raise GraphBreak("method", name="register_hook", value=owner)
    return body


class HookWatch(Watch):
    """The variables that a hook reaches. If the frame changes one later, Python registers the hook."""

    def __init__(self, hook: Variable, step: int) -> None:
        super().__init__(hook)
        self.step = step
        self.reaches_objects = any(
            isinstance(found, ObjectVariable | ModuleVariable) for found in self.variables.values()
        )
        for key in [k for k, v in self.variables.items() if isinstance(v, TensorVariable)]:
            del self.variables[key]  # Python's hook would also see writes to tensors

    def note(self) -> None:
        signal = GraphBreak("mutation", value="an object that a hook on a gradient holds")
        signal.born = self.step
        raise signal


# --- values that a hook holds -----------------------------------------------------------------------------


def _is_settled(tx: Interpreter, hook: Variable) -> bool:
    """Whether the frame's variables that the hook reads have their final values, and may be held."""
    hook = hook.realize() if isinstance(hook, LazyVariable) else hook
    if isinstance(hook, PartialVariable):
        held = [*hook.args, *hook.kwargs.values()]
        return not hook.attributes and _is_settled(tx, hook.function) and all(map(_may_be_held, held))
    if isinstance(hook, NestedFunctionVariable):
        held = [*hook.defaults, *hook.keyword_defaults.values()]
        cells = all(_is_settled_cell(tx, cell) for cell in hook.closure)
        return not hook.attributes and cells and all(map(_may_be_held, held))
    if isinstance(hook, BoundMethodVariable):
        return _is_settled(tx, hook.function)
    return isinstance(hook, FunctionVariable | BuiltinVariable | ObjectVariable)


def _may_be_held(value: Variable) -> bool:
    value = value.realize() if isinstance(value, LazyVariable) else value
    plain = isinstance(value, TensorVariable) and value.cls is torch.Tensor
    return plain or value.is_constant() or isinstance(value, BuiltinVariable | ObjectVariable)


def _is_settled_cell(tx: Interpreter, cell: CellVariable) -> bool:
    """Whether the cell belongs to the running code, and no store into it follows."""
    name = next((name for name in tx.code.co_cellvars if tx.cells.get(name) is cell), None)
    if name is None or cell.contents is None or any(_stores(inner, name) for inner in tx.code.co_consts):
        return False
    stores = [
        i
        for i, found in enumerate(tx.instructions)
        if found.name in dialect.CHANGES_CELL and found.value == name
    ]
    loops = [
        (found.target, i)
        for i, found in enumerate(tx.instructions)
        if found.target is not None and found.target <= i
    ]
    stays = all(
        store < tx.index and not any(first <= store <= last for first, last in loops) for store in stores
    )
    return stays and _may_be_held(cell.contents)


def _stores(code: Any, name: str) -> bool:
    """Whether a function that the code makes stores into a `nonlocal` of that name, at any depth."""
    if not isinstance(code, types.CodeType):
        return False
    found = any(i.name in dialect.CHANGES_CELL and i.value == name for i in decode(code).instructions)
    return found or any(_stores(inner, name) for inner in code.co_consts)


TENSOR_METHODS["register_hook"] = _register_hook
TENSOR_METHODS["register_post_accumulate_grad_hook"] = _register_post_accumulate
