"""The kernel versions of a program with symbolic sizes.

In:  a Program whose kernels take sizes at run time, and the sizes of a call.
Out: a `KernelVersion`: a program and the machine code of its kernels. It serves all sizes, or one combination
     of short sizes.

    KernelVersions(program, store).version({"s0": 5000, "s1": 3})      ->   kernels for rows of 3
    KernelVersions(program, store).version({"s0": 5000, "s1": 4000})   ->   the kernels for all sizes

The first call of a version compiles it. After `VERSIONS` of them, other short sizes use the kernels for all
sizes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from capture_records import dataclass
from codegen.kernel import ir
from codegen.kernel.open_numbers import closed
from codegen.kernel.program import KernelStep, Program, Step
from codegen.launch.jit import compile_kernels
from codegen.launch.plan import number
from codegen.passes import pipeline
from codegen.passes.steps.size_arguments import with_size_arguments

VERSIONS = 2


@dataclass(frozen=True, slots=True)
class KernelVersion:
    program: Program
    kernels: list[Any]


class KernelVersions:
    def __init__(self, program: Program, store: Any) -> None:
        self.program = program
        self.store = store
        self.compiled: dict[tuple[tuple[str, int], ...], KernelVersion] = {}

    @property
    def general(self) -> KernelVersion:
        """The version for all sizes."""
        return self._compiled((), self.program)

    def version(self, sizes: Mapping[str, Any]) -> KernelVersion:
        """The version for these sizes.

        The sizes may be open numbers. Then the version holds for all sizes that decide the comparisons alike.
        """
        short = self._short(sizes)
        fixed = tuple((name, closed(sizes[name])) for name in sorted(set().union(*short.values())))
        others = sum(1 for key in self.compiled if key not in ((), fixed))
        if not fixed or others >= VERSIONS or not all(sizes[name] == number for name, number in fixed):
            return self.general
        return self.compiled.get(fixed) or self._compiled(fixed, self._with_numbers(dict(fixed), short))

    def _short(self, sizes: Mapping[str, Any]) -> dict[int, set[str]]:
        """The sizes to fix, by the place of the step that would gain from it."""

        def value_of(size: ir.Expr) -> Any:
            return number(size, sizes)

        found = {
            place: step.open.short_sizes(value_of)
            for place, step in enumerate(self.program.steps)
            if isinstance(step, KernelStep) and step.open is not None
        }
        return {place: names for place, names in found.items() if names}

    def _with_numbers(self, fixed: Mapping[str, int], places: Collection[int]) -> Program:
        """The program with kernels for these sizes at these places."""
        buffers = dict(self.program.buffers)
        steps: list[Step] = []
        for place, step in enumerate(self.program.steps):
            if place in places:
                assert isinstance(step, KernelStep) and step.open is not None
                kernel, scratch = step.open.kernel_for(fixed)
                if pipeline.VERIFY:
                    from codegen.kernel.verifier import verify  # lazy: import time

                    verify(kernel)
                buffers |= scratch
                names = tuple(buffer.name for buffer in kernel.buffers)
                step = with_size_arguments(KernelStep(kernel, names, tuple(map(ir.Sym, kernel.sizes))))
            steps.append(step)
        return replace(self.program, buffers=buffers, steps=steps)

    def _compiled(self, key: tuple[tuple[str, int], ...], program: Program) -> KernelVersion:
        if key not in self.compiled:
            kernels = [step.kernel for step in program.steps if isinstance(step, KernelStep)]
            self.compiled[key] = KernelVersion(program, machine_code(kernels, self.store))
        return self.compiled[key]


def machine_code(kernels: list[ir.Kernel], store: Any) -> list[Any]:
    if not kernels:
        return []
    return compile_kernels(kernels, store=store)
