"""Calls of custom autograd functions (`torch.autograd.Function`).

In:  `Function.apply(...)` in a frame.
Out: one node that calls `apply`, if autograd records the call. If nothing needs gradients, the forward is
     inlined.

    y = Scaled.apply(x, 3.0)     ->     scaled_apply = Scaled_apply(l_x_, 3.0); getitem = scaled_apply[0]

The node runs Python code of the user, which a compiler sees only once. So a trial interprets forward and
backward here. It finds the guards that they need, and breaks the graph if one of them has side effects. A
function may depend on more than its arguments: tensors from elsewhere, modes, classes with their own
operations. In that case the node runs the operations that the trial found, as two graphs. In native code it
does so wherever the function is nothing but operations: such graphs are stored for other processes.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import Function

from capture.graph.autograd_bodies import Bodies, in_bodies
from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.overriding import concerns
from capture.variables.core.rules import rule
from capture.variables.objects.type_object import ClassVariable
from capture.variables.tensors import subgraph
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.tensors.tensor_subclass import as_class
from capture.variables.torch import autograd_function_polyfills
from codegen.kernel.outlined import outlined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from capture.variables.core.protocols import Interpreter, Output

_calls: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()


def apply_of(cls: type[Function]) -> Any:
    """`cls.apply` as a plain function that returns a tuple. Each class has one: the target of its nodes."""
    known = _calls.get(cls)
    if known is None:
        held = weakref.ref(cls)  # the value of a weak dictionary must not keep its key alive

        def call(*args: Any) -> tuple[Any, ...]:
            alive = held()
            assert alive is not None, "the class lives as long as the graph's guards"
            result = alive.apply(*args)
            return result if isinstance(result, tuple) else (result,)

        call.__name__ = call.__qualname__ = f"{cls.__name__}_apply"
        known = _calls[cls] = call
    return known


#: Up to torch 2.13 a class method in Python; from 2.14 on one in C, which is its own entry of the class.
APPLY = vars(Function)["apply"]


@rule(getattr(APPLY, "__func__", APPLY))
def _apply(tx: Interpreter, function: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    assert isinstance(function, ClassVariable)
    if kwargs or issubclass(function.cls, torch.autograd.function.InplaceFunction):
        raise GraphBreak("method", name="apply", value=function)
    given = _with_defaults(tx, function, list(args))
    tensors = [a for a in given if isinstance(a, TensorVariable)]
    needs = [isinstance(a, TensorVariable) and _is_differentiated(a.fake) for a in given]
    recorded = torch.is_grad_enabled() and any(needs)
    if recorded or any(map(_is_transformed, tensors)):
        return _as_node(tx, function, given, Trial(tx, function, given, needs, recorded))
    return _inlined(tx, function, given, needs)


def _has_setup(function: ClassVariable) -> bool:
    return function.cls.setup_context is not Function.setup_context  # type: ignore[attr-defined]


def _with_defaults(tx: Interpreter, function: ClassVariable, args: list[Variable]) -> list[Variable]:
    """The arguments, with the defaults of the forward if a `setup_context` has to see them."""
    if not _has_setup(function):
        return args
    forward: Any = function.cls.forward  # type: ignore[attr-defined]
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        raise GraphBreak("method", name="apply", value=function) from None
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    missing = [p for p in parameters if p.kind in plain][len(args) :]
    if any(p.default is inspect.Parameter.empty for p in missing):
        raise GraphBreak("method", name="apply", value=function)  # torch raises an error
    return [*args, *(tx.wrap_constant(p.default) for p in missing)]


def _is_transformed(tensor: TensorVariable) -> bool:
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor.fake)


def _is_differentiated(fake: torch.Tensor) -> bool:
    """Whether autograd records the tensor, even inside of a wrapper of a function transform."""
    while not fake.requires_grad and torch._C._functorch.is_functorch_wrapped_tensor(fake):
        fake = torch._C._functorch.get_unwrapped(fake)
    return fake.requires_grad


def _parts(tx: Interpreter, result: Variable) -> list[Variable]:
    return result.unpack(tx) if isinstance(result, TupleVariable) else [result]


def _interpret(tx: Interpreter, polyfill: Any, arguments: list[Variable]) -> Variable:
    """Interprets a call without gradients.

    Python runs a call that raises, because the error may come from a method that only the real context has.
    """
    before = torch.is_grad_enabled()
    tx.output.modes.change(tx, torch._C._set_grad_enabled, [False])
    try:
        result = tx.wrap_function(polyfill).call(tx, arguments, {})
    except ObservedException as raised:
        raise GraphBreak("raised", error=raised.variable.describe()) from None
    tx.output.modes.change(tx, torch._C._set_grad_enabled, [before])
    return result


def _forward(
    tx: Interpreter, function: ClassVariable, args: list[Variable], needs: list[bool]
) -> tuple[Variable, Variable]:
    """The context and the result of the forward."""
    flags = TupleVariable([ConstantVariable(n) for n in needs])
    setup = ConstantVariable(_has_setup(function))
    ctx, result = _interpret(
        tx, autograd_function_polyfills.forward, [function, setup, flags, TupleVariable(args)]
    ).unpack(tx)
    return ctx, result


# --- without gradients ------------------------------------------------------------------------------------


def _inlined(tx: Interpreter, function: ClassVariable, args: list[Variable], needs: list[bool]) -> Variable:
    output = tx.output
    last, states = next(reversed(output.graph.nodes), None), len(output.modes.changes)
    ctx, result = _forward(tx, function, args, needs)
    made = subgraph.behind(output.graph, last)
    if not any(_is_recorded(node) for operation in made for node in (operation, *operation.all_input_nodes)):
        for node in [n for n in made if n.target is torch._C._set_grad_enabled]:
            output.graph.erase_node(node)  # nothing depends on it
        del output.modes.changes[states:]
    dirty = ctx.get_attr(tx, "dirty_tensors").unpack(tx)
    results = [_returned(tx, r, args, dirty) for r in _parts(tx, result)]
    return TupleVariable(results) if isinstance(result, TupleVariable) else results[0]


def _is_recorded(node: torch.fx.Node) -> bool:
    value = node.meta.get("example_value")
    return any(tensor.requires_grad for tensor in subgraph.tensors_of(value))


def _returned(tx: Interpreter, result: Variable, args: list[Variable], dirty: list[Variable]) -> Variable:
    """The result that `apply` returns. An argument that comes back becomes another tensor on its memory."""
    if not isinstance(result, TensorVariable):
        return result
    if not any(result is a for a in args):
        if result.fake.requires_grad:  # a tensor from elsewhere, which `apply` detaches in place
            raise GraphBreak("aliasing", what="a custom function returns a tensor that it did not make")
        return result
    if any(result is d for d in dirty):
        if result.fake.requires_grad:
            raise GraphBreak("aliasing", what="a custom function writes to an argument without gradients")
        return result
    if concerns(tx.output, [result], {}):
        raise GraphBreak("aliasing", what="a custom function returns its own argument")
    name, rest = ("detach", []) if result.fake.requires_grad else ("view_as", [result])
    return tx.output.call_method(tx, name, [result, *rest], {})


# --- the trial --------------------------------------------------------------------------------------------


class Trial:
    """Interprets forward and backward. Their operations, `made` and `backward_made`, stay in the graph."""

    def __init__(
        self,
        tx: Interpreter,
        function: ClassVariable,
        args: list[Variable],
        needs: list[bool],
        with_backward: bool,
    ) -> None:
        self.output = tx.output
        self.function = function
        self.tensors = [a for a in args if isinstance(a, TensorVariable)]
        self.nodes = [t.node for t in self.tensors]
        self.last = next(reversed(tx.output.graph.nodes), None)
        self.states = len(tx.output.modes.changes)
        inputs, made = len(tx.output.inputs.all), tx.output.inputs.made_outside()
        effects = tx.output.side_effects.change_count()
        versions = {node: subgraph.version_of(node) for node in tx.output.graph.nodes}

        self.ctx, self.result = _forward(tx, function, args, needs)
        self.results = _parts(tx, self.result)
        self.result_nodes = [r.node for r in self.results if isinstance(r, TensorVariable)]
        self.dirty = self.told(tx, "dirty_tensors")
        self.made = self._operations(self.last)
        behind = next(reversed(tx.output.graph.nodes), None)
        self.grads: list[TensorVariable] = []
        self.gradients: list[Variable] = []
        if with_backward:
            with _unseen(tx.output):
                self.grads = [_gradient_like(tx, r) for r in self.results if isinstance(r, TensorVariable)]
                self.gradients = self._backward(tx)
        self.backward_made = self._operations(behind)

        versions |= {made.node: made.version for made in tx.output.inputs.all[inputs:]}
        self._check_writes(versions)
        if tx.output.side_effects.change_count() != effects or tx.output.inputs.made_outside() != made:
            raise GraphBreak("mutation", value=f"an object that is no argument of {function.describe()}")

    def told(self, tx: Interpreter, name: str) -> list[Variable]:
        """The tensors that a method of the context got."""
        return self.ctx.get_attr(tx, name).unpack(tx)

    def _backward(self, tx: Interpreter) -> list[Variable]:
        grads = iter(self.grads)
        none = ConstantVariable(None)
        given = [next(grads) if isinstance(r, TensorVariable) else none for r in self.results]
        return _parts(
            tx,
            _interpret(
                tx,
                autograd_function_polyfills.backward,
                [self.function, self.ctx, TupleVariable(list(given))],
            ),
        )

    def _operations(self, last: torch.fx.Node | None) -> list[torch.fx.Node]:
        """The operations after `last`, without the changes of grad mode around them."""
        made = subgraph.behind(self.output.graph, last)
        setters = [n for n in made if n.target is torch._C._set_grad_enabled]
        for node in (setters[0], setters[-1]) if setters else ():
            self.output.graph.erase_node(node)
        return [n for n in made if not n._erased]

    def _check_writes(self, versions: dict[torch.fx.Node, int | None]) -> None:
        """Breaks if a write reaches anything but the arguments that the function marks as dirty."""
        written_to = [node for node, version in versions.items() if subgraph.version_of(node) != version]
        if not written_to and not self.dirty:
            return
        if any(map(_is_transformed, self.tensors)) or any(
            not any(d is r for r in self.results) or not any(d is t for t in self.tensors) for d in self.dirty
        ):
            raise GraphBreak("mutation", value=f"an argument of {self.function.describe()}")
        allowed = {_memory(d.fake) for d in self.dirty if isinstance(d, TensorVariable)}
        if any(_memory(node.meta["example_value"]) not in allowed for node in written_to):
            raise GraphBreak("mutation", value=f"an argument of {self.function.describe()}")

    def elsewhere(self) -> list[torch.fx.Node]:
        """Tensors and sizes that the operations read, and that are neither arguments nor their results."""
        own = {*self.made, *self.backward_made, *self.nodes}
        read = [n for made in (*self.made, *self.backward_made) for n in made.all_input_nodes]
        read += [*self.result_nodes, *(g.node for g in self.gradients if isinstance(g, TensorVariable))]
        return list(dict.fromkeys(n for n in read if n not in own))

    def needs_bodies(self) -> bool:
        return (
            bool(self.output.modes.function_modes)
            or any(t.cls is not torch.Tensor for t in self.tensors)
            or bool(self.elsewhere())
        )

    def finish(self) -> None:
        """Removes everything that only the trial needed."""
        self.output.drop_nodes_after(self.last)
        del self.output.modes.changes[self.states :]
        for tensor, node in zip(self.tensors, self.nodes):
            tensor.node = node


def _memory(fake: torch.Tensor) -> int:
    return fake.untyped_storage()._cdata


@contextlib.contextmanager
def _unseen(output: Output) -> Iterator[None]:
    """Hides the modes, because autograd runs the backward after the modes around the forward have ended."""
    modes, output.modes.function_modes = output.modes.function_modes, []
    try:
        yield
    finally:
        output.modes.function_modes = modes


def _gradient_like(tx: Interpreter, result: TensorVariable) -> TensorVariable:
    """A plain tensor, because autograd does not keep classes."""
    plain = TensorVariable(result.node, result.fake)
    grad = tx.output.call_function(tx, torch.zeros_like, [plain], {})
    assert isinstance(grad, TensorVariable)
    return grad


#: Arguments that the text of a graph can't name.
FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


#: the code of backwards that raise when they are differentiated
ONCE_DIFFERENTIABLE = torch.autograd.function.once_differentiable(apply_of).__code__


# --- the node ---------------------------------------------------------------------------------------------


def _as_node(tx: Interpreter, function: ClassVariable, args: list[Variable], trial: Trial) -> Variable:
    needed = trial.needs_bodies() or any(issubclass(a.python_type(), FUNCTIONS) for a in args)
    possible = _fits_bodies(tx, args, trial)
    if needed and not possible:
        raise GraphBreak("method", name="apply", value=function)
    if needed or (possible and tx.output.is_native and _is_only_operations(trial)):
        items = _in_bodies(tx, args, trial)
    else:
        trial.finish()
        with _unseen(tx.output):
            items = tx.output.call_function(tx, apply_of(function.cls), args, {}).unpack(tx)
    for place, item in enumerate(items):
        for tensor in trial.tensors:
            if isinstance(item, TensorVariable) and item.fake is tensor.fake:  # the function wrote to it
                tensor.node = item.node
                items[place] = tensor
    tx.output.operations.note_views(items)
    return TupleVariable(items) if isinstance(trial.result, TupleVariable) else items[0]


def _fits_bodies(tx: Interpreter, args: list[Variable], trial: Trial) -> bool:
    """Whether the operations of the trial are all that the function does."""
    materialized = trial.ctx.get_attr(tx, "materialize_grads").is_exactly(True)
    return (
        not any(map(_is_transformed, trial.tensors))
        and (materialized or len(trial.result_nodes) <= 1)
        and len(trial.gradients) >= len(args)
        and all(isinstance(g, TensorVariable) or g.is_exactly(None) for g in trial.gradients)
    )


def _is_only_operations(trial: Trial) -> bool:
    """Whether the two graphs do the same in each mode of the thread."""
    changes = [n for n in (*trial.made, *trial.backward_made) if "changes_state" in n.meta]
    if _is_once_differentiable(trial.function.cls):  # it switches off the grad mode, which is off
        changes = [n for n in changes if (n.target, n.args) != (torch._C._set_grad_enabled, (False,))]
    return not changes


def _is_once_differentiable(cls: Any) -> bool:
    backward = getattr(cls, "backward", None)
    while backward is not None and getattr(backward, "__code__", None) is not ONCE_DIFFERENTIABLE:
        backward = getattr(backward, "__wrapped__", None)
    return backward is not None


def _in_bodies(tx: Interpreter, args: list[Variable], trial: Trial) -> list[Variable]:
    """The results of a node that runs the operations of the trial, which move out of the graph."""
    graph, count = tx.output.graph, len(trial.result_nodes)
    nodes = [*trial.nodes, *trial.elsewhere()]
    constant = trial.told(tx, "non_differentiable")
    results = [r for r in trial.results if isinstance(r, TensorVariable)]
    gradients = [g for a, g in zip(args, trial.gradients) if isinstance(a, TensorVariable)]
    outgoing = [g.node for g in gradients if isinstance(g, TensorVariable)]
    backward, kept = subgraph.take_out(graph, [g.node for g in trial.grads], trial.backward_made, outgoing)
    inner = [node for node in kept if node in set(trial.made)]
    forward, read = subgraph.take_out(graph, [], trial.made, [*trial.result_nodes, *inner])
    places = {node: index for index, node in reversed(list(enumerate(nodes)))}
    places |= {node: len(nodes) + count + index for index, node in enumerate(inner)}
    following = iter(range(len(outgoing)))
    bodies = Bodies(
        forward=forward,
        backward=backward,
        forward_reads=[places[node] for node in read],
        backward_reads=[places[node] for node in kept],
        results=count,
        dirty=[i for i, tensor in enumerate(trial.tensors) if any(tensor is d for d in trial.dirty)],
        constant=[i for i, result in enumerate(results) if any(result is c for c in constant)],
        gradients=[next(following) if isinstance(g, TensorVariable) else None for g in gradients]
        + [None] * (len(nodes) - len(gradients)),
        once=_is_once_differentiable(trial.function.cls),
    )
    trial.finish()

    parts = tuple(vars(bodies).values())
    name = trial.function.cls.__name__
    call = outlined(f"{name}_apply", functools.partial(in_bodies, name, parts))
    variables = [tx.output.operations.variable_of(node) for node in nodes]
    with _unseen(tx.output):
        made = iter(tx.output.call_function(tx, call, variables, {}).unpack(tx))
    return [_as_result(tx, r, made) for r in trial.results]


def _as_result(tx: Interpreter, result: Variable, made: Iterator[Variable]) -> Variable:
    if not isinstance(result, TensorVariable):
        return result
    tensor = next(made)
    assert isinstance(tensor, TensorVariable)
    return tensor if result.cls is torch.Tensor else as_class(tx, tensor, result.cls)
