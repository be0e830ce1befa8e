"""Calls that become one node with its own graph.

These are bodies of function transforms, branches of `torch.cond`, and checkpointed regions.

In:  a function of the program and its arguments.
Out: `Body`: the operations of the call, moved from the graph under construction to a module. Tensors from
     outside that the call reads become further arguments.

    graph: y; mul = arg_0 * y; sum = mul.sum()    ->    body(arg_0, y): mul, sum         and graph: y
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from capture.graph.bodies import BODIES, module_of
from capture.graph.named_functions import new_graph
from capture.process.thread_state import read_modes
from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import SequenceVariable, TupleVariable
from capture.variables.core.base import LazyVariable, NotConstant, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.tensors.tensor import TensorVariable
from capture_records import dataclass
from codegen.kernel.outlined import Structure, outlined, tensors_of

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


@dataclass
class Body:
    """The operations of a call as a module.

    `module(*arguments, *lifted)` returns the tensors of the result in order; `structure` rebuilds the result
    from them.
    """

    module: torch.fx.GraphModule
    lifted: list[torch.fx.Node]
    structure: Structure
    example: Any
    writes: bool = False  # whether it writes to its arguments, or to tensors from outside


def repeated(column: torch.Tensor, size: Any) -> torch.Tensor:
    """A tensor with the layout of a stack of `size` tensors, made of a stack of one."""
    return column.expand(size, *column.shape[1:]).clone(memory_format=torch.contiguous_format)


# --- conversions between variables and plain values -------------------------------------------------------


def plain(tx: Interpreter, value: Variable, tensor: Callable[[TensorVariable], Any]) -> Any:
    """A tree of variables as a tree of values, with `tensor` applied to its tensors."""
    value = value.realize() if isinstance(value, LazyVariable) else value
    if isinstance(value, TensorVariable):
        return tensor(value)
    if type(value) in (TupleVariable, ListVariable):
        assert isinstance(value, SequenceVariable)
        items = [plain(tx, item, tensor) for item in value.items]
        return tuple(items) if isinstance(value, TupleVariable) else items
    if isinstance(value, DictVariable) and value.cls is dict:
        value.show_keys()
        pairs = value.entries.values()
        return {k.as_constant(): plain(tx, v, tensor) for k, v in pairs}
    try:
        return value.as_constant()
    except NotConstant:
        raise GraphBreak("not_a_graph_argument", value=value) from None


def tensor_variables(tx: Interpreter, values: Iterable[Variable]) -> list[TensorVariable]:
    """The tensors in trees of variables."""
    found: list[TensorVariable] = []
    for value in values:
        plain(tx, value, found.append)
    return found


def as_variable(tx: Interpreter, value: Any, tensor: Callable[[torch.Tensor], Variable]) -> Variable:
    """A tree of values as a tree of variables, with `tensor` applied to its tensors."""
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if type(value) in (tuple, list):
        items = [as_variable(tx, item, tensor) for item in value]
        return TupleVariable(items) if type(value) is tuple else ListVariable(items)
    if type(value) is dict:
        entries = {k: as_variable(tx, v, tensor) for k, v in value.items()}
        return DictVariable({k: (ConstantVariable(k), v) for k, v in entries.items()})
    return tx.wrap_constant(value)


# --- outlining --------------------------------------------------------------------------------------------


def outline(tx: Interpreter, function: Variable, args: Any, kwargs: Any, *, may_write: bool = False) -> Body:
    """Interprets `function(*args, **kwargs)` and moves its operations to a body.

    The arguments are trees of fake tensors and constants. With `may_write`, the function may also write to
    tensors from outside.
    """
    graph = tx.output.graph
    last = next(reversed(graph.nodes), None)
    states, modes = len(tx.output.modes.changes), read_modes()
    made = tx.output.inputs.made_outside()
    versions = {node: version_of(node) for node in graph.nodes}
    given = [_argument(graph, tensor) for tensor in tensors_of((args, kwargs))]
    versions |= {node: version_of(node) for node in given}
    nodes = iter(given)

    def take(tensor: torch.Tensor) -> Variable:
        return TensorVariable(next(nodes), tensor)

    variables = [as_variable(tx, value, take) for value in args]
    keywords = {name: as_variable(tx, value, take) for name, value in kwargs.items()}
    results: list[torch.fx.Node] = []

    def leave(tensor: TensorVariable) -> torch.Tensor:
        results.append(tensor.node)
        return tensor.fake

    tx.output.unbacked.bodies += 1
    try:
        example = plain(tx, function.call(tx, variables, keywords), leave)
    finally:
        tx.output.unbacked.bodies -= 1
    if tx.output.inputs.made_outside() != made:  # the body may run more than once
        raise GraphBreak("mutation", value=f"a random stream, or a clock, in {function.describe()}")
    if len(tx.output.modes.changes) != states:
        if read_modes() != modes:
            raise GraphBreak("mutation", value=f"the thread's state in {function.describe()}")
        del tx.output.modes.changes[states:]  # the body makes these changes and undoes them
    module, lifted = take_out(graph, given, behind(graph, last), results)
    versions = {made.node: made.version for made in tx.output.inputs.all} | versions
    written = [version_of(node) != versions.get(node, version_of(node)) for node in (*lifted, *given)]
    if any(written[: len(lifted)]) and not may_write:
        raise GraphBreak("mutation", value=f"a tensor that is no argument of {function.describe()}")
    return Body(module, lifted, Structure(example), example, any(written))


def without_effects(
    tx: Interpreter,
    function: Variable,
    args: Any,
    kwargs: Any,
    *,
    may_write: bool = False,
    runs: bool = False,
) -> Body:
    """`outline` for a function that may run more than once, or (unless it `runs`) not at all.

    Breaks if the program could see that. Of its warnings it could: they come once, where it `runs`.
    """
    effects = tx.output.side_effects.change_count()
    with tx.output.side_effects.watching(function) as watch, tx.output.heard.withholding() as heard:
        body = outline(tx, function, args, kwargs, may_write=may_write)
    if watch.is_changed or tx.output.side_effects.change_count() != effects:
        raise GraphBreak("mutation", value=f"an object outside of {function.describe()}")
    tx.output.heard.repeat(heard, at_each_run=runs)
    return body


def apart(tx: Interpreter, function: Variable, args: Any) -> Body:
    """`without_effects` for a function whose results have to be new tensors."""
    body = without_effects(tx, function, args, {})
    inside = tensors_of((args, [node.meta["example_value"] for node in body.lifted]))
    memories = [tensor.untyped_storage()._cdata for tensor in (*inside, *tensors_of(body.example))]
    results = memories[len(inside) :]
    if body.writes or len(set(results)) != len(results) or set(results) & set(memories[: len(inside)]):
        raise GraphBreak(
            "aliasing", what=f"{function.describe()} returns or changes a tensor from outside of it"
        )
    return body


def _argument(graph: torch.fx.Graph, tensor: torch.Tensor) -> torch.fx.Node:
    """Stands for an argument until the body is moved out of the graph."""
    node = graph.call_function(_argument, ())
    node.meta["example_value"] = tensor
    return node


def version_of(node: torch.fx.Node) -> int | None:
    """How often the program has written to the node's tensor."""
    value = node.meta.get("example_value")
    return None if not isinstance(value, torch.Tensor) or value.is_inference() else value._version


