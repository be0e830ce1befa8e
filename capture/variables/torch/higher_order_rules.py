"""Rules for functions of torch that call functions of the program.

In:  a call of `torch.cond`, `map` or `torch.utils.checkpoint`.
Out: one node with its own bodies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.checkpoint
from torch._higher_order_ops import map as map_slices
from torch._subclasses.fake_tensor import UnsupportedOperatorException
from torch.utils import _pytree as pytree

from capture.graph.number_operations import runs_for_real
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.partial import PartialVariable
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.core.constant import NONE
from capture.variables.core.exception import raise_new
from capture.variables.core.rules import rule
from capture.variables.numbers.symbolic import SymbolicVariable
from capture.variables.tensors import subgraph
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.torch.torch_function import TorchFunctionVariable
from capture.variables.torch.transforms import (
    asks_for_layout,
    check_results,
    given_values,
    layout_of,
    transform_node,
)

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


# --- cond -------------------------------------------------------------------------------------------------


@rule(torch.cond)
def _cond(
    tx: Interpreter, pred: Variable, true_fn: Variable, false_fn: Variable, operands: Variable | None = None
) -> Variable:
    """A known predicate chooses the branch at once. Otherwise both branches become bodies."""
    operands = operands if operands is not None else TupleVariable([])
    if not isinstance(pred, TensorVariable):
        if not pred.is_constant() and not isinstance(pred, SymbolicVariable):
            raise GraphBreak("truth_value", value=pred)
        return (true_fn if pred.truth(tx) else false_fn).call(tx, operands.unpack(tx), {})
    if pred.fake.numel() != 1:
        raise GraphBreak("call", value="torch.cond with a condition of several elements")
    given, nodes = given_values(tx, TupleVariable(operands.unpack(tx)), {})
    if not all(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(given)):
        raise GraphBreak("call", value="torch.cond with operands that are no tensors")
    left, right = (subgraph.apart(tx, function, given[0]) for function in (true_fn, false_fn))
    _check_alike(true_fn, left, right)
    pairs = list(zip(subgraph.tensors_of(left.example), subgraph.tensors_of(right.example)))
    example = left.structure.fill([one if one.requires_grad else other for one, other in pairs])
    differentiable = [one.requires_grad or other.requires_grad for one, other in pairs]
    run = functools.partial(
        _choose, left.module, right.module, left.structure, differentiable, len(nodes), len(left.lifted)
    )
    taken = [pred.node, *nodes, *left.lifted, *right.lifted]
    bodies = {"cond_true": left.module, "cond_false": right.module}
    return subgraph.call_node(tx, "cond", run, taken, example, bodies=bodies)


def _check_alike(function: Variable, left: subgraph.Body, right: subgraph.Body) -> None:
    """Checks that the results of both branches look alike. If not, Python runs the call, and torch raises."""
    results = [subgraph.tensors_of(body.example) for body in (left, right)]
    alike = left.structure.matches(right.structure) and all(map(_look_alike, *results))
    if not alike or None in left.structure.others():
        raise GraphBreak("call", value=f"torch.cond with branches that do not match: {function.describe()}")


def _look_alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    return (left.dtype, left.shape, left.stride()) == (right.dtype, right.shape, right.stride())


def _choose(
    left: torch.fx.GraphModule,
    right: torch.fx.GraphModule,
    results: subgraph.Structure,
    differentiable: list[bool],
    count: int,
    middle: int,
    pred: torch.Tensor,
    *tensors: torch.Tensor,
) -> Any:
    """The function of the node.

    `middle` is the number of tensors after the `count` operands that belong to the left branch.
    """
    operands, lifted = tensors[:count], tensors[count:]
    chosen = left(*operands, *lifted[:middle]) if pred else right(*operands, *lifted[middle:])
    sources = [tensor for tensor in subgraph.tensors_of(tensors) if tensor.requires_grad]
    if torch.is_grad_enabled() and sources and any(differentiable):
        chosen = join(differentiable, *chosen, *sources)
    return results.fill(chosen)


class WithOtherBranch(torch.autograd.Function):
    """The results, with a zero gradient for the tensors that only the other branch reads."""

    @staticmethod
    def forward(ctx: Any, differentiable: list[bool], *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results, sources = tensors[: len(differentiable)], tensors[len(differentiable) :]
        ctx.layouts = [(tensor.shape, tensor.dtype, tensor.device) for tensor in sources]
        results = tuple(tensor.detach() for tensor in results)
        ctx.mark_non_differentiable(*(tensor for tensor, has in zip(results, differentiable) if not has))
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, *grads, *(torch.zeros(s, dtype=t, device=d) for s, t, d in ctx.layouts)


#: This skips `torch.autograd.Function.apply`, whose checks serve functorch.
join = super(torch.autograd.Function, WithOtherBranch).apply


# --- checkpoint -------------------------------------------------------------------------------------------


@rule(torch.utils.checkpoint.checkpoint)
def _checkpoint(
    tx: Interpreter,
    function: Variable,
    *args: Variable,
    use_reentrant: Variable = NONE,
    **kwargs: Variable,
) -> Variable:
    """A run frees the values that autograd would save. A compiler sees the body and decides for itself."""
    if not use_reentrant.is_constant() or use_reentrant.as_constant() is None:
        raise GraphBreak("call_skipped", name="checkpoint", why="use_reentrant is not given")
    options = {"use_reentrant": use_reentrant.as_constant()}
    options |= {name: _option(tx, kwargs.pop(name)) for name in OPTIONS if name in kwargs}
    if kwargs and options["use_reentrant"]:
        raise raise_new(ValueError, f"Unexpected keyword arguments: {','.join(kwargs)}")
    given, nodes = given_values(tx, TupleVariable(list(args)), kwargs)
    body = subgraph.without_effects(tx, function, *given, may_write=True, runs=True)
    check_results(function, body)
    results, inputs = subgraph.tensors_of(body.example), subgraph.tensors_of(given)
    if (
        options["use_reentrant"]
        and not any(t.requires_grad for t in inputs)
        and any(t.requires_grad for t in results)
    ):
        raise GraphBreak("call_skipped", name="checkpoint", why="none of its arguments needs a gradient")
    apply = functools.partial(_checkpointed, options, body.writes)
    returned = subgraph.tensor_variables(tx, [*args, *kwargs.values()])
    return transform_node(tx, "checkpoint", apply, [body], given, nodes, body.example, returned)


OPTIONS = ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


def _option(tx: Interpreter, value: Variable) -> Any:
    """A constant, or a function that makes the contexts: an existing one, or a partial of one."""
    value = value.realize() if isinstance(value, LazyVariable) else value
    if isinstance(value, PartialVariable):
        args = [_option(tx, argument) for argument in value.args]
        return functools.partial(
            _option(tx, value.function), *args, **{name: _option(tx, v) for name, v in value.kwargs.items()}
        )
    if value.is_constant():
        return value.as_constant()
    if isinstance(value, ListVariable):
        return [_option(tx, item) for item in value.items]
    if isinstance(value, TorchFunctionVariable):  # an operator, which a policy names
        return value.real_value()
    existing = tx.output.objects.object_of(value)
    if existing is None or value.source is None:
        raise GraphBreak("call_skipped", name="checkpoint", why="the captured code makes its contexts")
    tx.output.guarding.identity(value, existing)
    return existing


def _checkpointed(
    options: dict[str, Any], writes: bool, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    if not runs_for_real(subgraph.tensors_of((args, kwargs))):
        if writes:  # the backward writes again, for example to running statistics
            text = "a checkpoint of a function that writes to tensors"
            raise UnsupportedOperatorException(text)  # type: ignore[arg-type]
        return function(*args, **kwargs)
    return torch.utils.checkpoint.checkpoint(function, *args, **options, **kwargs)


# --- map --------------------------------------------------------------------------------------------------


@rule(map_slices)
def _map(tx: Interpreter, function: Variable, xs: Variable, *args: Variable) -> Variable:
    """Applies the body to each slice of `xs` along the first dimension, and stacks the results."""
    (given, _), nodes = given_values(tx, TupleVariable([xs, *args]), {})
    slices = subgraph.tensors_of(given[0])
    if (
        not slices
        or any(t.ndim == 0 or t.shape[0] != slices[0].shape[0] for t in slices)
        or not slices[0].shape[0]
    ):
        raise GraphBreak("iterate", value=xs)
    first = subgraph.Structure(given[0]).fill([t.select(0, 0) for t in slices])
    if len({t.untyped_storage()._cdata for t in subgraph.tensors_of(given)}) != len(nodes):
        raise GraphBreak("aliasing", what="map of tensors that share memory")
    body = subgraph.apart(tx, function, (first, *given[1:]))
    run = functools.partial(_each, body.module, body.structure, len(slices))
    lifted = [n.meta["example_value"] for n in body.lifted]
    symbolic = not isinstance(slices[0].shape[0], int)
    taken = [*subgraph.tensors_of(given), *lifted]
    example = layout_of(tx, "map", functools.partial(run, *taken), symbolic)
    bodies = {"map_body": body.module}
    return subgraph.call_node(tx, "map", run, [*nodes, *body.lifted], example, bodies=bodies)


def _each(
    body: torch.fx.GraphModule,
    structure: subgraph.Structure,
    count: int,
    *tensors: torch.Tensor,
    symbolic: bool = False,
) -> Any:
    """The function of the node. With `symbolic`, it gives the layout for any number of slices."""
    slices, rest = tensors[:count], tensors[count:]
    size = slices[0].shape[0]
    symbolic = symbolic or asks_for_layout(size)
    if not symbolic and not isinstance(size, int):
        raise UnsupportedOperatorException("map over an unknown number of slices")
    rows = [body(*(t.select(0, i) for t in slices), *rest) for i in range(1 if symbolic else size)]
    stacked = [torch.stack(column) for column in zip(*rows)]
    return structure.fill([subgraph.repeated(column, size) for column in stacked] if symbolic else stacked)
