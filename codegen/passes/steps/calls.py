"""What operator calls read and write, and which calls must keep their order.

In:  ExternStep and ViewStep.
Out: names of buffers. For a call with an effect (random numbers, writes, any operator outside of ATen): the
     call with an effect before it.

    draw -> n0; k0: n0 -> t; draw -> n1
    ->   the second draw needs the first, so the generator draws in eager's order
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from torch._ops import OpOverload

from codegen.kernel.foreign import is_foreign
from codegen.kernel.program import ExternStep, Ref, Step, ViewStep
from codegen.trace.draws import draws_numbers


def step_reads(step: ExternStep | ViewStep) -> list[str]:
    """The names of the buffers that a step reads."""
    return [step.base] if isinstance(step, ViewStep) else list(_refs((step.args, step.kwargs)))


def step_writes(step: ExternStep | ViewStep) -> list[str]:
    """The names of the buffers that a step makes or changes."""
    if isinstance(step, ViewStep):
        return [step.output]
    return [name for name in step.outputs if name is not None] + list(step.mutates)


def has_effect(step: Step) -> bool:
    """Whether the program can observe the order of such steps."""
    if not isinstance(step, ExternStep):
        return False
    if not isinstance(step.op, OpOverload):
        return True
    return bool(step.op._schema.is_mutable) or draws_numbers(step.op) or is_foreign(step.op)


def effects_before(steps: Sequence[Step]) -> dict[int, Step]:
    """By the id of each call with an effect: the previous call with an effect."""
    found = [step for step in steps if has_effect(step)]
    return {id(step): before for before, step in pairwise(found)}


def _refs(value: object) -> Iterable[str]:
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _refs(item)
    elif isinstance(value, dict):
        yield from _refs(list(value.values()))
