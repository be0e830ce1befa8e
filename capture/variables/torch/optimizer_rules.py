"""Steps of the usual optimizers: one operation for all parameters.

In:  a call of the loop over parameters of Adam, AdamW or SGD, with variables as arguments.
Out: a node that is the whole step (`capture/graph/optimizer_steps.py`). The loop itself where torch's fused
     operator does something else, or another project's backend gets the graph. The fused operators, where
     the program calls them: a rate that changes is a tensor.

    _single_tensor_adam(params, grads, ...)   ->   adam_steps(params, grads, ...)

The loop has a dozen operations for each parameter. To interpret, trace and lower them costs more than all
the rest of a training step's capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.optim import adam, sgd

from capture.graph.optimizer_steps import adam_steps, sgd_steps
from capture.variables.containers.sequence import SequenceVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.granted import granted
from capture.variables.core.rules import rule
from capture.variables.numbers.graph_float import GraphFloatVariable
from capture.variables.numbers.symbolic import is_symbolic
from capture.variables.tensors.tensor import TensorVariable
from codegen.trace.updates import DTYPES, has_no_gaps

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

Lists = list[list[TensorVariable]]


Given = dict[str, Variable]


def _one_operation_for(function: Any, update: Any) -> None:
    """A call of `function` becomes what `update` makes of its arguments. None: the call is interpreted."""
    names = function.__code__.co_varnames

    @rule(function)
    def call(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
        made = update(tx, {**dict(zip(names, args)), **kwargs}) if tx.output.is_native else None
        if made is None:
            return tx.inline(tx.wrap_function(function), list(args), kwargs)
        granted().inlined[id(function)] = function  # as a part of the frame
        return made


def _adam(tx: Interpreter, given: Given) -> Variable | None:
    options = ("amsgrad", "maximize", "beta1", "beta2", "weight_decay", "eps")
    fixed = _are(given, False, "has_complex", "capturable", "differentiable")
    if not fixed or not _are_plain(given, (*options, "decoupled_weight_decay")):
        return None
    names = ("params", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps")
    lists = _lists_of(tx, given, names, with_steps=True)
    if lists is None or bool(lists[4]) != given["amsgrad"].as_constant():
        return None
    lr = _rate(tx, given)
    if lr is None:
        return None
    keywords = {"lr": lr, "decoupled": given["decoupled_weight_decay"], **_named(given, options)}
    return tx.output.call_function(tx, adam_steps, _chosen(given, names), keywords)


def _sgd(tx: Interpreter, given: Given) -> Variable | None:
    options = ("weight_decay", "momentum", "dampening", "nesterov", "maximize")
    if not _are(given, False, "has_sparse_grad") or not _are_plain(given, options):
        return None
    names = ("params", "grads", "momentum_buffer_list")
    lists = _lists_of(tx, given, names)
    if lists is None or bool(lists[2]) != (given["momentum"].as_constant() != 0):
        return None
    lr = _rate(tx, given)
    if lr is None:
        return None
    keywords = {"lr": lr, **_named(given, options)}
    return tx.output.call_function(tx, sgd_steps, _chosen(given, names), keywords)


_LOOPS = ("_single_tensor_", "_multi_tensor_")  # private names of torch: another release may have others
for _module, _name, _update in ((adam, "adam", _adam), (sgd, "sgd", _sgd)):
    for _function in filter(None, (getattr(_module, loop + _name, None) for loop in _LOOPS)):
        _one_operation_for(_function, _update)


def _takes_a_changing_rate(function: Any) -> None:
    """Of torch's fused steps, the form that takes the rate as a tensor gets a rate that changes."""

    @rule(function)
    def call(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
        lr = _rate(tx, kwargs)
        keywords = kwargs if lr is None else kwargs | {"lr": lr}
        return tx.output.call_function(tx, function, list(args), keywords)


for _name in ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_"):
    if hasattr(torch, _name):
        _takes_a_changing_rate(getattr(torch, _name))


def _are(given: Given, value: Any, *names: str) -> bool:
    return all(name in given and given[name].is_exactly(value) for name in names)


def _are_plain(given: Given, names: tuple[str, ...]) -> bool:
    """Whether these are numbers that are known, and nothing scales the gradients."""
    known = all(type(given.get(name)) is ConstantVariable for name in names)
    return known and _are(given, None, "grad_scale", "found_inf")


def _chosen(given: Given, names: tuple[str, ...]) -> list[Variable]:
    return [given[name] for name in names]


def _named(given: Given, names: tuple[str, ...]) -> Given:
    return {name: given[name] for name in names}


def _rate(tx: Interpreter, given: Given) -> Variable | None:
    """The learning rate as the operator takes it: a number, or a tensor where it changes."""
    lr = given.get("lr")
    if lr is None:
        return None
    if isinstance(lr, GraphFloatVariable):
        return lr.as_tensor()
    if is_symbolic(lr) and issubclass(lr.python_type(), float):
        dtype = ConstantVariable(torch.float64)
        return tx.output.call_function(tx, torch.tensor, [lr], {"dtype": dtype})
    return lr if type(lr) is ConstantVariable and type(lr.as_constant()) is float else None


def _lists_of(
    tx: Interpreter, given: Given, names: tuple[str, ...], with_steps: bool = False
) -> Lists | None:
    """The tensors of the lists, where the fused operator takes them.

    It walks through the memory of a parameter, its gradient and its states at once: these have one layout
    without gaps. No tensor stands in two places, since the loop has written it at its first place by then.
    """
    lists: Lists = []
    for name in names:
        items = _tensors_of(tx, given.get(name))
        if items is None or len(items) not in (0, len(lists[0]) if lists else len(items)):
            return None
        lists.append(items)
    steps = lists[-1] if with_steps else []
    alike = [items for items in (lists[:-1] if with_steps else lists) if items]
    nodes = [item.node for items in lists for item in items]
    fit = (
        len(set(nodes)) == len(nodes) and all(map(_have_one_layout, zip(*alike))) and all(map(_counts, steps))
    )
    return lists if fit else None


def _tensors_of(tx: Interpreter, value: Variable | None) -> list[TensorVariable] | None:
    if not isinstance(value, SequenceVariable) or value.python_type() not in (list, tuple):
        return None
    items: Any = [tx.output.objects.resolve(item) for item in value.items]
    return items if all(map(_is_plain_tensor, items)) else None


def _is_plain_tensor(value: Variable) -> bool:
    if not isinstance(value, TensorVariable) or not issubclass(value.cls, torch.Tensor):
        return False
    fake = value.fake
    return value.cls in (torch.Tensor, torch.nn.Parameter) and fake.layout is torch.strided


def _have_one_layout(tensors: tuple[TensorVariable, ...]) -> bool:
    param = tensors[0].fake
    if param.dtype not in DTYPES or param.device.type != "cpu" or param._has_symbolic_sizes_strides:
        return False
    kind = (param.dtype, param.shape, param.stride())
    same = all((t.fake.dtype, t.fake.shape, t.fake.stride()) == kind for t in tensors)
    return same and has_no_gaps(param)


def _counts(step: TensorVariable) -> bool:
    return step.fake.dtype in DTYPES and step.fake.dim() == 0 and step.fake.device.type == "cpu"