def behind(graph: torch.fx.Graph, last: torch.fx.Node | None) -> list[torch.fx.Node]:
    """The operations that were added after `last`."""
    added = []
    for node in reversed(graph.nodes):
        if node is last:
            break
        if node.op != "placeholder":
            added.append(node)
    return added[::-1]


def take_out(
    graph: torch.fx.Graph, given: list[torch.fx.Node], made: list[torch.fx.Node], results: list[torch.fx.Node]
) -> tuple[torch.fx.GraphModule, list[torch.fx.Node]]:
    """Moves the operations to a new graph."""
    body = new_graph()
    inside = {node: body.placeholder(f"arg_{index}") for index, node in enumerate(given)}
    read = [n for node in made if node not in inside for n in node.all_input_nodes] + results
    lifted = list(dict.fromkeys(n for n in read if n not in inside and n not in set(made)))
    inside.update({node: body.placeholder(f"lifted_{index}") for index, node in enumerate(lifted)})
    for node in made:
        if node not in inside:
            inside[node] = body.node_copy(node, inside.__getitem__)
    body.output(tuple(inside[node] for node in results))
    for node in reversed(made):
        graph.erase_node(node)
    for node in body.nodes:
        node.meta.pop("example_value", None)  # it belongs to a level of a transform that is closed now
    return module_of(body), lifted


def call_node(
    tx: Interpreter,
    name: str,
    run: Callable[..., Any],
    nodes: list[torch.fx.Node],
    example: Any,
    given: Iterable[TensorVariable] = (),
    bodies: Mapping[str, torch.fx.GraphModule] | None = None,
) -> Variable:
    """A node that calls `run` on tensors and returns the tensors of the tree `example` in order.

    Where `run` is made of named functions and plain values, the graph is stored (`codegen.kernel.outlined`).
    If a result is one of the tensors `given`, the variable is the same one. The graph shows `bodies` as
    submodules with these names and a number.
    """

    node = tx.output.graph.call_function(outlined(name, run), tuple(nodes))
    tx.note_places(node)
    if bodies:
        node.meta[BODIES] = {tx.output.operations.number(name): body for name, body in bodies.items()}
    parts = tx.output.operations.wrap_result(tuple(tensors_of(example)), node)
    assert isinstance(parts, TupleVariable)
    values, known = iter(parts.items), {id(variable.fake): variable for variable in given}

    def result(tensor: torch.Tensor) -> Variable:
        made = next(values)
        return known.get(id(tensor), made)

    return as_variable(tx, example, result)
