"""The functions of this process that kernels call.

In:  the name of a function of Sleef or libm.
Out: its address.

    address_of("Sleef_expf16_u10")   ->   0x7f.., in libtorch_cpu
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import torch

from codegen.kernel.errors import CompilationFailed


def address_of(name: str) -> int:
    """The address of a function that kernels call."""
    address = vector_function(name)
    if address is not None:
        return address
    try:
        return _address_in_process(getattr(_process(), name))
    except AttributeError:
        raise CompilationFailed(f"no library of the process has the function {name}", "") from None


@cache
def vector_function(name: str) -> int | None:
    """The address of a Sleef function in libtorch_cpu. None for others: the process exports them itself."""
    if not name.startswith("Sleef_"):
        return None
    return _address_in_process(torch_function(name))


def _address_in_process(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None  # a function has one
    return address


def torch_function(name: str) -> Any:
    """A C function that libtorch_cpu exports, for a call by ctypes."""
    return getattr(_torch_library(), name)


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@cache
def _torch_library() -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
