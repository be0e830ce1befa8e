"""A compiled module: calls of it are captured, and it is still a module of its class.

In:  an nn.Module and the region for its calls.
Out: an instance of a subclass of the module's class, with the same instance dictionary.

    fast = capture.compile(net)   ->   isinstance(fast, Net); fast.state_dict() has the keys of net
                                       fast.weight is net.weight; fast(x) is captured

Both objects share one `__dict__`. So they always have the same parameters, buffers, submodules, hooks,
training flag and attributes. `fast(...)` and `fast.forward(...)` run the methods of the original with the
original as `self`, so guards and cache entries belong to the original. Other methods run without capture and
with `fast` as `self`: if `generate()` calls `self(...)`, that call is captured.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import _capture
import torch

from capture.policy import marks
from capture.report.errors import UsageError

if TYPE_CHECKING:
    from capture.hooks.regions import Region

F = TypeVar("F", bound=Callable[..., Any])
Rewrap = Callable[[torch.nn.Module, Mapping[str, Any] | None], Any]


def _without_a_frame(attribute: str) -> Callable[[F], F]:
    """Decorator for a method that only calls `attribute` of its object.

    The extension does so without a Python frame, which a debugger or profiler would see.
    """
    native = getattr(_capture, "HookedFunction", None)
    return lambda method: method if native is None else native(method, None, None, None, attribute)


class CompiledModule:
    """The first base of each compiled module's class; the module's own class is the second one.

    _capture_original: the original module.
    _capture_arguments: the arguments of `enable`; None if the module is disabled.
    _capture_rewrap: makes a compiled module from a copy of the original.
    """

    __slots__ = ()
    _capture_original: torch.nn.Module
    _capture_arguments: Mapping[str, Any] | None
    _capture_rewrap: Rewrap
    _capture_call: Any
    _capture_forward: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Does nothing. A module's class may register its subclasses, and must not register ours."""

    @_without_a_frame("_capture_call")
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._capture_call(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        original = copy.deepcopy(self._capture_original, memo)
        return self._capture_rewrap(original, self._capture_arguments)

    def __copy__(self) -> Any:
        return self._capture_rewrap(copy.copy(self._capture_original), self._capture_arguments)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._capture_rewrap, (self._capture_original, self._capture_arguments)


def wrap_module(
    module: torch.nn.Module, region: Region, rewrap: Rewrap, arguments: Mapping[str, Any] | None
) -> Any:
    """`module`, captured in `region`. UsageError if its class allows no subclass (scripted modules)."""
    if isinstance(module, torch.jit.ScriptModule):
        raise UsageError(f"{type(module).__name__} runs TorchScript, not Python: there is nothing to capture")
    module = original_of(module)
    new: Any = object.__new__(_compiled_class(type(module)))
    object.__setattr__(new, "__dict__", module.__dict__)
    object.__setattr__(new, "_capture_original", module)
    object.__setattr__(new, "_capture_arguments", arguments)
    object.__setattr__(new, "_capture_rewrap", rewrap)
    object.__setattr__(new, "_capture_call", _around(region, module, "__call__", arguments))
    object.__setattr__(new, "_capture_forward", _around(region, module, "forward", arguments))
    return new


def _around(region: Region, module: torch.nn.Module, method: str, arguments: Mapping[str, Any] | None) -> Any:
    inside = region.around_method(module, method)
    if arguments is None:
        marks.mark_disabled(inside)
    return inside


def original_of(module: torch.nn.Module) -> torch.nn.Module:
    """The module that a compiled module runs; any other module itself."""
    return module._capture_original if isinstance(module, CompiledModule) else module


_classes: weakref.WeakValueDictionary[type, type] = weakref.WeakValueDictionary()


def _compiled_class(cls: type) -> type:
    """The subclass of a module's class. It has the same name, so that texts stay as they were.

    Each class has only one subclass: two compiled modules of one class have the same type, and pass the same
    guards.
    """
    found = _classes.get(cls)
    if found is None:
        found = _classes[cls] = _make_class(cls)
    return found


def _make_class(cls: type) -> type:
    namespace = {
        "__slots__": tuple(CompiledModule.__annotations__),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "forward": _documented_forward(cls),
    }
    try:
        return type(cls)(cls.__name__, (CompiledModule, cls), namespace)
    except TypeError as error:
        raise UsageError(
            f"{cls.__qualname__} can't be wrapped, its class allows no subclass: {error}"
        ) from error


def _documented_forward(cls: Any) -> Any:
    """A `forward` with the signature of the module's own `forward`: some tools read the signature."""

    @_without_a_frame("_capture_forward")
    @functools.wraps(cls.forward)
    def forward(self: CompiledModule, *args: Any, **kwargs: Any) -> Any:
        return self._capture_forward(*args, **kwargs)

    return forward


FORWARD = _documented_forward(torch.nn.Module).__code__
