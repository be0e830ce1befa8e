"""Calls, in captured code, of what was compiled before: by `capture.compile`, `capture.enable(...)(f)` or `torch.compile`.

In:  the wrapper, or the compiled module, and its arguments.
Out: the call of what it wraps: it becomes a part of the graph that is being made, for that graph's backend.
"""

from __future__ import annotations

import os
import types
from typing import TYPE_CHECKING, Any

import torch

from capture import compiled_module, regions
from capture.break_reasons import GraphBreak
from capture.variables.base import Variable

if TYPE_CHECKING:
    from capture.translator import Translator
    from capture.variables.function import UserFunctionVariable

_TORCH_COMPILE = os.path.join(os.path.dirname(torch.__file__), "_dynamo", "eval_frame.py")


def is_compiled(function: types.FunctionType) -> bool:
    return "_capture_original" in function.__dict__ and function.__code__.co_filename == regions.__file__


def is_torch_compiled(function: types.FunctionType) -> bool:
    marked = "_torchdynamo_orig_callable" in function.__dict__
    return marked and function.__code__.co_filename == _TORCH_COMPILE


def call_original(attribute: str) -> Any:
    """Call what the wrapper keeps in that attribute."""

    def call(
        tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        return function.get_attr(tx, attribute).call(tx, args, kwargs)

    return call


def _call_module(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return _original(tx, args[0]).call(tx, args[1:], kwargs)


def _call_forward(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return _original(tx, args[0]).get_attr(tx, "forward").call(tx, args[1:], kwargs)


def _original(tx: Translator, module: Variable) -> Variable:
    if module.get_attr(tx, "_capture_arguments").is_exactly(None):
        raise GraphBreak("call_disabled", name=module.describe())
    return module.get_attr(tx, "_capture_original")


MODULE_METHODS = {
    compiled_module.CompiledModule.__call__.__code__: _call_module,
    compiled_module.FORWARD: _call_forward,
}
