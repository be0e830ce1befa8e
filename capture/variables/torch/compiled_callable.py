"""Calls of compiled callables in captured code.

In:  the wrapper or compiled module of `capture.compile`, `capture.enable(...)(f)` or `torch.compile`, and its
     arguments.
Out: the call of the wrapped callable. It becomes a part of the graph under construction, for that graph's
     backend.
"""

from __future__ import annotations

import os
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.hooks import compiled_module, regions
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function import BoundMethodVariable, FunctionVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.class_lookup import class_attribute
from capture.variables.core.rules import BY_CODE
from capture.variables.torch.nn_module import ModuleVariable

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.callables.function import UserFunctionVariable
    from capture.variables.core.protocols import Interpreter

_TORCH_COMPILE = os.path.join(os.path.dirname(torch.__file__), "_dynamo", "eval_frame.py")


def is_compiled(function: types.FunctionType) -> bool:
    return "_capture_original" in function.__dict__ and function.__code__.co_filename == regions.__file__


def is_torch_compiled(function: types.FunctionType) -> bool:
    marked = "_torchdynamo_orig_callable" in function.__dict__
    return marked and function.__code__.co_filename == _TORCH_COMPILE


def call_original(attribute: str) -> Any:
    """A rule that calls the callable in that attribute of the wrapper."""

    def call(
        tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        return function.get_attr(tx, attribute).call(tx, args, kwargs)

    return call


def _call_module(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return _original(tx, args[0]).call(tx, args[1:], kwargs)


def _call_relayed(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    original: Any = _original(tx, args[0])
    # not what the program has set on the module itself: that may be what calls us
    name = compiled_module.relayed_name(function.function)
    method = class_attribute(tx, original, type(original.value), name)
    assert method is not None
    return method.call(tx, args[1:], kwargs)


def _call_as_a_block(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    original: Any = args[0].get_attr(tx, "_capture_original")
    name = compiled_module.relayed_name(function.function)
    method = class_attribute(tx, original, type(original.value), name)
    if not isinstance(method, BoundMethodVariable):
        raise GraphBreak("call", value=function)
    return method.function.call(tx, args, kwargs)


def _original(tx: Interpreter, module: Variable) -> Variable:
    if module.get_attr(tx, "_capture_arguments").is_exactly(None):
        raise GraphBreak("call_disabled", name=module.describe())
    return module.get_attr(tx, "_capture_original")


# --- callables that the frame itself compiles -------------------------------------------------------------


class CompiledVariable(Variable):
    """`capture.compile(function, **settings)`. A call of it is a part of the graph too.

    `function` is None for the decorator.
    """

    mutable = True

    def __init__(self, compiler: Any, function: Variable | None, settings: dict[str, Variable]) -> None:
        super().__init__(None)
        self.compiler = compiler
        self.function = function
        self.settings = settings

    def truth(self, tx: Interpreter) -> bool:
        return True

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if self.function is not None:
            return self.function.call(tx, args, kwargs)
        if len(args) != 1 or kwargs:
            raise GraphBreak("call", value=self)
        return _compiled(tx, self.compiler, args[0], self.settings)

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(self.compiler, [] if self.function is None else [self.function], self.settings)

    def children(self) -> list[Variable]:
        return [*([] if self.function is None else [self.function]), *self.settings.values()]


#: Settings that change nothing about a call inside of a graph. The frame breaks if a call has others.
WITHOUT_MEANING_INSIDE = frozenset(("backend", "fullgraph", "dynamic", "options"))


def compile_in_frame(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    settings = dict(kwargs)
    given = args[0] if args else settings.pop("fn", None)
    if len(args) > 1 or not settings.keys() <= WITHOUT_MEANING_INSIDE:
        raise GraphBreak("call", value=function)
    if given is None or given.is_exactly(None):
        return CompiledVariable(function.function, None, settings)
    return _compiled(tx, function.function, given, settings)


def _compiled(tx: Interpreter, compiler: Any, given: Variable, settings: dict[str, Variable]) -> Variable:
    given = realize(given)
    if not isinstance(given, (FunctionVariable, BoundMethodVariable, ModuleVariable)):
        raise GraphBreak("call", value="capture.compile of an object that is neither function nor module")
    return CompiledVariable(compiler, given, settings)


BY_CODE[compiled_module.CompiledModule.__call__.__code__] = _call_module
BY_CODE[compiled_module.RELAY] = _call_relayed
BY_CODE[compiled_module.AS_A_BLOCK] = _call_as_a_block
