"""Runs kernels of loop IR on tensors, on every processor level that this machine has."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
import torch

from codegen.kernel.ir import Kernel
from codegen.launch.jit import CompiledKernel, compile_kernels
from codegen.llvm.target import LEVELS, Target

SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def call(
    compiled: CompiledKernel, tensors: list[torch.Tensor], sizes: list[int], begin: int, end: int
) -> int:
    pointers = (ctypes.c_void_p * max(len(tensors), 1))(*(tensor.data_ptr() for tensor in tensors))
    numbers = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
    return SIGNATURE(compiled.address)(pointers, numbers, begin, end)


class Runner:
    def __init__(self, target: Target) -> None:
        self.target = target
        self.compiled: dict[str, CompiledKernel] = {}

    def __call__(
        self,
        kernel: Kernel,
        tensors: dict[str, torch.Tensor],
        sizes: dict[str, int] | None = None,
        begin: int = 0,
        end: int = 0,
        ranges: list[tuple[int, int]] | None = None,
    ) -> int:
        """Runs `kernel` on tensors by buffer name (in place) and returns its result. `ranges`: calls with
        these (begin, end) in turn.
        """
        text = repr(kernel)  # a test that calls one kernel with many sizes compiles it once
        if text not in self.compiled:
            (self.compiled[text],) = compile_kernels([kernel], target=self.target)
        arguments = [tensors[buffer.name] for buffer in kernel.buffers]
        numbers = [(sizes or {})[name] for name in kernel.sizes]
        code = 0
        for first, last in ranges or [(begin, end)]:
            code = code or call(self.compiled[text], arguments, numbers, first, last)
        return code


def _levels_of_this_machine() -> list[Any]:
    """The machine's own level and, marked as slow, those below."""
    names = list(LEVELS)
    last = names.index(Target.host().cpu)
    return [*(pytest.param(name, marks=pytest.mark.slow) for name in names[:last]), names[last]]


@pytest.fixture(params=_levels_of_this_machine())
def run(request: pytest.FixtureRequest) -> Callable[..., int]:
    return Runner(Target.level(request.param))


@pytest.fixture
def run_host() -> Callable[..., int]:
    return Runner(Target.host())
