"""`torch.autograd.grad` in a frame.

In:  the call, whose inputs and outputs are tensors of the graph.
Out: one node. Autograd itself computes its fake gradients: it has recorded the operations on fake tensors.

    (g,) = torch.autograd.grad(f(x), x, create_graph=True)   ->   grad = torch.autograd.grad(...); grad[0]

The graph breaks where eager would do more than to compute gradients: call hooks or custom functions, go on
outside of the graph, raise an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import BackwardCFunction

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import SequenceVariable, TupleVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import FALSE, NONE, ConstantVariable
from capture.variables.core.rules import rule
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.tensors.tensor_flag import may_differentiate
from capture.variables.tensors.tensor_hooks import LeafHandle
from codegen.autograd.asked_inputs import leads_to
from codegen.fake.twins import NON_LEAF, step_name
from codegen.trace.gradients import step_of, steps_behind, steps_run, ways_outside

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


@rule(torch.autograd.grad)
def _grad(
    tx: Interpreter,
    outputs: Variable,
    inputs: Variable,
    grad_outputs: Variable = NONE,
    retain_graph: Variable = NONE,
    create_graph: Variable = FALSE,
    only_inputs: Variable = ConstantVariable(True),
    allow_unused: Variable = NONE,
    is_grads_batched: Variable = FALSE,
    materialize_grads: Variable = FALSE,
) -> Variable:
    options = {
        "retain_graph": _flag(retain_graph),
        "create_graph": _flag(create_graph),
        "allow_unused": _flag(allow_unused),
        "materialize_grads": _flag(materialize_grads),
    }
    if not only_inputs.is_exactly(True) or not is_grads_batched.is_exactly(False):
        raise _break("only_inputs=False or is_grads_batched=True")
    targets, wanted = _tensors(tx, outputs), _tensors(tx, inputs)
    tangents = [] if grad_outputs.is_exactly(None) else _tensors(tx, grad_outputs, or_none=True)
    _check_surroundings(tx)
    if any(item.leaf is not None for item in (*targets, *wanted)):
        raise _break("a tensor that got other data")
    given = [item.fake for item in wanted if item.value is not None or item.node.op == "placeholder"]
    if any(not fake.requires_grad for fake in given) or not any(item.fake.requires_grad for item in targets):
        raise _break("a tensor that does not require grad")
    running = _steps_run(tx, targets, wanted, given)
    call: list[Variable] = [TupleVariable(targets), TupleVariable(wanted)]
    named: dict[str, Variable] = {name: ConstantVariable(flag) for name, flag in options.items()}
    if tangents:
        named["grad_outputs"] = TupleVariable(tangents)
    made = tx.output.call_function(tx, torch.autograd.grad, call, named)
    retained = options["create_graph"] if options["retain_graph"] is None else options["retain_graph"]
    if not retained:
        tx.output.inner_gradients.note_freed(running)
    return _with_known(made, [*targets, *wanted, *tangents])


def _steps_run(
    tx: Interpreter, targets: list[Any], wanted: list[Any], given: list[torch.Tensor]
) -> list[Any]:
    """The steps of autograd's graph that the call runs."""
    with tx.output.fake_mode:
        steps = steps_behind(item.fake for item in targets)
        ways = ways_outside(steps, given)
        if ways and not _are_apart(tx, ways):
            raise _break("gradients may come to an input of torch.autograd.grad outside of the graph")
        running = steps_run(steps, [item.fake for item in wanted])
    if any(step_name(step) != NON_LEAF and isinstance(step, BackwardCFunction) for step in running):
        raise _break("a custom autograd function")
    return running


def _are_apart(tx: Interpreter, ways: dict[Any, set[Any]]) -> bool:
    """Whether the histories of the present tensors do not lead to each other. The graph asks the same of each
    call.
    """
    tensors = {
        step_of(fake): tensor for tensor, fake in tx.output.fake_mode.memo.items() if fake.requires_grad
    }
    return all(
        {begin, *wanted} <= tensors.keys()
        and not leads_to(tensors[begin], [tensors[step] for step in wanted])
        for begin, wanted in ways.items()
    )


def _flag(value: Variable) -> bool | None:
    flag = value.as_constant() if value.is_constant() else value
    if flag is not None and type(flag) is not bool:
        raise _break("an option that is no bool")
    return flag


def _tensors(tx: Interpreter, given: Variable, or_none: bool = False) -> list[Any]:
    given = realize(given)
    items = [given] if isinstance(given, TensorVariable) else [realize(item) for item in given.unpack(tx)]
    for item in items:
        is_plain = isinstance(item, TensorVariable) and item.cls is torch.Tensor
        if not is_plain and not (or_none and item.is_exactly(None)):
            raise _break("values that are no plain tensors")
    return items


def _check_surroundings(tx: Interpreter) -> None:
    """Breaks where a hook, a mode or a transform takes part."""
    output = tx.output
    if not may_differentiate(output):
        raise _break("the graph is a body of another one, or for the backend of another project")
    if output.modes.function_modes or torch._C._functorch.peek_interpreter_stack() is not None:
        raise _break("a mode or a function transform")
    registers = (getattr(node.target, "__name__", "") == "register_hook" for node in output.graph.nodes)
    if any(registers) or output.side_effects.has_registered(LeafHandle):
        raise _break("hooks on gradients")


def _break(why: str) -> GraphBreak:
    return GraphBreak("call_skipped", name="torch.autograd.grad", why=why)


def _with_known(made: Variable, given: list[Any]) -> Variable:
    """The result, in which a gradient that is one of the arguments is that argument, as in eager."""
    assert isinstance(made, SequenceVariable)
    known = {id(item.fake): item for item in given if isinstance(item, TensorVariable)}
    items: list[Variable] = []
    for item in made.items:
        if isinstance(item, TensorVariable):
            item = known.setdefault(id(item.fake), item)
        items.append(item)
    return made.like(items)
