"""Modules whose parameters get their sizes from the first input (`nn.LazyLinear`).

In:  a call of such a module in a frame.
Out: `Uninitialized`, which ends the translation. The caller runs the module's own initialization and
     translates the frame again.

Python would initialize the module in that call. An initialization before the frame changes nothing, as long
as the frame has not drawn random numbers before the call.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

from capture.report.retry import Uninitialized
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import NotConstant, Variable
from capture.variables.tensors.tensor import TensorVariable
from guards.lookup import isinstance_raw

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter

_left_to_python: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()


def _initialize(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Does what the module's hook does before the first call.

    If that raises (it may need values), Python runs the call.
    """
    undo = _restorer(module)
    try:
        module._infer_parameters(module, args, kwargs)
    except Exception:
        undo()
        _left_to_python.add(module)


def _restorer(module: torch.nn.Module) -> Callable[[], None]:
    """A function that undoes an initialization that raised."""
    attributes = dict(module.__dict__)
    tables = {name: dict(attributes[name]) for name in ("_parameters", "_buffers", "_modules")}
    tensors = [t for name in ("_parameters", "_buffers") for t in tables[name].values() if is_lazy(t)]
    classes = [type(tensor) for tensor in tensors]

    def restore() -> None:
        for tensor, cls in zip(tensors, classes):
            tensor.data = torch.empty(0)
            tensor.__class__ = cls
        module.__dict__.clear()
        module.__dict__.update(attributes)
        for name, table in tables.items():
            attributes[name].clear()
            attributes[name].update(table)

    return restore


def check_initialized(
    tx: Interpreter, module: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> None:
    """Raises Uninitialized for a lazy module that this call would initialize.

    It does so only if the initialization can happen before the frame.
    """
    if not isinstance_raw(module, LazyModuleMixin) or module in _left_to_python:
        return
    if not module.has_uninitialized_params() or tx.output.fake_mode.has_drawn:
        return
    try:
        shown = tuple(map(_without_data, args)), {name: _without_data(arg) for name, arg in kwargs.items()}
    except NotConstant:
        return
    raise Uninitialized(type(module).__name__, functools.partial(_initialize, module, *shown))


def _without_data(value: Variable) -> Any:
    """The argument as an initialization sees it: sizes and dtypes, no values."""
    if isinstance(value, TensorVariable):
        shape = [_present(size) for size in value.fake.shape]
        if None in shape:
            raise NotConstant(value)
        return torch.empty(shape, dtype=value.fake.dtype, device="meta")
    if isinstance(value, (ListVariable, TupleVariable)):
        return value.python_type()(map(_without_data, value.items))
    return value.as_constant()


def _present(size: Any) -> Any:
    """The value of a symbol in this call; None if only a run knows it.

    It needs no guard, because translation starts again.
    """
    return size.node.hint if isinstance(size, torch.SymInt) else size
