"""Runs programs with machine code instead of the loop interpreter.

Each kernel is compiled and called through ctypes.

    run_native(lower_graph(graph), [x, w]) -> [y]
"""

from __future__ import annotations

import ctypes
from typing import Any

from codegen.kernel.program import KernelStep, Program
from codegen.launch.jit import compile_kernels
from codegen.launch.plan import extent_of
from tests.codegen.loop_interpreter import CheckFailed, ProgramRun, execute

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class NativeRun(ProgramRun):
    """Calls each kernel for the whole range of the axis that threads may divide."""

    def __init__(self, program: Program, inputs: list[Any]) -> None:
        super().__init__(program, inputs)
        kernels = [step.kernel for step in program.steps if isinstance(step, KernelStep)]
        self.compiled = {
            id(kernel): code for kernel, code in zip(kernels, compile_kernels(kernels), strict=True)
        }

    def kernel(self, step: KernelStep) -> None:
        axis = step.kernel.split
        end = 0 if axis is None else self.number(extent_of(step.kernel.body, axis))
        for number in range(step.rows):
            names, lengths = step.row(number)
            pointers = [self.tensor(name).data_ptr() for name in names.values()]
            buffers = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
            sizes = (ctypes.c_int64 * max(len(lengths), 1))(*map(self.number, lengths.values()))
            code = _FUNCTION(self.compiled[id(step.kernel)].address)(buffers, sizes, 0, end)
            if code:
                raise CheckFailed(code)


def run_native(program: Program, inputs: list[Any]) -> list[Any]:
    """The outputs of the program, with kernels as machine code. Inputs that it writes are changed."""
    return execute(NativeRun(program, inputs))
