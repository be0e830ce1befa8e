"""An order of steps in which each step finds what it reads.

In:  operator calls and views in the order of the graph; kernels.
Out: one list. Kernels of one form are joined to tables. Writers come before readers. But a write to an input
     comes after everything that reads the input's old value, and a draw of random numbers after everything
     that may fail without them.

    [mm -> t0], [k0: t0 -> y], [k1: x -> t1], [mm(t1) -> t2]
    ->   mm, k1, mm, k0, in an order that respects t0 and t1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from capture_records import dataclass
from codegen.kernel.program import ExternStep, KernelStep, Step, ViewStep, root_memory
from codegen.lower.ordered_writes import NO_VERSIONS, MemoryVersion, Unordered
from codegen.passes.graph.failures import is_draw
from codegen.passes.steps.calls import effects_before, step_reads, step_writes
from codegen.passes.steps.tables import join_tables
from codegen.passes.steps.versions import (
    add_needs,
    check_order,
    contents_kept,
    inputs_of,
    memory_of_views,
    written_versions,
)


@dataclass(frozen=True, slots=True)
class FailingSteps:
    """The positions of the calls and kernels that may fail. They come before every write to an input, and
    before the draws whose numbers they do not need.
    """

    calls: list[int] = field(default_factory=list)
    kernels: list[int] = field(default_factory=list)


NOTHING_FAILS = FailingSteps()


@dataclass(frozen=True, slots=True)
class PlacedKernel:
    """A kernel with the facts that decide its place.

    reads:     the buffers that it needs the contents of (it may write to another place of the same buffer)
    makers:    the positions of the kernels that must run before it
    versions:  the versions of inputs' memory that it writes; the step uses the inputs' names for them
    """

    step: KernelStep
    reads: set[str]
    makers: set[int]
    versions: frozenset[str] = frozenset()


def order_steps(
    calls: list[ExternStep | ViewStep],
    kernels: list[PlacedKernel],
    inputs: set[str],
    failing: FailingSteps = NOTHING_FAILS,
    versions: Mapping[str, MemoryVersion] = NO_VERSIONS,
) -> list[Step]:
    """A topological order that keeps the given order where it can."""
    steps: list[Step] = [*calls, *(kernel.step for kernel in kernels)]
    reads = [set(step_reads(call)) for call in calls] + [kernel.reads for kernel in kernels]
    writes = [set(writes_of(call)) for call in calls]
    for kernel in kernels:
        memory = {versions[name].input for name in kernel.versions}
        writes.append((set(kernel.step.written()) - memory) | kernel.versions)
    kept = contents_kept(versions, writes)
    versions = written_versions(versions, kept)
    reads = [{kept.get(name, name) for name in read} for read in reads] if kept else reads
    views = memory_of_views(calls)
    needs = _needs(steps, reads, writes, inputs, views)
    for number, kernel in enumerate(kernels, len(calls)):
        needs[number] |= {len(calls) + maker for maker in kernel.makers}
    memory_of = views | kept
    add_needs(versions, needs, reads, writes, memory_of)
    may_fail = {*failing.calls, *(len(calls) + number for number in failing.kernels)}
    for number, step in enumerate(steps):
        if number not in may_fail and not inputs.isdisjoint(writes_of(step)):
            needs[number] |= may_fail
    try:
        _draw_late(steps, needs, may_fail)
        joined, joined_needs, members = join_tables(steps, needs, topological(needs))
        order = topological(joined_needs)
    except Circle as circle:
        if not versions:
            raise
        raise Unordered(inputs_of(versions), "the steps need each other in a circle") from circle
    check_order(versions, [members[number] for number in order], reads, writes, memory_of)
    return [joined[number] for number in order]


def _draw_late(steps: list[Step], needs: list[set[int]], may_fail: set[int]) -> None:
    draws = {n for n, step in enumerate(steps) if is_draw(step)}
    if not draws:
        return
    behind = set(draws)
    for number in topological(needs):
        if not behind.isdisjoint(needs[number]):
            behind.add(number)
    for number in draws:
        needs[number] |= may_fail - behind


class Circle(AssertionError):
    """Steps that depend on each other."""


def topological(needs: list[set[int]]) -> list[int]:
    """The positions, each after those that it needs, and otherwise in the given order. Raises Circle."""
    ordered: list[int] = []
    done: set[int] = set()
    for start in range(len(needs)):
        stack = [start]
        visiting: set[int] = set()
        while stack:
            number = stack[-1]
            pending = [need for need in needs[number] if need not in done]
            if number in done or not pending:
                stack.pop()
                if number not in done:
                    done.add(number)
                    ordered.append(number)
                continue
            if number in visiting:
                raise Circle(f"steps depend on each other in a circle: {stack}")
            visiting.add(number)
            stack.extend(reversed(pending))
    return ordered


def _needs(
    steps: list[Step],
    reads: list[set[str]],
    writes: list[set[str]],
    inputs: set[str],
    views: Mapping[str, str],
) -> list[set[int]]:
    produced: dict[str, list[int]] = {}
    for number, written in enumerate(writes):
        for name in written:
            if name not in inputs:
                produced.setdefault(name, []).append(number)
    needs = [
        {n for name in names for n in produced.get(name, ()) if n != number}
        for number, names in enumerate(reads)
    ]
    numbers = {id(step): number for number, step in enumerate(steps)}
    for later, earlier in effects_before(steps).items():
        needs[numbers[later]].add(numbers[id(earlier)])
    readers: dict[str, list[int]] = {}
    for number, names in enumerate(reads):
        for name in names:
            readers.setdefault(root_memory(name, views), []).append(number)
    for number, written in enumerate(writes):
        for name in written:
            if name in inputs:
                needs[number] |= {reader for reader in readers.get(name, ()) if reader != number}
    return needs


def writes_of(step: Step) -> list[str]:
    if not isinstance(step, KernelStep):
        return step_writes(step)
    return step.written()
