"""From an ATen graph to its callable: lowering, machine code, launch plan.

In:  a closed functional ATen graph.
Out: a `CompiledGraph`.

    assemble(aten_graph)(x, y)   ->   (tensor,)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from torch import fx

from codegen.kernel import events
from codegen.kernel.program import KernelStep, Program
from codegen.kernel.watching import unwatched
from codegen.launch import own_product
from codegen.launch.compiled import TEXTS, CompiledGraph, calibrate
from codegen.launch.jit import compile_kernels
from codegen.launch.kernel_report import watch
from codegen.launch.plan import LaunchPlan, PlanOptions, build_plan

log = logging.getLogger("capture.codegen")

NO_CHANGES: Mapping[str, int] = {}


@unwatched()
def assemble(
    graph: fx.Graph,
    *,
    store: Any = None,
    kernels: bool = True,
    conform: bool = False,
    fallback: Callable[..., Any] | None = None,
    changes: Mapping[str, int] = NO_CHANGES,
) -> CompiledGraph:
    """Lower, compile and plan a functional graph. `conform` and `changes` are those of `plan.PlanOptions`.

    If lowering or the kernel compiler fails, the graph is compiled without kernels. A warning gives the
    reason.
    """
    calibrate()
    integers = {
        n.name: n.meta["val"] for n in graph.nodes if n.op == "placeholder" and type(n.meta["val"]) is int
    }
    options = PlanOptions(conform, changes, integers)
    if not kernels:
        return link(without_kernels(graph), store, options, fallback)
    try:
        with events.phase("lower"):
            program = lower(graph)
        return link(program, store, options, fallback)
    except Exception:
        if strict:
            raise
        log.warning("the graph runs without kernels of its own: compiling them failed", exc_info=True)
        made = link(without_kernels(graph), store, options, fallback)
        made.is_stopgap = True
        return made


strict = False  # True: a failure of lowering or of the kernel compiler raises (tests)


def lower(graph: fx.Graph) -> Program:
    from codegen.passes.pipeline import lower_graph  # lazy: import time

    return lower_graph(graph)


def without_kernels(graph: fx.Graph) -> Program:
    from codegen.launch.extern_program import extern_program  # lazy: import time

    return extern_program(graph)


def link(
    program: Program, store: Any, options: PlanOptions, fallback: Callable[..., Any] | None
) -> CompiledGraph:
    kernels = [step.kernel for step in program.steps if isinstance(step, KernelStep)]
    compiled: list[Any] = []
    if kernels:
        with events.phase("llvm"):
            compiled = compile_kernels(kernels, store=store)
        if events.subject().perf_map:
            from codegen.launch import perf_map  # lazy: import time

            perf_map.write(compiled, events.subject().title)
    with events.phase("plan"):
        plan = build_plan(program, {kernel.name: kernel.address for kernel in compiled}, options)
    graph = planned(program, compiled, plan, fallback)
    write_logs(graph)
    return graph


def planned(
    program: Program,
    compiled: list[Any],
    plan: LaunchPlan,
    fallback: Callable[..., Any] | None,
    *beside: CompiledGraph,
) -> CompiledGraph:
    """The callable of a launch plan. It shares the workspace of the graph `beside`."""
    graph = CompiledGraph(plan.words, plan.objects, fallback, *beside)
    graph.program = program
    graph.compiled = compiled
    graph.extern_calls = plan.extern_calls
    graph.native_calls = plan.native
    graph.own_products = plan.own
    if plan.own:
        own_product.want()
    watch(graph, plan.work)
    subject = events.subject()
    events.tell("native", native=graph, role=subject.role, work=plan.work, workspace=plan.workspace_size)
    graph.name = subject.title
    if subject.profile_kernels:
        graph.kernel_names = kernel_names(program, plan, subject.title)
    return graph


def kernel_names(program: Program, plan: LaunchPlan, function: str) -> tuple[str | None, ...]:
    """For each instruction that works: its name, and what it makes."""
    steps = [step for step in program.steps if isinstance(step, KernelStep)]
    made = {
        step.kernel.name: f" {step.origin.title} -> {', '.join(step.written())}".replace("  ", " ")
        for step in steps
    }
    names = {place: f"{function}: {work.name}{made.get(work.name, '')}" for place, work in plan.work.items()}
    return tuple(names.get(place) for place in range(max(names, default=-1) + 1))


def write_logs(graph: CompiledGraph) -> None:
    for name, attribute in TEXTS.items():
        logger = logging.getLogger(f"capture.{name}")
        if logger.isEnabledFor(logging.DEBUG):
            titles = "".join(map(title_of, graph.kernel_steps))
            logger.debug("%s%s", titles, getattr(graph, attribute))


def title_of(step: KernelStep) -> str:
    """What the kernel is, and what its sizes are, in a line of a log."""
    from codegen.kernel.printer import print_expr  # lazy: import time

    sizes = zip(step.kernel.sizes, step.sizes)  # of the first row
    named = [f", {name} = {text}" for name, size in sizes if (text := print_expr(size)) != name]
    return f"{step.kernel.name}: {step.origin.title}{''.join(named)}\n"
