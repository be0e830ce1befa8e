"""Steps in an order in which each finds what it reads.

In:  operator calls and views in the order of the graph; kernels.
Out: one list, kernels that are alike joined to tables. Writers come before readers, except that a write to an input comes after everything that
     reads the input's old value.

    [mm -> t0], [k0: t0 -> y], [k1: x -> t1], [mm(t1) -> t2]   ->   mm, k1, mm, k0 in an order that respects t0, t1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegen.passes.calls import effects_before, step_reads, step_writes
from codegen.passes.tables import join_tables
from codegen.program import ExternStep, KernelStep, Step, ViewStep


@dataclass(frozen=True, slots=True)
class FailingSteps:
    """Positions of the calls and of the kernels that may fail: they come before every write to an input."""

    calls: Sequence[int] = ()
    kernels: Sequence[int] = ()


NOTHING_FAILS = FailingSteps()


def order_steps(
    calls: list[ExternStep | ViewStep],
    kernels: list[tuple[KernelStep, set[str], set[int]]],
    inputs: set[str],
    failing: FailingSteps = NOTHING_FAILS,
) -> list[Step]:
    """A topological order that keeps the given order where it can. With each kernel come the buffers whose contents it needs from elsewhere
    (one of those it may also write to, in another place), and the positions of the kernels that have to run before."""
    steps: list[Step] = [*calls, *(kernel for kernel, _, _ in kernels)]
    reads = [set(step_reads(call)) for call in calls] + [names for _, names, _ in kernels]
    needs = _needs(steps, reads, inputs)
    for number, (_, _, makers) in enumerate(kernels, len(calls)):
        needs[number] |= {len(calls) + maker for maker in makers}
    may_fail = {*failing.calls, *(len(calls) + number for number in failing.kernels)}
    for number, step in enumerate(steps):
        if number not in may_fail and not inputs.isdisjoint(writes_of(step)):
            needs[number] |= may_fail
    joined, joined_needs = join_tables(steps, needs, topological(needs))
    return [joined[number] for number in topological(joined_needs)]


def topological(needs: list[set[int]]) -> list[int]:
    """Positions, each after those that it needs, else as they are."""
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
                raise AssertionError(f"steps depend on each other in a circle: {stack}")
            visiting.add(number)
            stack.extend(reversed(pending))
    return ordered


def _needs(steps: list[Step], reads: list[set[str]], inputs: set[str]) -> list[set[int]]:
    writes = [writes_of(step) for step in steps]
    memory = {step.output: step.base for step in steps if isinstance(step, ViewStep)}
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
            readers.setdefault(_root_memory(name, memory), []).append(number)
    for number, written in enumerate(writes):
        for name in written:
            if name in inputs:
                needs[number] |= {reader for reader in readers.get(name, ()) if reader != number}
    return needs


def _root_memory(name: str, memory: dict[str, str]) -> str:
    """The buffer whose memory a view is on."""
    while name in memory:
        name = memory[name]
    return name


def writes_of(step: Step) -> list[str]:
    if not isinstance(step, KernelStep):
        return step_writes(step)
    return step.written()
