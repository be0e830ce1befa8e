"""Times kernels of loop IR written by hand against eager, in turns: shared by the kernel benchmarks.

In:  a kernel, its tensors, the eager function.
Out: one line: compile time, median time of both, ratio.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable

import torch

from codegen.kernel.ir import Kernel
from codegen.launch.jit import CompiledKernel, compile_kernels
from codegen.llvm.target import Target

_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)


def bind(compiled: CompiledKernel, tensors: list[torch.Tensor], end: int = 0) -> Callable[[], int]:
    """A call of the kernel on these tensors."""
    pointers = (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
    function = _SIGNATURE(compiled.address)
    return lambda: function(pointers, None, 0, end)


def interleaved(functions: list[Callable[[], object]], seconds: float = 1.0) -> list[float]:
    """The median time of each, in seconds. They run in turns, so that a busy moment of the machine affects
    all.
    """
    samples: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    stop = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < stop or len(samples[0]) < 5:
        for function, times in zip(functions, samples, strict=True):
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in samples]


def compile_milliseconds(kernel: Kernel, repeat: int = 5) -> float:
    """The best of a few compilations; each compiles code that the process has not seen."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        compiled = compile_kernels([kernel])
        times.append((time.perf_counter() - start) * 1e3)
        del compiled  # the last reference: the next compilation starts from nothing
    return min(times)


def report(
    name: str,
    kernel: Kernel,
    tensors: dict[str, torch.Tensor],
    eager: Callable[[], torch.Tensor],
    seconds: float = 1.0,
) -> None:
    """Checks the kernel's `out` against eager, then prints the line."""
    (compiled,) = compile_kernels([kernel])
    ordered = [tensors[buffer.name] for buffer in kernel.buffers]
    native = bind(compiled, ordered)
    native()
    torch.testing.assert_close(tensors["out"], eager(), rtol=1e-5, atol=1e-4)
    del compiled
    milliseconds = compile_milliseconds(kernel)
    (compiled,) = compile_kernels([kernel])
    native = bind(compiled, ordered)
    ours, theirs = interleaved([native, eager], seconds)
    print(
        f"{name:28} compile {milliseconds:6.1f} ms   {ours * 1e6:10.1f} us   "
        f"eager {theirs * 1e6:10.1f} us   ratio {ours / theirs:5.2f}"
    )
    _keep.append(compiled)


_keep: list[CompiledKernel] = []


def header() -> None:
    torch.set_num_threads(1)
    print(f"{Target.host().cpu}, one thread, medians")
