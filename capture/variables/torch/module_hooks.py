"""Forward hooks of nn.Modules, found by their places.

A module keeps its hooks under ids, and these ids differ from module to module.

In:  a module with hooks, from `ModuleVariable.call`.
Out: a call with guards on the hooks and their order, not on their ids. None if ids matter or if the frame
     changed hooks. In that case `_call_impl` is interpreted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.nn.modules import module as nn_module

from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.torch import module_polyfills
from guards.kinds.containers import LengthGuard
from guards.lookup import dict_items, instance_dict
from guards.sources import AttrSource, ConstantSource, DictKeySource, DictValueSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter
    from capture.variables.torch.nn_module import ModuleVariable
    from guards.sources import Source

#: Dicts of a module. If one is not empty, `_call_impl` does more than call the hooks in order.
BY_ID = ("_forward_hooks_always_called", "_backward_hooks", "_backward_pre_hooks")
AFTER = ("_forward_hooks", "_forward_hooks_with_kwargs")
GLOBAL = (
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
)


def call_with_hooks(
    tx: Interpreter, module: ModuleVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable | None:
    """The call with its hooks. `ModuleVariable.has_hooks` guards the numbers of hooks already."""
    if not all(_is_empty(tx, module, name) for name in BY_ID):
        return None
    if not all(_globally_empty(tx, name) for name in GLOBAL):
        return None
    before = _in_order(tx, module, "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs")
    if before is None or _in_order(tx, module, *AFTER) is None:
        return None
    arguments = [module, before, TupleVariable(args), DictVariable.from_strings(kwargs)]
    return tx.wrap_function(module_polyfills.call_with_hooks).call(tx, arguments, {})


def hooks_after(tx: Interpreter, module: ModuleVariable) -> Variable | None:
    """A tuple of the hooks to call after `forward`. None if they are not known."""
    known = _globally_empty(tx, "_global_forward_hooks")
    return _in_order(tx, module, *AFTER) if known else None


def _held(module: ModuleVariable, name: str) -> Any:
    """The dict from before the frame. None if the frame has replaced it."""
    return None if name in module.attributes else (instance_dict(module.value) or {}).get(name)


def _unchanged(tx: Interpreter, held: Any, source: Source | None) -> bool:
    """Whether the dict is the same as at entry. Its length is guarded."""
    if not isinstance(held, dict) or tx.output.objects.changed_dict(held) is not None:
        return False
    if source is not None:
        tx.output.guards.add(LengthGuard.of(source, held))
    return True


def _is_empty(tx: Interpreter, module: ModuleVariable, name: str) -> bool:
    held = _held(module, name)
    return _unchanged(tx, held, _source_of(module, name)) and not held


def _globally_empty(tx: Interpreter, name: str) -> bool:
    held = getattr(nn_module, name)
    return _unchanged(tx, held, ConstantSource(held, name)) and not held


def _source_of(module: ModuleVariable, name: str) -> Source | None:
    return AttrSource(module.source, name) if module.source is not None else None


def _in_order(tx: Interpreter, module: ModuleVariable, name: str, name_of_marks: str) -> Variable | None:
    """A tuple of pairs: a hook, and whether it takes keywords.

    A second dict has the ids of the hooks with keywords, as the same objects.
    """
    held, marks = _held(module, name), _held(module, name_of_marks)
    source, source_of_marks = _source_of(module, name), _source_of(module, name_of_marks)
    if not _unchanged(tx, held, source) or not _unchanged(tx, marks, source_of_marks):
        return None
    places = {id(key): place for place, (key, _) in enumerate(dict_items(held))}
    marked = [places.get(id(key)) for key, _ in dict_items(marks)]
    if None in marked:
        return None
    if source is not None and source_of_marks is not None:
        for index, place in enumerate(marked):
            # Two places of a dict never hold equal ids. Each mark has its place, so no other hook is marked.
            key = DictKeySource(source, place)  # type: ignore[arg-type]
            tx.output.guarding.same_object(key, DictKeySource(source_of_marks, index))
    pairs: list[Variable] = []
    for place, (_, hook) in enumerate(dict_items(held)):
        found = tx.wrap(hook, DictValueSource(source, place) if source is not None else None)
        pairs.append(TupleVariable([found, ConstantVariable(place in marked)]))
    return TupleVariable(pairs)
