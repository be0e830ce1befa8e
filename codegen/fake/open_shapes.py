"""Our own shape rules on symbolic sizes.

In:  an operator and its arguments, fake tensors some of whose sizes are symbols.
Out: its results, where a rule of ours (`codegen.fake.shapes`, `codegen.fake.open_views`) has one answer for
     all sizes that the symbols may have; else NotImplemented.

    mm(x: [s0, 4], w: [4, 8])   ->   FakeTensor(size=(s0, 8)): 4 == 4 holds, whatever s0 is
    x[s0, 4] + y[s1, 4]         ->   NotImplemented: the rule asks whether s0 == s1

Most rules may ask nothing that needs a guard: torch's rules answer then, which know what to guard. They do
some hundred operations on symbols for each operator; a rule of ours does ten.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload

from codegen.fake import dispatch
from codegen.fake.fake import FakeMode, FakeTensor
from codegen.fake.known_values import tensors_in
from codegen.fake.open_views import VIEW_RULES, View
from codegen.fake.shapes.spec import Spec
from codegen.fake.shapes.table import SHAPE_RULES
from codegen.fake.size_env import NotKnown, SizeEnv

aten = dispatch.aten
#: operators whose rule asks no more than torch's
WITH_GUARDS = frozenset((aten.slice.Tensor, aten.select.int))


def run_on_all_sizes(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    rule = VIEW_RULES.get(func)
    if rule is None and func not in dispatch.RULES:
        rule = SHAPE_RULES.get(func)
    if rule is None or not are_plain(mode, args, kwargs):
        return NotImplemented
    env: SizeEnv = mode.shape_env  # type: ignore[assignment]
    if env.has_unbacked((args, kwargs)):
        return NotImplemented  # torch's rules know which answers are likely
    known = env.numbers.results(env._replacements_version_counter)
    key = (func, torch.get_default_dtype(), layouts_of(args), layouts_of(tuple(kwargs.items())))
    found = known.get(key)
    if found is None:
        found = in_facts(env, rule, args, kwargs)
        if found is NotImplemented and func in WITH_GUARDS:
            found = rule(args, kwargs)
        if found is NotImplemented:
            return NotImplemented
        if (
            next(tensors_in((found,)), None) is None
        ):  # an argument that was written to: the next call has others
            known[key] = found
    device = dispatch.common_device(mode, func, args, kwargs)
    if isinstance(found, (list, tuple)) and not isinstance(found, (Spec, View)):
        return type(found)(made(mode, one, args, device) for one in found)
    return made(mode, found, args, device)


def in_facts(env: SizeEnv, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the rule says, as far as it needs no guard."""
    env.asks_for_facts = True
    try:
        return rule(args, kwargs)
    except NotKnown:
        return NotImplemented
    finally:
        env.asks_for_facts = False


def layouts_of(value: Any) -> Any:
    """A key of all that a rule may look at. Equal layers have equal ones."""
    if isinstance(value, torch.Tensor):
        numbers = (*value.shape, *value.stride(), value.storage_offset())
        return (value.dtype, value.dim(), value.is_conj(), *map(node_of, numbers))
    if isinstance(value, (list, tuple)):
        return (type(value), *map(layouts_of, value))
    return type(value), node_of(value)


def node_of(value: Any) -> Any:
    return value.node if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value


def made(mode: FakeMode, found: Any, args: tuple[Any, ...], device: Any) -> Any:
    if type(found) is Spec:
        return mode.new(found, device)
    if type(found) is View:
        return mode.wrap(mode.run_meta(aten.as_strided.default, (args[0], *found), {}), device)
    return found


def are_plain(mode: FakeMode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the layouts of the tensors say all about them."""
    return kwargs.get("device", dispatch.CPU) in dispatch.ON_CPU and all(
        type(tensor) is FakeTensor and tensor.fake_mode is mode and not tensor.is_neg()
        for tensor in tensors_in((*args, *kwargs.values()))
    )
