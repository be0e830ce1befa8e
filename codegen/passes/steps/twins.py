"""Kernels of a part of the graph, repeated for its twins on other buffers.

In:  the kernels of the first parts, with what decides their place (`PlacedKernel`).
Out: the same for each twin.

    k0: s0 = g0 * g0 + s0    ->    k0, and k1: s1 = g1 * g1 + s1

A kernel is repeated if its part shares no memory with others that one of them writes. Otherwise the
graph is lowered anew, without twins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from torch import fx

from codegen.kernel.program import KernelStep, Origin
from codegen.lower.alike_parts import NotAlike, Part
from codegen.lower.graph import Lowering
from codegen.passes.group.group import Group
from codegen.passes.group.twins import inputs_of_part
from codegen.passes.steps.calls import step_reads, step_writes
from codegen.passes.steps.order import PlacedKernel

OriginOf = Callable[[Group, Mapping[fx.Node, fx.Node]], Origin]


def repeat_parts(
    lowering: Lowering, groups: Sequence[Group], placed: list[PlacedKernel], origin_of: OriginOf
) -> dict[int, list[int]]:
    """Add the kernels of the twins. By the position of a kernel: those of its twins."""
    made: dict[int, list[int]] = {}
    firsts = list(placed)
    for number, part in enumerate(lowering.alike.parts):
        own = [place for place, group in enumerate(groups) if group.part == number]
        temporaries = _temporaries(lowering, part, own, groups, firsts)
        for twin in part.twins:
            nodes = dict(zip(part.nodes, twin, strict=True))
            names = _names(lowering, nodes, temporaries)
            places = {place: len(placed) + i for i, place in enumerate(own)}
            for place, other in places.items():
                origin = origin_of(groups[place], nodes)
                placed.append(_repeated(firsts[place], f"k{other}", names, places, origin))
                made.setdefault(place, []).append(other)
    return made


def _temporaries(
    lowering: Lowering, part: Part, own: list[int], groups: Sequence[Group], kernels: Sequence[PlacedKernel]
) -> set[str]:
    """The buffers that the kernels of the part write for each other."""
    inputs = set(inputs_of_part(part))
    written = {name for place in own for name in kernels[place].step.written()}
    elsewhere = {name for step in lowering.steps for name in (*step_reads(step), *step_writes(step))}
    for place in set(range(len(kernels))) - set(own):
        elsewhere |= {*kernels[place].step.buffers, *kernels[place].reads}
    is_alone = elsewhere.isdisjoint(inputs | written)
    is_whole = all(root.part == group.part for group in groups for root in group.members)
    is_closed = all(kernels[place].step.open is None for place in own)
    if not (is_alone and is_whole and is_closed):
        raise NotAlike(f"the kernels of {part.nodes[-1].name} share memory with others")
    return written - inputs


def _names(lowering: Lowering, nodes: Mapping[fx.Node, fx.Node], temporaries: set[str]) -> dict[str, str]:
    """By buffer of the first part: that of the twin."""
    names = {node.name: twin.name for node, twin in nodes.items() if node.op == "placeholder"}
    for name in sorted(temporaries):
        names[name] = lowering.unique(name)
        lowering.program.buffers[names[name]] = replace(lowering.program.buffers[name], name=names[name])
    return names


def _repeated(
    kernel: PlacedKernel, title: str, names: Mapping[str, str], places: Mapping[int, int], origin: Origin
) -> PlacedKernel:
    step = kernel.step
    buffers = tuple(names.get(name, name) for name in step.buffers)
    return PlacedKernel(
        KernelStep(replace(step.kernel, name=title), buffers, step.sizes, origin=origin),
        {names.get(name, name) for name in kernel.reads},
        {places.get(maker, maker) for maker in kernel.makers},
    )
