"""The kernels of compiled graphs, as texts for people.

In:  a `CompiledGraph`, and which texts to make: "loops", "llvm", "asm".
Out: a dict for each kernel, in the order of the steps.

    {"name": "k0", "title": "fused_mul_sin", "inputs": ["x"], "outputs": ["y"], "nodes": ["mul", "sin"],
     "loops": "kernel k0(...) ..."}
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from codegen.kernel.program import KernelStep


def kernel_texts(graph: Any, show: Collection[str]) -> list[dict[str, Any]]:
    compiled = {kernel.name: kernel for kernel in graph.compiled}
    steps = [step for step in graph.program.steps if isinstance(step, KernelStep)]
    return [
        {
            "name": step.kernel.name,
            "inputs": sorted(set(step.buffers) - set(step.written())),
            "outputs": step.written(),
            "title": step.origin.title,
            "nodes": list(step.origin.nodes),
            **{name: text(step, compiled[step.kernel.name]) for name, text in TEXTS.items() if name in show},
        }
        for step in steps
    ]


def _loops(step: KernelStep, compiled: Any) -> str:
    from codegen.kernel.printer import print_kernel_step  # lazy: import time

    return print_kernel_step(step)


TEXTS: dict[str, Callable[[KernelStep, Any], str]] = {
    "loops": _loops,
    "llvm": lambda step, compiled: str(compiled.llvm_ir),
    "asm": lambda step, compiled: str(compiled.asm),
}
