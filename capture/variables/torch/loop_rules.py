"""Rules for loops of torch that call functions of the program, and for regions that are compiled once.

In:  a call of `while_loop`, `scan`, `associative_scan` or a nested region.
Out: one node. It runs the loop in Python on bodies that were interpreted once.

    scan(lambda carry, row: (carry + row, carry * row), zeros, x)
        ->    scan(zeros, x), on a body that calls add and mul
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.invoke_subgraph import invoke_subgraph_placeholder
from torch._higher_order_ops.wrap import wrap
from torch._subclasses.fake_tensor import UnsupportedOperatorException
from torch.utils import _pytree as pytree

from capture.graph.number_operations import runs_for_real
from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import FALSE, ConstantVariable
from capture.variables.core.rules import rule
from capture.variables.tensors import subgraph
from capture.variables.torch.transforms import (
    asks_for_layout,
    check_results,
    given_values,
    layout_of,
    transform_node,
)

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

LONG = 64  # the most steps that a compiler unrolls; longer loops run in Python
Tensors = list[torch.Tensor]
RunBody = Callable[..., tuple[torch.Tensor, ...]]


def check_alike(what: str, before: Any, after: Any, *, gradients_too: bool = False) -> None:
    """Breaks if an iteration changes the form of the carried values.

    With `gradients_too` it also compares `requires_grad`, because the number of iterations is unknown.
    """
    pairs = zip(subgraph.tensors_of(before), subgraph.tensors_of(after))
    alike = subgraph.Structure(before).matches(subgraph.Structure(after)) and all(
        (a.shape, a.dtype) == (b.shape, b.dtype) and (not gradients_too or a.requires_grad >= b.requires_grad)
        for a, b in pairs
    )
    if not alike:
        raise GraphBreak("call", value=f"{what} of a function that changes the form of the carried values")


def only_tensors(what: str, tree: Any) -> Tensors:
    leaves = pytree.tree_leaves(tree)
    if not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise GraphBreak("call", value=f"{what} of values that are no tensors")
    return leaves


# --- while_loop -------------------------------------------------------------------------------------------


@rule(while_loop, torch.while_loop)
def _while_loop(tx: Interpreter, cond_fn: Variable, body_fn: Variable, carried_inputs: Variable) -> Variable:
    (given, _), nodes = given_values(tx, TupleVariable(carried_inputs.unpack(tx)), {})
    only_tensors("while_loop", given)
    condition, body = subgraph.apart(tx, cond_fn, given), subgraph.apart(tx, body_fn, given)
    again = condition.example
    if not isinstance(again, torch.Tensor) or again.dtype != torch.bool or again.numel() != 1:
        raise GraphBreak("call", value="while_loop of a condition that is no boolean tensor")
    check_alike("while_loop", given, body.example, gradients_too=True)
    run = functools.partial(
        _loop, condition.module, body.module, body.structure, len(nodes), len(condition.lifted)
    )
    lifted = [*condition.lifted, *body.lifted]
    bodies = {"cond_fn": condition.module, "body_fn": body.module}
    return subgraph.call_node(tx, "while_loop", run, [*nodes, *lifted], body.example, bodies=bodies)


def _loop(
    condition: RunBody,
    body: RunBody,
    results: subgraph.Structure,
    count: int,
    middle: int,
    *tensors: torch.Tensor,
) -> Any:
    if not runs_for_real(list(tensors)):
        text = "while_loop: the number of iterations depends on values"
        raise UnsupportedOperatorException(text)  # type: ignore[arg-type]
    carried, lifted = tensors[:count], tensors[count:]
    first = True
    while condition(*carried, *lifted[:middle])[0]:
        carried, first = body(*carried, *lifted[middle:]), False
    return results.fill([tensor.clone() for tensor in carried] if first else carried)


# --- scan -------------------------------------------------------------------------------------------------


def slices_of(what: str, trees: Any, dim: Any) -> tuple[int, Any]:
    """The dimension, and its size, which is the same for all tensors and may be a symbol."""
    tensors = only_tensors(what, trees)
    if not isinstance(dim, int) or any(not -t.ndim <= dim < t.ndim for t in tensors):
        raise GraphBreak("call", value=f"{what} over a dimension that does not exist")
    size = tensors[0].shape[dim]
    if any(tensor.shape[dim] != size for tensor in tensors) or size == 0:
        raise GraphBreak("call", value=f"{what} of tensors that do not match")
    return dim, size


@rule(scan)
def _scan(
    tx: Interpreter,
    combine_fn: Variable,
    init: Variable,
    xs: Variable,
    *,
    dim: Variable = ConstantVariable(0),
    reverse: Variable = FALSE,
) -> Variable:
    (given, _), nodes = given_values(tx, TupleVariable([init, xs]), {})
    carry, rows = given
    only_tensors("scan", carry)
    where, size = slices_of("scan", rows, dim.as_constant())
    first = pytree.tree_map(lambda t: t.select(where, 0), rows)
    body = subgraph.apart(tx, combine_fn, (carry, first))
    if type(body.example) is not tuple or len(body.example) != 2:
        raise GraphBreak("call", value="scan of a function that does not return a pair")
    only_tensors("scan", body.example)
    symbolic = not isinstance(size, int)
    check_alike("scan", carry, body.example[0])
    count = len(subgraph.tensors_of(carry))
    run = functools.partial(
        _scan_rows, body.module, body.structure, count, len(nodes) - count, where, reverse.truth(tx)
    )
    lifted = [node.meta["example_value"] for node in body.lifted]
    taken = [*subgraph.tensors_of(given), *lifted]
    made = layout_of(tx, "scan", functools.partial(run, *taken), symbolic)
    limited = functools.partial(_up_to_long, "scan", run, where, count)
    bodies = {"scan_combine_fn": body.module}
    return subgraph.call_node(tx, "scan", limited, [*nodes, *body.lifted], made, bodies=bodies)


def _scan_rows(
    body: RunBody,
    structure: subgraph.Structure,
    count: int,
    rows: int,
    dim: int,
    reverse: bool,
    *tensors: torch.Tensor,
    symbolic: bool = False,
) -> Any:
    """The function of the node. With `symbolic`, it gives the layout for any number of steps from 2 on."""
    carry, xs, lifted = tensors[:count], tensors[count : count + rows], tensors[count + rows :]
    outs: dict[int, tuple[torch.Tensor, ...]] = {}
    flags: list[list[bool]] = []
    for step in [0, 0, 0] if symbolic else steps_of(xs[0].shape[dim], reverse):
        results = body(*carry, *(t.select(dim, step) for t in xs), *lifted)
        carry, outs[step] = results[:count], results[count:]
        flags.append([t.requires_grad for t in results])
    if symbolic and flags[1] != flags[2]:
        raise GraphBreak("call", value="scan with results that require grad only after some steps")
    stacked = [torch.stack(column) for column in zip(*(outs[step] for step in sorted(outs)))]
    if symbolic:
        stacked = [subgraph.repeated(column, xs[0].shape[dim]) for column in stacked]
    return structure.fill([*carry, *(column.movedim(0, dim) for column in stacked)])


def steps_of(size: int, reverse: bool) -> list[int]:
    return list(range(size))[::-1] if reverse else list(range(size))


def _up_to_long(what: str, run: Callable[..., Any], dim: int, place: int, *tensors: torch.Tensor) -> Any:
    """`run` for a node. A compiler unrolls short loops.

    The size of the argument at `place` is the number of steps.
    """
    size = tensors[place].shape[dim]
    if asks_for_layout(size):
        return run(*tensors, symbolic=True)
    if not runs_for_real(list(tensors)) and (not isinstance(size, int) or size > LONG):
        raise UnsupportedOperatorException(f"{what} of {size} steps")  # type: ignore[arg-type]
    return run(*tensors)


# --- associative_scan -------------------------------------------------------------------------------------


@rule(associative_scan)
def _associative_scan(
    tx: Interpreter,
    combine_fn: Variable,
    xs: Variable,
    dim: Variable,
    reverse: Variable = FALSE,
    combine_mode: Variable = ConstantVariable("pointwise"),
) -> Variable:
    if combine_mode.as_constant() != "generic":
        raise GraphBreak(
            "call", value="associative_scan with pointwise functions, which only other devices support"
        )
    (given, _), nodes = given_values(tx, TupleVariable([xs]), {})
    where, size = slices_of("associative_scan", given, dim.as_constant())
    first = pytree.tree_map(lambda t: t.select(where, 0), given[0])
    second = pytree.tree_map(lambda t: t.select(where, size - 1).clone(), given[0])
    body = subgraph.apart(tx, combine_fn, (first, second))
    symbolic = not isinstance(size, int)
    check_alike("associative_scan", first, body.example, gradients_too=symbolic)
    run = functools.partial(_combine, body.module, body.structure, len(nodes), where, reverse.truth(tx))
    lifted = [node.meta["example_value"] for node in body.lifted]
    taken = [*subgraph.tensors_of(given), *lifted]
    made = layout_of(tx, "associative_scan", functools.partial(run, *taken), symbolic)
    limited = functools.partial(_up_to_long, "associative_scan", run, where, 0)
    bodies = {"associative_scan_combine_fn": body.module}
    return subgraph.call_node(tx, "associative_scan", limited, [*nodes, *body.lifted], made, bodies=bodies)


def _combine(
    body: RunBody,
    structure: subgraph.Structure,
    count: int,
    dim: int,
    reverse: bool,
    *tensors: torch.Tensor,
    symbolic: bool = False,
) -> Any:
    xs, lifted = tensors[:count], tensors[count:]
    if symbolic:
        columns = [subgraph.repeated(t.select(dim, 0).unsqueeze(0), t.shape[dim]) for t in xs]
        return structure.fill([column.movedim(0, dim) for column in columns])
    steps = steps_of(xs[0].shape[dim], reverse)
    rows = combined(lambda a, b: body(*a, *b, *lifted), [[t.select(dim, i) for t in xs] for i in steps])
    stacked = zip(*(row for _, row in sorted(zip(steps, rows), key=lambda pair: pair[0])))
    return structure.fill([torch.stack(column).movedim(0, dim) for column in stacked])


def combined(combine: Callable[[Any, Any], Any], rows: list[Any]) -> list[Any]:
    """The scan of `rows`. torch combines pairs first, and so gives other results where `combine` is not
    associative; rounding is not either.
    """
    if len(rows) < 2:
        return rows
    odd = combined(combine, [combine(*pair) for pair in zip(rows[:-1:2], rows[1::2])])
    even = [rows[0], *(combine(*pair) for pair in zip(odd, rows[2::2]))]
    return [(odd if i % 2 else even)[i // 2] for i in range(len(rows))]


# --- regions ----------------------------------------------------------------------------------------------


@rule(invoke_subgraph_placeholder)
def _region(tx: Interpreter, function: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    """A call of a function that `torch.compiler.nested_compile_region` made."""
    return _called(tx, "invoke_subgraph", function, args, kwargs)


@rule(type(wrap).__call__)
def _wrap(
    tx: Interpreter, operator: Variable, function: Variable, *args: Variable, **kwargs: Variable
) -> Variable:
    return _called(tx, "wrap", function, args, kwargs)


def _called(
    tx: Interpreter, name: str, function: Variable, args: tuple[Variable, ...], kwargs: dict[str, Variable]
) -> Variable:
    """A node that calls the function once, without a transform."""
    bound = Bound(function, [a if is_object(tx, a) else None for a in args])
    plain = [a for a in args if not is_object(tx, a)]
    given, nodes = given_values(tx, TupleVariable(plain), kwargs)
    body = subgraph.outline(tx, bound, *given, may_write=True)
    check_results(function, body)
    returned = subgraph.tensor_variables(tx, [*plain, *kwargs.values()])
    return transform_node(tx, name, _call, [body], given, nodes, body.example, returned)


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def is_object(tx: Interpreter, value: Variable) -> bool:
    """Whether the body takes the value as the object that it is, like a module."""
    value = tx.output.objects.resolve(value)
    return issubclass(value.python_type(), torch.nn.Module)


class Bound(Variable):
    """`function` with some of its positional arguments. A None stands for the next argument of the call."""

    def __init__(self, function: Variable, fixed: list[Variable | None]) -> None:
        super().__init__(None)
        self.function = function
        self.fixed = fixed

    def describe(self) -> str:
        return self.function.describe()

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        rest = iter(args)
        return self.function.call(tx, [next(rest) if a is None else a for a in self.fixed], kwargs)

    def children(self) -> list[Variable]:
        return [self.function, *(a for a in self.fixed if a is not None)]
