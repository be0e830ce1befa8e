"""The results of compile_fx: callables that run a graph and show its kernels.

In:  a closed functional ATen graph.
Out: a `CompiledGraph`. It takes the placeholders of the graph and returns a tuple.

    graph = assemble(aten_graph)
    graph(x, y)          -> (tensor,)
    print(graph.loops)   -> kernel k0(...) ...
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import fx

from codegen.kernel import events, ir
from codegen.kernel.program import ExternStep, KernelStep, Program, ViewStep
from codegen.kernel.watching import unwatched
from codegen.launch import own_product, perf_map
from codegen.launch.direct_calls import callable_of, is_direct
from codegen.launch.extern_program import extern_program
from codegen.launch.jit import compile_kernels
from codegen.launch.kernel_report import watch
from codegen.launch.plan import LaunchPlan, PlanOptions, build_plan

try:
    import _capture
except ImportError:  # the extension is not built: graphs run through eager
    _capture = None

log = logging.getLogger("capture.codegen")
Base: Any = getattr(_capture, "CompiledGraph", object)


NO_CHANGES: Mapping[str, int] = {}


class Counts(NamedTuple):
    """The steps of a graph: kernels; calls of operators, by an entry point or not; views."""

    kernels: int
    direct_calls: int
    other_calls: int
    views: int


class CompiledGraph(Base):
    """A launch plan with its kernels. A call goes straight to native code."""

    program: Program
    compiled: list[Any]
    extern_calls: list[str]
    native_calls: list[str]
    is_stopgap = False  # its kernels could not be compiled: it calls operators

    @cached_property
    def counts(self) -> Counts:
        steps = self.program.steps
        direct = [is_direct(callable_of(step.op)) for step in steps if isinstance(step, ExternStep)]
        views = sum(isinstance(step, ViewStep) for step in steps)
        return Counts(len(self.kernels), sum(direct), len(direct) - sum(direct), views)

    @property
    def kernels(self) -> list[Any]:
        """The kernels in loop IR, in the order of execution."""
        return [step.kernel for step in self.kernel_steps]

    @property
    def kernel_steps(self) -> list[KernelStep]:
        return [step for step in self.program.steps if isinstance(step, KernelStep)]

    @property
    def may_fail(self) -> bool:
        """Whether it calls operators, or has kernels that check values. Otherwise only memory can run out."""
        return bool(self.extern_calls) or any(has_checks(kernel.body) for kernel in self.kernels)

    @cached_property
    def loops(self) -> str:
        """The printed loop IR of all kernels."""
        from codegen.kernel.printer import print_kernel_step  # lazy: import time

        return "\n".join(map(print_kernel_step, self.kernel_steps))

    @property
    def llvm_ir(self) -> str:
        """The LLVM text of all kernels."""
        return "\n".join(kernel.llvm_ir for kernel in self.compiled)

    @property
    def asm(self) -> str:
        """The assembly of all kernels."""
        return "\n".join(kernel.asm for kernel in self.compiled)

    def __reduce__(self) -> Any:
        raise TypeError("a compiled graph holds machine code of this process and can't be pickled")


def has_checks(body: list[ir.Stmt]) -> bool:
    return any(
        isinstance(statement, ir.Check) or (isinstance(statement, ir.Loop) and has_checks(statement.body))
        for statement in body
    )


class EagerGraph:
    """A graph that eager runs operator by operator. `reason` says why. Its interface is CompiledGraph's."""

    kernels: tuple[Any, ...] = ()
    loops = llvm_ir = asm = ""

    def __init__(self, module: fx.GraphModule, reason: str) -> None:
        self.module = module
        self.reason = reason
        self.extern_calls = [str(node.target) for node in module.graph.nodes if node.op.startswith("call_")]

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        return run_eagerly(self.module, args)


def run_eagerly(module: fx.GraphModule, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run the module's own code, without `GraphModule.__call__`."""
    result = module.forward(*args)
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


class EagerFallback:
    """Runs the module through eager where a check in a kernel failed.

    The caller then sees eager's own error.
    """

    def __init__(self, module: fx.GraphModule, lifted: list[torch.Tensor]) -> None:
        self.module = module
        self.lifted = len(lifted)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        return run_eagerly(self.module, args[: len(args) - self.lifted])


class InInferenceMode:
    """A compiled graph; each call of it runs in inference mode."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        with torch.inference_mode():
            return self.graph(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)


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
        return link(extern_program(graph), store, options, fallback)
    try:
        with events.phase("lower"):
            program = lower(graph)
        return link(program, store, options, fallback)
    except Exception:
        if strict:
            raise
        log.warning("the graph runs without kernels of its own: compiling them failed", exc_info=True)
        made = link(extern_program(graph), store, options, fallback)
        made.is_stopgap = True
        return made


strict = False  # True: a failure of lowering or of the kernel compiler raises (tests)


def lower(graph: fx.Graph) -> Program:
    from codegen.passes.pipeline import lower_graph  # lazy: import time

    return lower_graph(graph)


def link(
    program: Program, store: Any, options: PlanOptions, fallback: Callable[..., Any] | None
) -> CompiledGraph:
    kernels = [step.kernel for step in program.steps if isinstance(step, KernelStep)]
    compiled: list[Any] = []
    if kernels:
        with events.phase("llvm"):
            compiled = compile_kernels(kernels, store=store)
        if events.subject().perf_map:
            perf_map.write(compiled, events.subject().title)
    with events.phase("plan"):
        plan = build_plan(program, {kernel.name: kernel.address for kernel in compiled}, options)
    if plan.native:
        own_product.use(store)
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


#: by log of generated code: the attribute that has the text
TEXTS = {"loops": "loops", "llvm": "llvm_ir", "asm": "asm"}


def write_logs(graph: CompiledGraph) -> None:
    for name, attribute in TEXTS.items():
        logger = logging.getLogger(f"capture.{name}")
        if logger.isEnabledFor(logging.DEBUG):
            titles = "".join(f"{step.kernel.name}: {step.origin.title}\n" for step in graph.kernel_steps)
            logger.debug("%s%s", titles, getattr(graph, attribute))


def is_available() -> bool:
    """Whether the extension can run launch plans."""
    return Base is not object


def calibrate() -> None:
    """Find the layout of tensor objects, once in a process."""
    global is_calibrated
    if not is_calibrated:
        _capture.calibrate()
        is_calibrated = True


is_calibrated = False
