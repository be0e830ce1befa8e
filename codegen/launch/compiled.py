"""The results of compile_fx: callables that run a graph and show its kernels.

In:  what `assembly` has made of a graph, or a store has kept.
Out: a `CompiledGraph`. It takes the placeholders of the graph and returns a tuple.

    graph(x, y)          -> (tensor,)
    print(graph.loops)   -> kernel k0(...) ...

A process that finds its graphs in the store needs these classes alone, and no compiler.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import fx

from codegen.kernel.wrapper import GraphWrapper
from codegen.launch.direct_calls import callable_of, is_direct

if TYPE_CHECKING:
    from codegen.kernel.program import KernelStep, Program

try:
    import _capture
except ImportError:  # the extension is not built: graphs run through eager
    _capture = None

Base: Any = getattr(_capture, "CompiledGraph", object)


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
    own_products: bool
    is_stopgap = False  # its kernels could not be compiled: it calls operators
    fails_unchanged = True  # if it raises, its inputs are as they were

    @cached_property
    def counts(self) -> Counts:
        program = self.program
        direct = [is_direct(callable_of(step.op)) for step in program.extern_steps]
        return Counts(len(self.kernels), sum(direct), len(direct) - sum(direct), len(program.view_steps))

    @property
    def kernels(self) -> list[Any]:
        """The kernels in loop IR, in the order of execution."""
        return [step.kernel for step in self.kernel_steps]

    @property
    def kernel_steps(self) -> list[KernelStep]:
        return self.program.kernel_steps

    @property
    def may_fail(self) -> bool:
        """Whether it calls operators, or has kernels that check values. Otherwise only memory can run out."""
        return bool(self.extern_calls) or any(kernel.has_checks for kernel in self.kernels)

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
    """Runs the module through eager where a check in a kernel failed, or an operator raised.

    The caller then sees eager's own error.
    """

    def __init__(self, module: fx.GraphModule) -> None:
        self.module = module
        self.inputs = sum(node.op == "placeholder" for node in module.graph.nodes)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        return run_eagerly(self.module, args[: self.inputs])  # without the tensors that the module holds


def refuse(*args: Any) -> tuple[Any, ...]:
    """The other fallback: the caller runs the program, whose inputs are still unchanged."""
    raise _capture.CheckFailed("a check in a kernel failed, or an operator raised")


class InInferenceMode(GraphWrapper):
    """A compiled graph; each call of it runs in inference mode."""

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        with torch.inference_mode():
            results: tuple[Any, ...] = self.graph(*args)
            return results


#: by log of generated code: the attribute that has the text
TEXTS = {"loops": "loops", "llvm": "llvm_ir", "asm": "asm"}


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
