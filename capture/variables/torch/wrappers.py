"""Rules for torch's own Python wrappers around a call of the user.

These are optimizer steps, profiler ranges, and functions that torch.compile leaves alone.

In:  a call of such a function or class. It is found by the function, or by the code that all wrappers of one
     decorator share.
Out: the call without the work for torch.compile. (Some wrappers import it, which takes seconds.)
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch
import torch.autograd.profiler
from torch._library.custom_ops import CustomOpDef
from torch.fx._symbolic_trace import is_fx_tracing_warning
from torch.masked._ops import _combine_input_and_mask
from torch.nn.utils.stateless import _untie_named_tensors_map
from torch.optim.optimizer import _get_value, _stack_if_compiling, _use_grad_for_differentiable

from capture.bytecode.dialects import dialect
from capture.policy import first_steps
from capture.report.break_reasons import GraphBreak
from capture.variables.callables import polyfills
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.rules import BY_CODE, inner_code, rule
from capture.variables.numbers import graph_float
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.torch import wrapper_polyfills

if TYPE_CHECKING:
    from capture.variables.callables.function import UserFunctionVariable
    from capture.variables.core.protocols import Interpreter


def _optimizer_method(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`Optimizer.step` and similar methods. They run with the grad mode that the optimizer needs."""
    if function.function.__name__ == "step":
        first_steps.check(tx, functools.partial(_has_no_state, args))
    method = function.closure_value(tx, "func")
    return tx.wrap_function(wrapper_polyfills.with_grad_mode_of_optimizer).call(tx, [method, *args], kwargs)


def _has_no_state(args: list[Variable]) -> bool:
    optimizer = getattr(args[0], "value", None) if args else None
    return isinstance(optimizer, torch.optim.Optimizer) and not vars(optimizer).get("state")


def _kept_from_compilers(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`torch._disable_dynamo`. It breaks, except for functions that are plain Python."""
    wrapped = function.function.__wrapped__  # type: ignore[attr-defined]
    if wrapped.__qualname__ not in PLAIN_PYTHON:
        raise GraphBreak("call_disabled", name=wrapped.__qualname__)
    return function.closure_value(tx, "fn").call(tx, args, kwargs)


PLAIN_PYTHON = ("Optimizer.zero_grad",)

BY_CODE[inner_code(_use_grad_for_differentiable, "_use_grad")] = _optimizer_method
BY_CODE[inner_code(torch._compile._disable_dynamo, "inner")] = _kept_from_compilers


@rule(_get_value)
def _counter_value(tx: Interpreter, value: Variable) -> Variable:
    """A step count or similar tensor as the number of eager mode, kept in the graph."""
    return graph_float.float_from(tx, value) if isinstance(value, TensorVariable) else value


@rule(_stack_if_compiling)
def _numbers_of_tensors(tx: Interpreter, numbers: Variable) -> Variable:
    """A list of numbers, as in eager mode."""
    return numbers


@rule(is_fx_tracing_warning)
def _fx_tracing_warning(tx: Interpreter) -> Variable:
    """`is_fx_tracing` writes a warning to torch's log, once in a process."""
    is_fx_tracing_warning()
    return ConstantVariable(None)


@rule(CustomOpDef.__call__)
def _custom_operator(tx: Interpreter, definition: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    """A call of the operator of a function that `torch.library.custom_op` returns."""
    value = definition.real_value()
    tx.output.guarding.identity(definition, value)
    return tx.output.call_function(tx, value._opoverload, list(args), kwargs)


@rule(_combine_input_and_mask)
def _masked_input(tx: Interpreter, *args: Variable) -> Variable:
    return tx.wrap_function(wrapper_polyfills.input_where_unmasked).call(tx, list(args), {})


@rule(_untie_named_tensors_map)
def _untied(tx: Interpreter, module: Variable, given: Variable) -> Variable:
    return tx.wrap_function(wrapper_polyfills.untied_tensors).call(tx, [module, given], {})


@rule(torch._C._group_tensors_by_device_and_dtype)
def _group_tensors(tx: Interpreter, lists: Variable, with_indices: Variable) -> Variable:
    """Groups tensors for `foreach` operators and for the clipping of gradients."""
    return tx.wrap_function(wrapper_polyfills.group_tensors).call(tx, [lists, with_indices], {})


@rule(torch.profiler.profile, torch.autograd.profiler.profile)
def _profile(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    """`with profile():` without a name. It does nothing, because no code can read its results."""
    following = tuple(instruction.name for instruction in tx.instructions[tx.index : tx.index + 2])
    if following != dialect.ENTERS_WITH_UNNAMED or not kwargs.keys() <= WITHOUT_READERS:
        raise GraphBreak("call_skipped", name="profile", why="its results can be read")
    return tx.wrap_function(wrapper_polyfills.profiler_range).call(tx, [ConstantVariable("profile")], {})


WITHOUT_READERS = frozenset(
    [
        "activities",
        "use_cpu",
        "use_cuda",
        "record_shapes",
        "profile_memory",
        "with_stack",
        "with_flops",
        "with_modules",
    ]
)


polyfills.POLYFILLS[torch.autograd.profiler.record_function] = wrapper_polyfills.profiler_range
