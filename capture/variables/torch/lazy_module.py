"""Modules whose parameters get their sizes from the first input (`nn.LazyLinear`).

In:  a call of such a module in a frame.
Out: `Uninitialized`, which ends the translation. The caller runs the module's own initialization and
     translates the frame again.

Python would initialize the module in that call. An initialization before the frame changes nothing, as long
as the frame has not drawn random numbers before the call, and has not looked at what the initialization
changes: parameters, hooks, the class.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules import module as nn_module
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

from capture.report.retry import Uninitialized
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.class_lookup import lookup_type
from capture.variables.tensors.tensor import TensorVariable
from guards.lookup import instance_dict, isinstance_raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from capture.variables.core.protocols import Interpreter

_left_to_python: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()


def _initialize(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Does what the module's hook does before the first call.

    If that raises (it may need values), Python runs the call.
    """
    random_state = torch.get_rng_state()
    undo = [_restorer(part) for part in module.modules()]
    try:
        module._infer_parameters(module, args, kwargs)
    except Exception:
        for restore in undo:
            restore()
        torch.set_rng_state(random_state)
        _left_to_python.add(module)


def _restorer(module: torch.nn.Module) -> Callable[[], None]:
    """A function that undoes an initialization that raised: attributes, registries, hooks, class."""
    cls, attributes = type(module), dict(module.__dict__)
    tables = [(table, table.copy()) for table in attributes.values() if isinstance(table, (dict, set))]
    tensors = [(t, type(t)) for t in _own_tensors(module) if is_lazy(t)]

    def restore() -> None:
        module.__class__ = cls
        for tensor, lazy in tensors:
            tensor.data = torch.empty(0)
            tensor.__class__ = lazy
        module.__dict__.clear()
        module.__dict__.update(attributes)
        for table, contents in tables:
            table.clear()
            table.update(contents)

    return restore


def _own_tensors(module: torch.nn.Module) -> Iterator[Any]:
    yield from module._parameters.values()
    yield from module._buffers.values()


def is_pending(module: Any) -> bool:
    """Whether the next call of the module initializes it."""
    return isinstance_raw(module, LazyModuleMixin) and "_initialize_hook" in (instance_dict(module) or ())


def _is_first_hook(module: Any) -> bool:
    """Whether nothing changes the arguments before the hook that initializes the module."""
    first = next(iter(module._forward_pre_hooks), None)
    return first == module._initialize_hook.id and not nn_module._global_forward_pre_hooks


def note_use(tx: Interpreter, module: Any, name: str = "") -> None:
    """Notes that the frame looks at a module: at its attribute `name`, or at its class."""
    if module is not None and is_pending(module) and not _stays(type(module), name):
        tx.output.seen_lazy_modules.add(id(module))


def _stays(cls: type, name: str) -> bool:
    """Whether an initialization does not change the attribute."""
    if name in ("_modules", "training"):
        return True
    own = vars(torch.nn.Module).get(name)
    return isinstance(own, types.FunctionType) and lookup_type(cls, name) is own


def check_initialized(
    tx: Interpreter, module: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> None:
    """Raises Uninitialized for a lazy module that this call would initialize.

    It does so only if the initialization can happen before the frame.
    """
    if not is_pending(module) or module in _left_to_python or not _is_first_hook(module):
        return
    if id(module) in tx.output.seen_lazy_modules or tx.output.fake_mode.has_drawn:
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
