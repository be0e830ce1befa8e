"""Operations that the program handles itself, through `__torch_function__`.

Tensor subclasses, other objects and modes can define it.

In:  an operation as the program wrote it (a function of torch, an operator, an attribute of a tensor), and
     its arguments.
Out: the result of the handlers, which the interpreter runs. None if no handler overrides the operation.

    x.sin(), x of a class A    ->   A.__torch_function__(torch.Tensor.sin, (A,), (x,))

The function, types and arguments that a handler gets differ between operations. torch's C++ code decides
about them. So torch itself gives the answer: the operation is called on stand-ins, under a mode that notes
its arguments and stops there.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import (
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)
from torch.utils._device import DeviceContext, _device_constructors

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import SequenceVariable, SizeVariable, TupleVariable
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.constant import NONE, ConstantVariable
from capture.variables.core.overriding import DISABLED, HANDLER, concerns, overrides
from capture.variables.core.rules import rule
from capture.variables.numbers.symbolic import SymbolicVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.tensors.tensor_subclass import converted
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter


def call(
    tx: Interpreter, function: Callable[..., Any], args: list[Variable], kwargs: dict[str, Variable]
) -> Variable | None:
    """`function(*args, **kwargs)` by the handlers of its arguments.

    They are tried in order, until one handles the operation.
    """
    stand_ins = StandIns(tx)
    seen = _ask_torch(function, stand_ins, args, kwargs)
    if seen is None:
        return None
    composite = isinstance(function, types.FunctionType) and function is not handle_torch_function
    if composite and seen[0] is not function:  # it consists of operations: each of them is handled separately
        return tx.wrap_function(function).call(tx, args, kwargs)
    target = stand_ins.variable(seen[0])
    kinds = [stand_ins.real_class(kind) for kind in seen[1]]
    classes = TupleVariable([tx.wrap(kind, ConstantSource(kind)) for kind in kinds])
    rest = [stand_ins.variable(part) for part in seen[2:]]
    modes = tx.output.modes.function_modes
    if modes:
        mode = modes.pop()  # operations of the handler go to the mode around it
        try:
            result = mode.call_method(tx, HANDLER, [target, classes, *rest], {})
        finally:
            modes.append(mode)
        if not result.is_exactly(NotImplemented):
            return result
    for kind in kinds:
        handler = tx.wrap(kind, ConstantSource(kind)).get_attr(tx, HANDLER)
        result = handler.call(tx, [target, classes, *rest], {})
        if not result.is_exactly(NotImplemented):
            return result
    takers = [kind.__name__ for kind in kinds] or ["a tensor under a mode"]
    raise GraphBreak("subclass", value=" and ".join(takers))


# --- questions to torch -----------------------------------------------------------------------------------


class _Seen(BaseException):
    """The arguments of a handler: function, types, arguments and, if there are any, keyword arguments."""


class _Notes(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, *rest: Any) -> Any:
        raise _Seen(func, types, *rest)


def _ask_torch(
    function: Callable[..., Any], stand_ins: StandIns, args: list[Variable], kwargs: dict[str, Variable]
) -> tuple[Any, ...] | None:
    given = [stand_ins.of(a) for a in args]
    keywords = {name: stand_ins.of(value) for name, value in kwargs.items()}
    try:
        with _Notes():
            function(*given, **keywords)
    except _Seen as seen:
        return seen.args
    except Exception as error:
        text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise GraphBreak(
            "torch_op_failed", name=getattr(function, "__name__", repr(function)), error=text
        ) from error
    return None


class StandIns:
    """Objects that torch takes for the arguments, and the variables that belong to them."""

    def __init__(self, tx: Interpreter) -> None:
        self.tx = tx
        self._made: dict[int, Any] = {}
        self._variables: dict[int, tuple[Any, Variable]] = {}

    def of(self, variable: Variable) -> Any:
        if isinstance(variable, ConstantVariable):
            return variable.as_constant()
        known = self._made.get(id(variable))
        if known is None:
            known = self._made[id(variable)] = self._make(variable)
            self._variables[id(known)] = (known, variable)
        return known

    def _make(self, variable: Variable) -> Any:
        if isinstance(variable, TensorVariable):
            plain = torch.empty(0)
            return plain if variable.cls is torch.Tensor else plain.as_subclass(stand_in_class(variable.cls))
        if isinstance(variable, ObjectVariable) and overrides(variable.cls):
            return stand_in_class(variable.cls)()
        if isinstance(variable, SequenceVariable) and variable.python_type() in (list, tuple):
            return variable.python_type()(map(self.of, variable.items))
        if isinstance(variable, SizeVariable):
            return tuple(map(self.of, variable.items))
        if isinstance(variable, SymbolicVariable) and variable.python_type() in NUMBERS:
            return NUMBERS[variable.python_type()](variable.value.node.hint)  # nothing reads its value
        try:
            return variable.real_value()
        except NotConstant:
            return object()  # for functions that only pass the argument on

    def variable(self, made: Any) -> Variable:
        held = self._variables.get(id(made))
        if held is not None:
            return held[1]
        if type(made) in (tuple, list):
            items = [self.variable(item) for item in made]
            return TupleVariable(items) if type(made) is tuple else ListVariable(items)
        if type(made) is dict:
            return DictVariable.from_strings({name: self.variable(value) for name, value in made.items()})
        return self.tx.wrap(made, ConstantSource(made))

    def real_class(self, made: type) -> type:
        return vars(made).get("real_class", made)


class _Int(int):
    """A stand-in that its identity distinguishes."""


class _Float(float):
    """A stand-in that its identity distinguishes."""


NUMBERS: dict[type, type] = {int: _Int, float: _Float}

_classes: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


def stand_in_class(cls: type) -> type:
    """A class with stand-ins for the bases that override operations. It has nothing else."""
    known = _classes.get(cls)
    if known is not None:
        return known
    bases = tuple(
        base if base in (torch.Tensor, torch.nn.Parameter) else stand_in_class(base)
        for base in cls.__bases__
        if issubclass(base, torch.Tensor) or overrides(base)
    )
    namespace: dict[str, Any] = {HANDLER: classmethod(_never_called) if overrides(cls) else DISABLED}
    made = types.new_class(cls.__name__, bases or (object,), {}, functools.partial(_fill, namespace))
    made.real_class = cls  # type: ignore[attr-defined]
    _classes[cls] = made
    return made


def _fill(values: dict[str, Any], namespace: dict[str, Any]) -> None:
    namespace.update(values)


def _never_called(cls: type, *args: Any) -> Any:
    raise AssertionError(f"torch asked a stand-in of {cls.__name__} before the mode that notes its questions")


# --- the same questions, from the program -----------------------------------------------------------------


@rule(has_torch_function, has_torch_function_unary, has_torch_function_variadic)
def _has_torch_function(tx: Interpreter, *args: Variable) -> Variable:
    return ConstantVariable(concerns(tx.output, args, {}))


@rule(DeviceContext.__torch_function__)
def _on_device(
    tx: Interpreter,
    mode: Variable,
    function: Variable,
    kinds: Variable,
    args: Variable | None = None,
    kwargs: Variable | None = None,
) -> Variable:
    """Adds the default device to a call of a function that makes tensors."""
    given = args.unpack(tx) if args is not None else []
    keywords = _keywords(kwargs)
    unsaid = "device" not in keywords or keywords["device"].is_exactly(None)
    if unsaid and function.real_value() in _device_constructors():
        keywords["device"] = mode.get_attr(tx, "device")
        if keywords["device"].as_constant().type != "cpu":
            raise GraphBreak("unsupported_tensor", why=f"a tensor on {keywords['device'].as_constant()}")
    return function.call(tx, given, keywords)


@rule(torch.get_default_device)
def _default_device(tx: Interpreter) -> Variable:
    for mode in reversed(tx.output.modes.function_modes):
        if mode.python_type() is DeviceContext:
            return mode.get_attr(tx, "device")
    return ConstantVariable(torch.get_default_device())


@rule(torch._C._push_on_torch_function_stack)
def _push_mode(tx: Interpreter, mode: Variable) -> Variable:
    if not isinstance(mode, ObjectVariable) or not issubclass(mode.cls, TorchFunctionMode):
        raise GraphBreak("with_context", value=mode)
    tx.output.modes.function_modes.append(mode)
    return NONE


@rule(torch._C._pop_torch_function_stack)
def _pop_mode(tx: Interpreter) -> Variable:
    if not tx.output.modes.function_modes:
        raise GraphBreak("with_context", value="a mode that was never entered")
    return tx.output.modes.function_modes.pop()


@rule(torch._C._len_torch_function_stack)
def _mode_count(tx: Interpreter) -> Variable:
    return ConstantVariable(len(tx.output.modes.function_modes))


@rule(torch._C._get_function_stack_at)
def _mode_at(tx: Interpreter, index: Variable) -> Variable:
    return tx.output.modes.function_modes[index.as_constant()]


@rule(torch._C._is_torch_function_mode_enabled)
def _are_modes_enabled(tx: Interpreter) -> Variable:
    disabled = torch._C._is_torch_function_all_disabled()
    return ConstantVariable(bool(tx.output.modes.function_modes) and not disabled)


@rule(torch._C._is_torch_function_all_disabled)
def _is_all_disabled(tx: Interpreter) -> Variable:
    return ConstantVariable(torch._C._is_torch_function_all_disabled())


@rule(handle_torch_function)
def _handle_torch_function(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    result = call(tx, handle_torch_function, list(args), kwargs)
    if result is None:
        raise GraphBreak("call_skipped", name="handle_torch_function", why="nothing is overridden")
    return result


@rule(vars(torch.Tensor)[HANDLER].__func__)
def _default_handler(
    tx: Interpreter, cls: Variable, function: Variable, kinds: Variable, *rest: Variable
) -> Variable:
    """`torch.Tensor.__torch_function__`: the operation itself. Its results become tensors of the class."""
    if not all(issubclass(cls.real_value(), kind.real_value()) for kind in kinds.unpack(tx)):
        return ConstantVariable(NotImplemented)
    result = _disabled_handler(tx, function, kinds, *rest)
    if function.is_constant() and function.as_constant() in torch.overrides.get_default_nowrap_functions():
        return result
    return converted(tx, result, cls.real_value())


def _keywords(kwargs: Variable | None) -> dict[str, Variable]:
    if kwargs is None or kwargs.is_exactly(None):
        return {}
    return {key.as_constant(): value for key, value in kwargs.entries.values()}  # type: ignore[attr-defined]


@rule(DISABLED)
def _disabled_handler(
    tx: Interpreter,
    function: Variable,
    kinds: Variable,
    args: Variable | None = None,
    kwargs: Variable | None = None,
) -> Variable:
    given = args.unpack(tx) if args is not None else []
    keywords = _keywords(kwargs)
    with torch._C.DisableTorchFunctionSubclass():
        return function.call(tx, given, keywords)
