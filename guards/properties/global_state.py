"""The state of thread and process that changes what torch operations do.

In:  the state at the moment of the call.
Out: `GlobalState`, a tuple of named integers. `native/tensors/tensor_access.c` reads the same fields in the
     same order.

    with torch.no_grad(): read_global_state().grad_mode   ->   0
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from guards.properties.tensor_methods import methods_are_replaced

#: `grad_mode` of what fits each of them
ANY_MODE = -1
ANY_GRAD_MODE = ("grad_mode", ANY_MODE)


class GlobalState(NamedTuple):
    """include_keys and exclude_keys are the thread's dispatch key sets. They change with autocast, inference
    mode, dispatch modes and functorch.

    The dtype and the cache flag of an autocast that is off do not count: they are 0. For methods_replaced see
    `guards.properties.tensor_methods`.
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
    methods_replaced: int

    def differences(self, now: GlobalState) -> list[str]:
        """The fields that do not fit the state `now`."""
        fields = zip(self._fields, self, now)
        return [name for name, wanted, found in fields if wanted != found and (name, wanted) != ANY_GRAD_MODE]

    def fits(self, now: GlobalState) -> bool:
        return not self.differences(now)


def read_global_state() -> GlobalState:
    """The state now, by the Python functions of torch. (C reads it in another way.)"""
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
        methods_replaced=int(methods_are_replaced()),
    )


# Names in the order of c10::ScalarType (torch/headeronly/core/ScalarType.h); a test compares it with tensors
# as native code reads them.
_SCALAR_TYPES = [
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "quint4x2",
    "quint2x4",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "bits8",
    "bits16",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "uint16",
    "uint32",
    "uint64",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
    "int1",
    "int2",
    "int3",
    "int4",
    "int5",
    "int6",
    "int7",
    "float8_e8m0fnu",
    "float4_e2m1fn_x2",
]
DTYPE_CODES: dict[torch.dtype, int] = {
    getattr(torch, name): code for code, name in enumerate(_SCALAR_TYPES) if hasattr(torch, name)
}
