"""A compiled module: calls of it are captured, and it is still a module of its class.

In:  an nn.Module and the region for its calls.
Out: an instance of a subclass of the module's class, with the same instance dictionary.

    fast = capture.compile(net)   ->   isinstance(fast, Net); fast.state_dict() has the keys of net
                                       fast.weight is net.weight; fast(x) is captured

Both objects share one `__dict__`. So they always have the same parameters, buffers, submodules, hooks,
training flag and attributes. `fast(...)` and `fast.forward(...)` run the methods of the original with the
original as `self`, so guards and cache entries belong to the original. So do the steps that the loop of a
library calls in place of `forward` (`STEPS`). The other methods that classes of the program define
(`policy.get_action(x)`, `model.generate(tokens)`) run as in a block of `enable`, with `fast` as `self`: what
gets hot in them is captured, and `self(...)` is at its first call. Methods of libraries run as they are.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import _capture
import torch

from capture.hooks import switch
from capture.hooks.optimizers import capture_steps
from capture.policy import frame_filter, marks
from capture.report.errors import UsageError
from capture.report.log import warn_once

if TYPE_CHECKING:
    from capture.hooks.regions import Region

_NATIVE: Any = getattr(_capture, "HookedFunction", ())
F = TypeVar("F", bound=Callable[..., Any])
#: what the loops of Lightning call in place of `forward`
STEPS = ("training_step", "validation_step", "test_step", "predict_step")
Rewrap = Callable[[torch.nn.Module, Mapping[str, Any] | None], Any]


def _without_a_frame(attribute: str) -> Callable[[F], F]:
    """Decorator for a method that only calls `attribute` of its object.

    The extension does so without a Python frame, which a debugger or profiler would see.
    """
    return lambda method: _NATIVE(method, None, None, None, attribute) if _NATIVE else method


class CompiledModule:
    """The first base of each compiled module's class; the module's own class is the second one.

    _capture_original: the original module.
    _capture_arguments: the arguments of `enable`; None if the module is disabled.
    _capture_rewrap: makes a compiled module from a copy of the original.
    _capture_region: where its calls run.
    _capture_call: `__call__` of the original in that region.
    _capture_as_a_block: calls a function as in a block of the region.
    """

    __slots__ = ()
    _capture_original: torch.nn.Module
    _capture_arguments: Mapping[str, Any] | None
    _capture_rewrap: Rewrap
    _capture_region: Region
    _capture_call: Any
    _capture_as_a_block: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Does nothing. A module's class may register its subclasses, and must not register ours."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """`type(compiled)(...)` of the program gives a module of the module's own class, not compiled."""
        (_, own) = cls.__bases__
        return own(*args, **kwargs)

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
    object.__setattr__(new, "_capture_region", region)
    object.__setattr__(new, "_capture_as_a_block", region.around_calls())
    object.__setattr__(new, "_capture_call", _around(region, module, "__call__", arguments))
    for name in _relayed_names(type(module)):
        object.__setattr__(new, _slot(name), _around(region, module, name, arguments))
    return new


def _around(region: Region, module: torch.nn.Module, method: str, arguments: Mapping[str, Any] | None) -> Any:
    inside = region.around_method(module, method)
    if arguments is None:
        marks.mark_disabled(inside)
    elif isinstance(inside, _NATIVE):
        inside.when_unused = functools.partial(_tell_unused, type(module).__qualname__, method)
    return inside


def _tell_unused(name: str, method: str) -> None:
    call = "" if method == "__call__" else f".{method}"
    text = f"a captured {name}{call} has run three times, no part of it as a graph: it is as slow as before. "
    warn_once(None, f"unused {name}{call}", f"{text}capture.explain(module{call})(*args) tells why")


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
    relayed = _relayed_names(cls)
    namespace = {
        "__slots__": (*CompiledModule.__annotations__, *map(_slot, relayed)),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        **{name: _as_a_block(cls, name) for name in _names_of_the_program(cls)},
        **{name: _relay(cls, name) for name in relayed},
    }
    if _is_method(cls, "configure_optimizers"):
        namespace["configure_optimizers"] = _configure_optimizers(cls)
    try:
        return type(cls)(cls.__name__, (CompiledModule, cls), namespace)
    except TypeError as error:
        raise UsageError(
            f"{cls.__qualname__} can't be wrapped, its class allows no subclass: {error}"
        ) from error


def _is_method(cls: Any, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name, None), types.FunctionType)


def _relayed_names(cls: Any) -> tuple[str, ...]:
    return ("forward", *(name for name in STEPS if _is_method(cls, name)))


def _names_of_the_program(cls: type) -> Iterator[str]:
    """The public methods of the module that its classes in the program define, decorated or not."""
    for base in cls.__mro__:
        for name, found in vars(base).items():
            if isinstance(found, types.FunctionType) and not name.startswith("_"):
                code = getattr(inspect.unwrap(found), "__code__", None)
                if code is not None and frame_filter.origin_of(code.co_filename) == "program":
                    yield name


def _slot(name: str) -> str:
    return f"_capture_{name}"


def _relay(cls: Any, name: str) -> Any:
    """A method with the signature of the module's own: some tools read the signature."""
    slot = _slot(name)

    @_without_a_frame(slot)
    @functools.wraps(getattr(cls, name))
    def relay(self: CompiledModule, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, slot)(*args, **kwargs)

    return relay


def _as_a_block(cls: Any, name: str) -> Any:
    """A method that is no part of a call of the module."""

    @functools.wraps(getattr(cls, name))
    def method_as_a_block(self: CompiledModule, *args: Any, **kwargs: Any) -> Any:
        method = getattr(super(type(self), self), name)
        if switch.native_callback()[0] is not None:
            return method(*args, **kwargs)  # a block is open already
        return self._capture_as_a_block(method, *args, **kwargs)

    return method_as_a_block


def _configure_optimizers(cls: Any) -> Any:
    """The module's own method. The steps of the optimizers that it makes are captured where that pays."""
    configure = cls.configure_optimizers

    @functools.wraps(configure)
    def configure_optimizers(self: CompiledModule, *args: Any, **kwargs: Any) -> Any:
        made = configure(self, *args, **kwargs)
        if self._capture_arguments is not None:
            capture_steps(self._capture_region, made)
        return made

    return configure_optimizers


#: the code of all relays
RELAY = _relay(torch.nn.Module, "forward").__code__


def relayed_name(function: types.FunctionType) -> str:
    """The method that a relay, or one that runs as a block, stands for. Its own name may be another one."""
    (cell,) = function.__closure__ or ()
    return str(cell.cell_contents).removeprefix(_slot(""))


#: the code of all methods that run as a block
AS_A_BLOCK = _as_a_block(torch.nn.Module, "forward").__code__
