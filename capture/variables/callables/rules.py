"""Rules for callables of the standard library, and for functions that tell what the interpreter knows.

In:  a call of `functools.partial`, `sys.getrecursionlimit`, `sys.exc_info` and so on.
Out: a variable, or a graph break where only Python can do it.
"""

from __future__ import annotations

import functools
import sys
import traceback
import types
import typing
from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function import BoundMethodVariable
from capture.variables.callables.library import MAKERS, LibraryCallable
from capture.variables.callables.partial import PartialVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import FALSE, NONE, ConstantVariable
from capture.variables.core.exception import AmbientException, TracebackVariable, handled_exception
from capture.variables.core.rules import CALLS, late_rule, rule
from capture.variables.core.wrap import wrap_class
from capture.variables.objects.user_object import ObjectVariable

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter


@rule(functools.partial)
def _partial(tx: Interpreter, function: Variable, /, *args: Variable, **kwargs: Variable) -> Variable:
    if isinstance(function, PartialVariable):  # functools merges them too
        return PartialVariable(function.function, [*function.args, *args], {**function.kwargs, **kwargs})
    return PartialVariable(function, list(args), kwargs)


def _library_callable(cls: type) -> Callable[..., Variable]:
    return lambda tx, *args, **kwargs: LibraryCallable(cls, list(args), kwargs)


for _cls in MAKERS:
    CALLS[_cls] = _library_callable(_cls)


@rule(types.SimpleNamespace)
def _simple_namespace(tx: Interpreter, /, **kwargs: Variable) -> Variable:
    result = ObjectVariable(types.SimpleNamespace)
    result.attributes.update(kwargs)
    return result


@rule(types.MethodType)
def _method(tx: Interpreter, function: Variable, owner: Variable) -> Variable:
    return BoundMethodVariable(function, owner)


@rule(typing.cast)
def _cast(tx: Interpreter, kind: Variable, value: Variable) -> Variable:
    return value


EXPORTERS = frozenset(
    ["torch.onnx._internal.exporter._flags", "torch.onnx._internal.torchscript_exporter._globals"]
)


@late_rule("torch.onnx", "is_in_onnx_export")
def _in_onnx_export(tx: Interpreter) -> Variable:
    """Asks torch only if a part of it that exports is loaded: the question itself would load that part."""
    if not EXPORTERS.isdisjoint(sys.modules) and torch.onnx.is_in_onnx_export():
        raise GraphBreak("call_skipped", name="is_in_onnx_export", why="part of an export")
    return FALSE


@rule(sys.getrecursionlimit)
def _recursion_limit(tx: Interpreter) -> Variable:
    tx.output.guarding.state(sys.getrecursionlimit)
    return ConstantVariable(sys.getrecursionlimit())


@rule(sys.exc_info)
def _exc_info(tx: Interpreter) -> Variable:
    handled = handled_exception(tx)
    if handled is None and tx.output.modes.handles_nothing_around():
        return TupleVariable([NONE, NONE, NONE])
    if handled is None:
        return TupleVariable([AmbientException(tx.output.root_step) for _ in range(3)])
    trace = TracebackVariable(handled, tx.output.root_step)
    return TupleVariable([wrap_class(tx.output, handled.python_type()), handled, trace])


@rule(sys.exception)
def _exception(tx: Interpreter) -> Variable:
    return _exc_info(tx).unpack(tx)[1]


@rule(traceback.clear_frames)
def _clear_frames(tx: Interpreter, trace: Variable) -> Variable:
    """Clears no locals: the interpreter holds none for frames that an exception has left."""
    if not isinstance(trace, TracebackVariable):
        raise GraphBreak("builtin", name="traceback.clear_frames", value=trace)
    return NONE


@rule(torch._C._log_api_usage_once)
def _no_effect(tx: Interpreter, *args: Variable) -> Variable:
    return NONE


@rule(object)
def _object(tx: Interpreter) -> Variable:
    return ObjectVariable(object)
