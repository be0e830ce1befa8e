"""Calls of custom autograd functions (`torch.autograd.Function`).

In:  `Function.apply(...)` met in a frame.
Out: one node that calls `apply`, where autograd records it; its forward inlined, where nothing needs gradients.

    y = Scaled.apply(x, 3.0)     ->     scaled_apply = Scaled_apply(l_x_, 3.0)

The node runs the user's Python, which a compiler sees once only, so forward and backward are interpreted here on trial: that finds the guards that they
need, and breaks the graph where one of them does what does not fit in a graph: side effects, writes to its arguments, tensors from elsewhere.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import Function

from capture.break_reasons import GraphBreak
from capture.polyfills import autograd_function as written
from capture.rules import rule
from capture.variables.base import ObservedException, Variable
from capture.variables.constant import ConstantVariable
from capture.variables.sequence import TupleVariable
from capture.variables.tensor import TensorVariable
from capture.variables.type_object import ClassVariable

if TYPE_CHECKING:
    from capture.translator import Translator

_calls: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()


def apply_of(cls: type[Function]) -> Any:
    """`cls.apply` as a plain function, one for each class: the target of its nodes."""
    known = _calls.get(cls)
    if known is None:
        held = weakref.ref(cls)  # the value of a weak dictionary must not keep its key alive

        def call(*args: Any) -> Any:
            alive = held()
            assert alive is not None, "the class lives as long as the graph's guards"
            return alive.apply(*args)

        call.__name__ = call.__qualname__ = f"{cls.__name__}_apply"
        call.__module__ = cls.__module__
        known = _calls[cls] = call
    return known


@rule(Function.apply.__func__)  # type: ignore[attr-defined]
def _apply(tx: Translator, function: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    assert isinstance(function, ClassVariable)
    cls = function.cls
    if kwargs or tx.output.function_modes or issubclass(cls, torch.autograd.function.InplaceFunction):
        raise GraphBreak("method", name="apply", value=function)
    tensors = [a for a in args if isinstance(a, TensorVariable)]
    needs = [isinstance(a, TensorVariable) and a.fake.requires_grad for a in args]
    has_setup = cls.setup_context is not Function.setup_context  # type: ignore[attr-defined]
    arguments = [
        function,
        ConstantVariable(has_setup),
        TupleVariable([ConstantVariable(n) for n in needs]),
        TupleVariable(list(args)),
    ]
    if torch.is_grad_enabled() and any(needs):
        _on_trial(tx, function, arguments, tensors)
        return tx.output.call_function(tx, apply_of(cls), list(args), {})  # type: ignore[arg-type]
    _, result = _interpret(tx, written.forward, arguments).unpack(tx)
    if any(r is a for r in _parts(tx, result) for a in tensors):
        raise GraphBreak("aliasing", what=f"{function.describe()} returns its own argument")
    return result


def _parts(tx: Translator, result: Variable) -> list[Variable]:
    return result.unpack(tx) if isinstance(result, TupleVariable) else [result]


def _interpret(tx: Translator, polyfill: Any, arguments: list[Variable]) -> Variable:
    """What raises may do so for lack of a method of the real context, so it is left to Python."""
    try:
        return tx.wrap_function(polyfill).call(tx, arguments, {})
    except ObservedException as raised:
        raise GraphBreak("raised", error=raised.variable.describe()) from None


def _on_trial(
    tx: Translator, function: Variable, arguments: list[Variable], tensors: list[TensorVariable]
) -> None:
    """Interpret both directions for their guards; the nodes that they make are dropped again."""
    output = tx.output
    last = next(reversed(output.graph.nodes), None)
    inputs, effects, states = len(output.inputs), output.side_effects.count(), len(output.state_changes)
    before = [(t.node, t.fake._version) for t in tensors]
    _interpret(tx, written.forward_and_backward, arguments)
    if [(t.node, t.fake._version) for t in tensors] != before:
        raise GraphBreak("mutation", value=f"an argument of {function.describe()}")
    if len(output.inputs) != inputs or output.side_effects.count() != effects:
        raise GraphBreak("mutation", value=f"{function.describe()} (reading or writing what is no argument)")
    output.drop_nodes_after(last)
    del output.state_changes[states:]
