"""The state of thread and process, as a reader knows it.

In:  a `GlobalState`, or one field of it.
Out: its text. Fields that are as in a fresh process are left out.

    GlobalState(grad_mode=0, ...)    ->    "grad mode off, default dtype float32"
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from guards.properties.global_state import ANY_GRAD_MODE, DTYPE_CODES, GlobalState
from guards.properties.tensor import keys_text

_DTYPES = {code: str(dtype).removeprefix("torch.") for dtype, code in DTYPE_CODES.items()}


def _switch(name: str, value: int) -> str:
    return f"{name} {'on' if value else 'off'}"


def _number(name: str, value: int) -> str:
    return f"{value} {name}"


def _keys(name: str, value: int) -> str:
    return f"{name} {keys_text(value)}"


def _dtype(name: str, value: int) -> str:
    return f"{name} {_DTYPES[value]}"


#: by field: what its text is made of
TEXTS: dict[str, Callable[[int], str]] = {
    "grad_mode": partial(_switch, "grad mode"),
    "include_keys": partial(_keys, "included dispatch keys"),
    "exclude_keys": partial(_keys, "excluded dispatch keys"),
    "default_dtype": partial(_dtype, "default dtype"),
    "deterministic": partial(_switch, "deterministic algorithms"),
    "deterministic_warn_only": partial(_switch, "warnings in place of errors of deterministic algorithms"),
    "deterministic_fill": partial(_switch, "fill of uninitialized memory"),
    "function_modes": partial(_number, "modes of torch functions"),
    "function_enabled": partial(_switch, "__torch_function__"),
    "dispatch_modes": partial(_number, "dispatch modes"),
    "autocast_cpu": partial(_switch, "autocast on the CPU"),
    "autocast_cpu_dtype": partial(_dtype, "dtype of autocast"),
    "autocast_cache": partial(_switch, "cache of autocast"),
    "methods_replaced": partial(_switch, "replaced methods of tensors"),
}

#: these are always shown
SHOWN = ("grad_mode", "default_dtype")
USUAL = GlobalState(
    grad_mode=1,
    include_keys=torch._C._dispatch_tls_local_include_set().raw_repr(),
    exclude_keys=torch._C._dispatch_tls_local_exclude_set().raw_repr(),
    default_dtype=DTYPE_CODES[torch.float32],
    deterministic=0,
    deterministic_warn_only=0,
    deterministic_fill=1,
    function_modes=0,
    function_enabled=1,
    dispatch_modes=0,
    autocast_cpu=0,
    autocast_cpu_dtype=0,
    autocast_cache=0,
    methods_replaced=0,
)


def state_text(state: GlobalState) -> str:
    unusual = [name for name, a, b in zip(state._fields, state, USUAL) if a != b]
    return fields_text(state, [name for name in state._fields if name in SHOWN or name in unusual])


def fields_text(state: GlobalState, names: list[str]) -> str:
    shown = [name for name in names if (name, getattr(state, name)) != ANY_GRAD_MODE]
    return ", ".join(TEXTS[name](getattr(state, name)) for name in shown)
