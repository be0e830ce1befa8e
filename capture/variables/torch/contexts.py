"""torch's own context managers.

In:  `__enter__` and `__exit__` of autocast, inference mode, DisableTorchFunctionSubclass.
Out: a change of the thread's mode for the rest of the translation, one node in the graph for each enter and
     exit, and a record for the code after the graph.

    with torch.autocast("cpu"): y = x @ x   ->   a = _enter_autocast("cpu", ...); y = x @ x; _exit_autocast(a)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import grad_mode

from capture.process.process_flags import set_deterministic
from capture.report.break_reasons import GraphBreak
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core.base import Variable
from capture.variables.core.constant import FALSE, ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.rules import BY_CODE, rule

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.callables.function import UserFunctionVariable
    from capture.variables.core.protocols import Interpreter

NONE = ConstantVariable(None)


# --- managers written in C --------------------------------------------------------------------------------


class NativeContextVariable(Variable):
    """A manager that the frame makes. The translation has entered `real`, a manager of the same kind."""

    mutable = True

    def __init__(self, cls: Any, args: list[Any]) -> None:
        super().__init__(None)
        self.cls = cls
        self.args = args
        self.real: Any = None

    def python_type(self) -> type:
        return self.cls

    def truth(self, tx: Interpreter) -> bool:
        return True

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "__enter__" and not args:
            return self.enter(tx)
        if name == "__exit__":
            return self.leave(tx)
        raise GraphBreak("method", name=name, value=self)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if not hasattr(self.cls, name):
            raise raise_new(AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        return ValueMethod(self, name)

    def enter(self, tx: Interpreter) -> Variable:
        self.real = self.cls(*self.args)
        self.real.__enter__()
        tx.output.modes.enter_context(self.real)
        tx.output.modes.changes.append((self.cls.__enter__, [self]))
        return NONE

    def leave(self, tx: Interpreter) -> Variable:
        tx.output.modes.leave_context(self.real)
        tx.output.modes.changes.append((self.cls.__exit__, [self, NONE, NONE, NONE]))
        return NONE

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(self.cls, [ConstantVariable(value) for value in self.args])


class InferenceContextVariable(NativeContextVariable):
    """`torch._C._InferenceMode(mode)`: making one enters the mode."""

    def __init__(self, tx: Interpreter, mode: bool) -> None:
        super().__init__(torch._C._InferenceMode, [mode])
        self.is_left = False
        tx.output.modes.open_inference.append(
            tx.output.modes.state_node(grad_mode._enter_inference_mode, (mode,))
        )
        super().enter(tx)

    def enter(self, tx: Interpreter) -> Variable:
        return NONE

    def leave(self, tx: Interpreter) -> Variable:
        result = super().leave(tx)
        tx.output.modes.state_node(grad_mode._exit_inference_mode, (tx.output.modes.open_inference.pop(),))
        self.is_left = True
        return result

    def reconstruct(self, code: PythonCode) -> None:
        """Makes the manager where the frame did, among the other changes: its end brings back what was there.

        A manager of Python may still hold the one that it left. That one is made without a change.
        """
        if self.is_left:
            code.call_object(left_inference_mode, [ConstantVariable(value) for value in self.args])
        else:
            code.change_modes(until=self)
            super().reconstruct(code)


def left_inference_mode(mode: bool) -> torch._C._InferenceMode:
    context = torch._C._InferenceMode(mode)
    context.__exit__(None, None, None)
    return context


@rule(torch._C._InferenceMode)
def _inference_mode(tx: Interpreter, mode: Variable) -> Variable:
    return InferenceContextVariable(tx, mode.as_constant())


@rule(torch._C.DisableTorchFunctionSubclass)
def _without_subclasses(tx: Interpreter) -> Variable:
    return NativeContextVariable(torch._C.DisableTorchFunctionSubclass, [])


@rule(torch._C.DisableTorchFunction)
def _without_torch_function(tx: Interpreter) -> Variable:
    return NativeContextVariable(torch._C.DisableTorchFunction, [])


@rule(torch.use_deterministic_algorithms)
def _deterministic(tx: Interpreter, mode: Variable, *, warn_only: Variable = FALSE) -> Variable:
    return tx.output.modes.change(tx, set_deterministic, [mode.as_constant(), warn_only.as_constant()])


# --- autocast, which is written in Python: one node replaces all changes of its methods -------------------


def enter_autocast(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    manager = args[0]
    fields = ("device", "fast_dtype", "_enabled", "_cache_enabled")
    values = tuple(manager.get_attr(tx, name).as_constant() for name in fields)
    result = _inlined_without_nodes(tx, function, args)
    node = tx.output.modes.state_node(torch.amp.autocast_mode._enter_autocast, values)
    tx.output.modes.open_autocasts.append((manager, node))
    return result


def leave_autocast(
    tx: Interpreter, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    held = tx.output.modes.open_autocasts
    changes = tx.output.modes.changes
    first = len(changes)
    if held and held[-1][0] is args[0]:
        result = _inlined_without_nodes(tx, function, args)
        tx.output.modes.state_node(torch.amp.autocast_mode._exit_autocast, (held.pop()[1],))
    else:  # entered before this graph, which only makes the changes that may happen twice
        result = _inlined(tx, function, args)
        for node in [n for n in tx.output.graph.nodes if n.target in COUNTED]:
            tx.output.graph.erase_node(node)
    changes[first:] = [(leave_nesting, []), *(c for c in changes[first:] if c[0] not in COUNTED)]
    return result


def leave_nesting() -> None:
    """Clears the cache of casts at the end of the outermost region, which only the running code knows."""
    if torch.autocast_decrement_nesting() == 0:
        torch.clear_autocast_cache()


#: Changes that only the code after the graph does, because they must happen once.
COUNTED = (torch.autocast_increment_nesting, torch.autocast_decrement_nesting, torch.clear_autocast_cache)


def _inlined(tx: Interpreter, function: UserFunctionVariable, args: list[Variable]) -> Variable:
    return tx.inline(function, args, {})


def _inlined_without_nodes(tx: Interpreter, function: UserFunctionVariable, args: list[Variable]) -> Variable:
    last = next(reversed(tx.output.graph.nodes), None)
    result = _inlined(tx, function, args)
    tx.output.drop_nodes_after(last)
    return result


BY_CODE[torch.autocast.__enter__.__code__] = enter_autocast
BY_CODE[torch.autocast.__exit__.__code__] = leave_autocast
