"""Weak references.

In:  an existing weak reference, or `weakref.ref(x)` in the frame.
Out: a variable. A call of it gives the object, or None.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import LazyVariable, Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.rules import rule
from capture.variables.core.wrap import guard_type, wraps
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable
from guards.sources import ConstantSource, LocalSource, WeakrefSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source


class WeakReferenceVariable(Variable):
    mutable = True  # compared by identity

    def __init__(self, reference: weakref.ref[Any], source: Source) -> None:
        super().__init__(source)
        self.reference = reference

    def python_type(self) -> type:
        return weakref.ref

    def real_value(self) -> Any:
        return self.reference

    def truth(self, tx: Interpreter) -> bool:
        return True

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        target = self.reference()
        assert self.source is not None
        passed = isinstance(self.source.root, LocalSource)
        # Each call of the frame may pass another dead reference.
        if args or kwargs or (target is None and passed):
            raise GraphBreak("call", value=self)
        if target is None:  # it stays dead
            tx.output.guarding.identity(self, self.reference)
            return ConstantVariable(None)
        if may_have_ended(tx, target):
            raise GraphBreak("call", value=self)  # after the break, Python knows it
        if isinstance(target, dict):  # it may be the dict of the hooks that a handle belongs to
            tx.output.side_effects.check_hooks_known()
        return tx.wrap(target, WeakrefSource(self.source))


def may_have_ended(tx: Interpreter, target: Any) -> bool:
    """Whether the frame may have dropped the last reference to an existing object.

    Such an object lives on, because its end is delayed to the next break. The frame drops a reference when a
    local no longer holds the object, or when it writes to a place that held some object.
    """
    *_, root = frames = list(tx.chain())
    held = [
        value
        for frame in frames
        for value in (*frame.locals.values(), *(cell.contents for cell in frame.cells.values()))
    ]
    if any(_is_object(tx, value, target) for value in held):
        return False
    if id(target) in root.entry_values:
        return True
    return not isinstance(target, dict) and tx.output.side_effects.may_release(target)


def _is_object(tx: Interpreter, variable: Variable | None, target: Any) -> bool:
    if isinstance(variable, LazyVariable):
        return variable.value is target
    return variable is not None and tx.output.objects.resolve(variable) is tx.output.objects.known(target)


class NewWeakReference(Variable):
    """`weakref.ref(x)`, made by the frame.

    A call is captured while a local of the captured frames holds `x`, because `x` is alive then.
    """

    identity_known = False
    never_none = True

    def __init__(self, tx: Interpreter, target: Variable) -> None:
        super().__init__(None)
        self.target = target
        self.born = tx.output.root_step

    def python_type(self) -> type:
        return weakref.ref

    def describe(self) -> str:
        return f"weak reference to {self.target.describe()}"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        locals_of_frames = (frame.locals.values() for frame in tx.chain())
        held = any(
            tx.output.objects.resolve(value) is self.target for values in locals_of_frames for value in values
        )
        if args or kwargs or not held:
            signal = GraphBreak("call", value=self)
            signal.born = self.born
            raise signal
        return self.target

    def reconstruct(self, code: PythonCode) -> None:
        """Makes a reference to an existing object. An object of the frame may end at another moment here."""
        if self.target.source is None:
            super().reconstruct(code)
        code.call_object(weakref.ref, [self.target])

    def children(self) -> list[Variable]:
        return [self.target]


@rule(weakref.ref)
def _weak_reference(tx: Interpreter, target: Variable, *callback: Variable) -> Variable:
    target = tx.output.objects.resolve(realize(target))
    referable = isinstance(target, (TensorVariable, ObjectVariable))
    if callback or not referable or target.python_type().__weakrefoffset__ == 0:
        raise _call_at_the_end("ReferenceType", target, callback)
    return NewWeakReference(tx, target)


@rule(weakref.finalize)
def _finalize(tx: Interpreter, target: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    raise _call_at_the_end("finalize", target, args)


@rule(weakref.proxy)
def _proxy(tx: Interpreter, target: Variable, *callback: Variable) -> Variable:
    raise _call_at_the_end("proxy", target, callback)


def _call_at_the_end(name: str, target: Variable, callbacks: tuple[Variable, ...]) -> GraphBreak:
    """Python calls the callback when the last reference goes: at once, if the frame has made the object."""
    signal = GraphBreak("call", value=f"class {name}")
    signal.skips_frame = bool(callbacks) and target.source is None
    return signal


@wraps(weakref.ProxyType, weakref.CallableProxyType)
def wrap_proxy(output: Output, value: Any, source: Source | None) -> Variable:
    """An opaque variable. Its class is not read, because a proxy answers for an object that may be gone."""
    guard_type(output, value, source)
    return OpaqueVariable(value, source or ConstantSource(value), "unknown_type", value="a weak proxy")


@wraps(weakref.ref)
def wrap_weak_reference(output: Output, value: weakref.ref[Any], source: Source | None) -> Variable:
    guard_type(output, value, source)
    return WeakReferenceVariable(value, source or ConstantSource(value))
