"""Instances of nn.Module.

In:  attributes and calls of a module in the frame.
Out: an ObjectVariable that also looks into `_parameters`, `_buffers` and `_modules`. A call goes to
     `forward`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.mapping import DictVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.class_lookup import plain_setattr
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.rules import rule
from capture.variables.core.wrap import wrap
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.tensors.tensor_attributes import MARKS, has_mark
from capture.variables.torch import module_hooks, module_polyfills
from capture.variables.torch.lazy_module import check_initialized, note_use
from guards.kinds.containers import DictContainsGuard, LengthGuard
from guards.lookup import instance_dict
from guards.sources import AttrSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

REGISTRIES = ("_parameters", "_buffers", "_modules")
INSTANCE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)

# torch's own methods. A program may replace them.
MODULE_CALL = torch.nn.Module.__call__
MODULE_CALL_IMPL = torch.nn.Module._call_impl
MODULE_GETATTR = torch.nn.Module.__getattr__
MODULE_SETATTR = torch.nn.Module.__setattr__


class ModuleVariable(ObjectVariable):
    def describe(self) -> str:
        return f"module {self.cls.__name__}" + (f" {self.source.text}" if self.source else "")

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        note_use(tx, self.value, name)
        if name.endswith("_hooks"):
            tx.output.side_effects.check_hooks_known()
        return super().get_attr(tx, name)

    def note_class_use(self, tx: Interpreter) -> None:
        note_use(tx, self.value)

    def registered(self, tx: Interpreter, name: str) -> Variable | None:
        """The attribute that `nn.Module.__getattr__` finds. None if no registry has it."""
        namespace = instance_dict(self.value) if self.value is not None else None
        for registry in REGISTRIES:
            replaced = self.replaced_dict(registry)
            if replaced is not None:
                found = replaced.find(tx, ConstantVariable(name))
                if found is not None:
                    return found
                continue
            held = namespace.get(registry) if namespace is not None else None
            changed = tx.output.objects.changed_dict(held)
            if changed is not None:
                found = changed.find(tx, ConstantVariable(name))
                if found is not None:
                    return found
            elif held is not None and name in held:
                pending = tx.output.objects.pending_item(held, name)
                if pending is not None:
                    return pending
                return wrap(tx.output, held[name], AttrSource(self.source, name) if self.source else None)
        for registry in REGISTRIES if self.source is not None else ():
            held = namespace.get(registry) if namespace is not None else None
            kept = held is not None and registry not in self.attributes
            if kept and tx.output.objects.changed_dict(held) is None:
                assert self.source is not None
                tx.output.guards.add(DictContainsGuard.of(AttrSource(self.source, registry), name, False))
        return None

    def has_registered(self, tx: Interpreter, name: str) -> bool:
        namespace = (instance_dict(self.value) if self.value is not None else None) or {}
        for registry in REGISTRIES:
            replaced = self.replaced_dict(registry)
            if replaced is not None:
                if replaced.find(tx, ConstantVariable(name)) is not None:
                    return True
                continue
            changed = tx.output.objects.changed_dict(namespace.get(registry))
            if name in (changed.entries if changed is not None else namespace.get(registry) or ()):
                return True
        return False

    def replaced_dict(self, name: str) -> Any:
        """The dict that the frame has stored in this attribute, as `nn.Module.__init__` does. None: it has
        not.
        """
        stored = self.attributes.get(name)
        if stored is None:
            return None
        stored = realize(stored)
        if not isinstance(stored, DictVariable):
            raise GraphBreak("property", name=name, value=self)
        return stored

    def fallback_get_attr(self, tx: Interpreter, name: str) -> Variable:
        if self.class_entry("__getattr__") is not MODULE_GETATTR:
            return super().fallback_get_attr(tx, name)
        self.class_entry(name)
        return module_get_attribute(tx, self, ConstantVariable(name))

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        setter = self.class_entry("__setattr__")
        if setter is MODULE_SETATTR:
            module_set_attribute(tx, self, ConstantVariable(name), value)
        elif setter in plain_setattr():
            self.generic_set_attr(tx, name, value)
        else:
            super().set_attr(tx, name, value)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        as_written = (
            self.class_entry("__call__") is MODULE_CALL and self.class_entry("_call_impl") is MODULE_CALL_IMPL
        )
        if not as_written or self.value is None:
            return super().call(tx, args, kwargs)
        check_initialized(tx, self.value, args, kwargs)
        own = self.own_call(tx)
        if own is not None:
            return own.call(tx, args, kwargs)
        if self.has_hooks(tx):
            called = module_hooks.call_with_hooks(tx, self, args, kwargs)
            if called is not None:
                return called
            return self.get_attr(tx, "_call_impl").call(tx, args, kwargs)
        forward = self.get_attr(tx, "forward")
        before, tx.calls_module = tx.calls_module, True
        try:
            return forward.call(tx, args, kwargs)
        finally:
            tx.calls_module = before

    def own_call(self, tx: Interpreter) -> Variable | None:
        """What torch's `__call__` finds on the instance itself, in place of the class's `_call_impl`."""
        namespace = instance_dict(self.value) or {}
        for name in ("_compiled_call_impl", "_call_impl"):
            if name not in namespace and name not in self.attributes:
                tx.output.guarding.no_attribute(self, name)
                continue
            found = self.get_attr(tx, name)
            if not found.is_exactly(None):
                return found
        return None

    def has_hooks(self, tx: Interpreter) -> bool:
        """Whether the module has hooks, or all modules have. Guards check the answer."""
        namespace = instance_dict(self.value) or {}
        found = False
        for name in INSTANCE_HOOKS:
            hooks = namespace.get(name)
            replaced = self.replaced_dict(name)
            if replaced is not None:
                replaced.guard_keys(tx.output)
                found = found or bool(replaced.entries)
                continue
            changed = tx.output.objects.changed_dict(hooks)
            if changed is not None:
                hooks = changed.entries
            elif hooks is not None and self.source is not None:
                tx.output.guards.add(LengthGuard.of(AttrSource(self.source, name), hooks))
            found = found or bool(hooks)
        for name in GLOBAL_HOOKS:
            hooks = getattr(torch.nn.modules.module, name)
            tx.output.guarding.global_hooks(name, hooks)
            found = found or bool(hooks)
        if found:
            tx.output.side_effects.check_hooks_known()
        return found


def module_get_attribute(tx: Interpreter, owner: Any, name: Variable) -> Variable:
    """`nn.Module.__getattr__(owner, name)`, which an override calls."""
    key = name.as_constant()
    found = owner.registered(tx, key)
    if found is None:
        raise raise_new(AttributeError, f"'{owner.cls.__name__}' object has no attribute '{key}'")
    return found


def module_set_attribute(tx: Interpreter, owner: Any, name: Variable, value: Variable) -> Variable:
    """`nn.Module.__setattr__(owner, name, value)`. torch's code is inlined if it changes a registry."""
    value = realize(value)
    registered = issubclass(value.python_type(), (torch.nn.Module, torch.nn.Parameter, torch.nn.Buffer)) or (
        isinstance(value, TensorVariable) and any(has_mark(tx, value, kind) for kind in MARKS)
    )
    if not registered and not owner.has_registered(tx, name.as_constant()):
        owner.generic_set_attr(tx, name.as_constant(), value)
        return ConstantVariable(None)
    setter = tx.wrap_function(torch.nn.Module.__setattr__)
    return tx.inline(setter, [owner, name, value], {})


MODULE_METHODS = {
    MODULE_GETATTR: module_get_attribute,
    MODULE_SETATTR: module_set_attribute,
}


@rule(module_polyfills.hooks_after)
def _hooks_after(tx: Interpreter, module: Variable) -> Variable:
    hooks = module_hooks.hooks_after(tx, module) if isinstance(module, ModuleVariable) else None
    return hooks if hooks is not None else tx.wrap_function(module_polyfills.by_id).call(tx, [module], {})
