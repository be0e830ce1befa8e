"""State of thread and process that changes what torch operations do.

In:  nothing but the state at the moment of the call.
Out: `GlobalState`, a tuple of named integers, compared field by field. `native/tensor_access.c` reads the same fields in the same order.

    with torch.no_grad(): read_global_state().grad_mode   ->   0
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class GlobalState(NamedTuple):
    """include_keys and exclude_keys are the thread's dispatch key sets: they change with autocast, inference mode, dispatch modes and functorch.

    The dtype and cache flag of an autocast that is off do not count: 0.
    """

    grad_mode: int
    include_keys: int
    exclude_keys: int
    default_dtype: int
    deterministic: int
    deterministic_warn_only: int
    deterministic_fill: int
    function_modes: int
    function_enabled: int
    dispatch_modes: int
    autocast_cpu: int
    autocast_cpu_dtype: int
    autocast_cache: int


def read_global_state() -> GlobalState:
    """The state now, through torch's Python functions (the C program reads it by its own way)."""
    c = torch._C
    autocast = torch.is_autocast_enabled("cpu")
    return GlobalState(
        grad_mode=int(torch.is_grad_enabled()),
        include_keys=c._dispatch_tls_local_include_set().raw_repr(),
        exclude_keys=c._dispatch_tls_local_exclude_set().raw_repr(),
        default_dtype=DTYPE_CODES[torch.get_default_dtype()],
        deterministic=int(c._get_deterministic_algorithms()),
        deterministic_warn_only=int(c._get_deterministic_algorithms_warn_only()),
        deterministic_fill=int(c._get_deterministic_fill_uninitialized_memory()),
        function_modes=c._len_torch_function_stack(),
        function_enabled=int(c._is_torch_function_enabled()),
        dispatch_modes=c._len_torch_dispatch_stack(),
        autocast_cpu=int(autocast),
        autocast_cpu_dtype=DTYPE_CODES[torch.get_autocast_dtype("cpu")] if autocast else 0,
        autocast_cache=int(autocast and torch.is_autocast_cache_enabled()),
    )


# c10::ScalarType by number (c10/core/ScalarType.h); `_capture.calibrate` verifies the table against tensors.
DTYPE_CODES: dict[torch.dtype, int] = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.complex32: 8,
    torch.complex64: 9,
    torch.complex128: 10,
    torch.bool: 11,
    torch.qint8: 12,
    torch.quint8: 13,
    torch.qint32: 14,
    torch.bfloat16: 15,
    torch.quint4x2: 16,
    torch.quint2x4: 17,
    torch.bits1x8: 18,
    torch.bits2x4: 19,
    torch.bits4x2: 20,
    torch.bits8: 21,
    torch.bits16: 22,
    torch.float8_e5m2: 23,
    torch.float8_e4m3fn: 24,
    torch.float8_e5m2fnuz: 25,
    torch.float8_e4m3fnuz: 26,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
    torch.uint1: 30,
    torch.uint2: 31,
    torch.uint3: 32,
    torch.uint4: 33,
    torch.uint5: 34,
    torch.uint6: 35,
    torch.uint7: 36,
    torch.int1: 37,
    torch.int2: 38,
    torch.int3: 39,
    torch.int4: 40,
    torch.int5: 41,
    torch.int6: 42,
    torch.int7: 43,
    torch.float8_e8m0fnu: 44,
    torch.float4_e2m1fn_x2: 45,
}
