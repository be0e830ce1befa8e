"""Functions of torch that torch.compile has made, or that write notes for it.

In:  a function, and a call of it.
Out: `OF_TORCH_COMPILE`: whether it is one of them, and the rule for its call.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import NONE
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from capture.variables.callables.function import UserFunctionVariable
    from capture.variables.core.protocols import Interpreter


def is_mark_of_sizes(function: object) -> bool:
    return (
        getattr(function, "__name__", None) == "mark_static"
        and getattr(function, "__module__", None) == "torch._dynamo.decorators"
    )


def mark_of_sizes(
    tx: Interpreter, function: Variable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`torch._dynamo.mark_static`. Attention marks its tensors for torch.compile; other marks stay."""
    if tx.code.co_filename != torch.nn.attention.__file__.replace("__init__", "flex_attention"):
        raise GraphBreak("call_skipped", name="mark_static", why="part of torch._dynamo.decorators")
    return NONE


def is_kept_from_torch_compile(function: types.FunctionType) -> bool:
    """Whether `torch.compiler.disable` made the function."""
    return (
        function.__dict__.get("_torchdynamo_disable") is True
        and "_torchdynamo_orig_callable" in function.__dict__
    )


def kept_from_torch_compile(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """Breaks, as in torch.compile, except for parts of optimizers.

    torch.compile disables these after its first use in the process.
    """
    original = function.function.__dict__["_torchdynamo_orig_callable"]
    if not (original.__module__ or "").startswith("torch.optim."):
        raise GraphBreak("call_disabled", name=original.__qualname__)
    return tx.wrap(original, ConstantSource(original)).call(tx, args, kwargs)


def is_tagged_by_torch_compile(function: types.FunctionType) -> bool:
    """Whether it is a wrapper of `nn.Module.__init__` or `__setstate__`.

    torch.compile makes these after its first use in the process, to note which modules exist then.
    """
    return function.__module__ == "torch._dynamo.mutation_guard" and function.__name__.startswith("patched_")


def without_the_tag(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """Calls the wrapped method. Only torch.compile needs the note."""
    wrapped = function.function.__name__.removeprefix("patched_")
    return function.closure_value(tx, wrapped).call(tx, args, kwargs)


#: Pairs: whether torch.compile made the function, and the rule for its call.
OF_TORCH_COMPILE = (
    (is_mark_of_sizes, mark_of_sizes),
    (is_kept_from_torch_compile, kept_from_torch_compile),
    (is_tagged_by_torch_compile, without_the_tag),
)
