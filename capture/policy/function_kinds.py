"""Sorts torch's functions into kinds, which say what the interpreter does with a call.

In:  a callable.
Out: `kind_of(function)`: the kind of a function, or None to inline it.

    "graph"      the call becomes a node of the graph
    "constant"   the call is evaluated during translation
    "state"      the call is evaluated, recorded in the graph, and replayed for the code after the graph
    "outside"    the call breaks the graph
"""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

from capture.policy.frame_filter import is_plain_python
from capture.process import process_flags

# Namespaces whose functions are operations.
OPERATION_MODULES = ("torch.nn.functional", "torch.functional", "torch.linalg", "torch.fft", "torch.special")
NAMESPACES = (
    "torch", "torch.nn.functional", "torch._C._nn", "torch._C._VariableFunctions", "torch.linalg",
    "torch.fft", "torch.special", "torch._C._fft", "torch._C._linalg", "torch._C._special",
    "torch._C._sparse",
)  # fmt: skip

CONSTANT_FUNCTIONS = [
    "torch.is_grad_enabled",
    "torch.is_inference_mode_enabled",
    "torch.get_default_dtype",
    "torch.is_storage",
    "torch.is_floating_point",
    "torch.is_complex",
    "torch.numel",
    "torch.is_autocast_enabled",
    "torch.get_autocast_dtype",
    "torch.is_autocast_cache_enabled",
    "torch.promote_types",
    "torch.result_type",
    "torch.can_cast",
    "torch.broadcast_shapes",
    "torch.is_anomaly_enabled",
    "torch.is_anomaly_check_nan_enabled",
    "torch.is_signed",
    "torch.is_conj",
    "torch.is_neg",
    "torch.is_inference",
    "torch.is_warn_always_enabled",
    "torch.is_same_size",
    "torch.are_deterministic_algorithms_enabled",
    "torch.is_deterministic_algorithms_warn_only_enabled",
    "torch.get_deterministic_debug_mode",
    "torch.get_num_threads",
    "torch.is_distributed",
    "torch._C._is_torch_function_mode_enabled",
    "torch._C._get_tracing_state",
    "torch._C._is_torch_function_enabled",
    "torch._C._functorch.peek_interpreter_stack",
    "torch.jit.is_scripting",
    "torch.jit.is_tracing",
    "torch._jit_internal.is_scripting",
    "torch._C._jit_tree_views",
    "torch._C._get_privateuse1_backend_name",
    "torch.cuda.amp.common.amp_definitely_not_available",
    "torch.cuda.is_available",
    "torch._C._is_any_autocast_enabled",
    "torch.amp.is_autocast_available",
    "torch._C._is_autocast_available",
    "torch.utils._device._get_device_with_index",
    "torch.cuda.is_initialized",
    "torch.cuda.device_count",
    "torch.backends.mha.get_fastpath_enabled",
    "torch._C._get_cudnn_enabled",
    "torch._C._get_mkldnn_enabled",
    "torch.mps.is_available",
    "torch.xpu.is_available",
    "torch._C._has_mkldnn",
    "torch.distributed.is_available",
    "torch.distributed.is_initialized",
    "torch._C._is_fwd_grad_enabled",
    "torch._C._len_torch_dispatch_stack",
]

# Functions of this list that read a state that may change, if no other guard reads it -> the built-in
# function and the arguments with which a guard reads it.
STATE_READERS: dict[Any, tuple[Any, tuple[Any, ...]]] = {
    torch.get_num_threads: (torch.get_num_threads, ()),
    torch.is_anomaly_enabled: (torch.is_anomaly_enabled, ()),
    torch.is_anomaly_check_nan_enabled: (torch.is_anomaly_check_nan_enabled, ()),
    torch.is_warn_always_enabled: (torch._C._get_warnAlways, ()),
    torch._C._get_mkldnn_enabled: (torch._C._get_mkldnn_enabled, ()),
    torch._C._get_cudnn_enabled: (torch._C._get_cudnn_enabled, ()),
    torch.get_autocast_dtype: (torch.get_autocast_dtype, ("cpu",)),
    torch.is_autocast_cache_enabled: (torch.is_autocast_cache_enabled, ()),
    **{reader: (reader, ()) for reader in process_flags.READERS},
}

#: Functions of that list that read what `GlobalState` has: the guard of every entry compares it.
GUARDED_WITH_EACH_FRAME = frozenset(
    (
        torch.is_grad_enabled, torch.is_inference_mode_enabled, torch.get_default_dtype,
        torch.is_autocast_enabled, torch._C._is_any_autocast_enabled,
        torch.are_deterministic_algorithms_enabled, torch.is_deterministic_algorithms_warn_only_enabled,
        torch.get_deterministic_debug_mode, torch._C._is_torch_function_mode_enabled,
        torch._C._is_torch_function_enabled, torch._C._functorch.peek_interpreter_stack,
        torch._C._len_torch_dispatch_stack,
    )
)  # fmt: skip

STATE_FUNCTIONS = [
    "torch._C._set_grad_enabled",
    "torch.set_autocast_enabled",
    "torch.set_autocast_dtype",
    "torch.set_autocast_cache_enabled",
    "torch.autocast_increment_nesting",
    "torch.autocast_decrement_nesting",
    "torch.clear_autocast_cache",
]

OUTSIDE_FUNCTIONS = [
    # deprecated: each call warns
    "torch.is_autocast_cpu_enabled",
    "torch.get_autocast_cpu_dtype",
    "torch.get_autocast_gpu_dtype",
    "torch.set_autocast_cpu_enabled",
    "torch.set_autocast_cpu_dtype",
    "torch.manual_seed",
    "torch.seed",
    "torch.initial_seed",
    "torch.get_rng_state",
    "torch.set_rng_state",
    "torch.save",
    "torch.load",
    "torch.compile",
    "torch.set_default_device",
    "torch.set_default_tensor_type",
    "torch.set_num_threads",
    "torch.from_numpy",
    "torch.frombuffer",
    "torch.from_file",
    "torch.fbgemm_pack_quantized_matrix",  # reads the memory of fake tensors too
    "torch.set_printoptions",
    "torch.set_grad_enabled",
    "torch.set_warn_always",
    "torch.as_tensor",
    "torch.asarray",
    "torch.from_dlpack",
    "torch.to_dlpack",
    "torch.set_anomaly_enabled",
    "torch.set_flush_denormal",
    "torch.set_num_interop_threads",
    "torch.set_float32_matmul_precision",
    "torch.import_ir_module",
    "torch.typename",
    "torch.sym_int",
    "torch.sym_float",
    "torch.sym_not",
    "torch.sym_max",
    "torch.sym_min",
    "torch.fork",
    "torch.wait",
    "torch.parse_ir",
    "torch.parse_schema",
    "torch.init_num_threads",
    "torch.get_file_path",
    "torch.prepare_multiprocessing_environment",
    "torch.set_deterministic_debug_mode",
    "torch.unify_type_list",
    "torch.merge_type_from_type_comment",
    "torch.parse_type_comment",
]


#: names that every object or module has
OF_ANY_OBJECT = frozenset([*dir(object), *dir(types.ModuleType)])


def _find(path: str) -> Any:
    value: Any = torch
    for name in path.split(".")[1:]:
        value = getattr(value, name, None)
    return value


@functools.cache
def _tables() -> dict[int, tuple[str, Any]]:
    """The id of a function of torch -> (kind, the function).

    The table keeps the functions alive. A look-up makes new objects for some, whose ids would be used again.
    """
    table: dict[int, tuple[str, Any]] = {}
    for path in NAMESPACES:
        namespace = _find(path)
        for name in set(dir(namespace)) - OF_ANY_OBJECT:
            value = getattr(namespace, name, None)
            if isinstance(value, types.BuiltinFunctionType) or _is_operation(value):
                table[id(value)] = ("graph", value)
    for kind, paths in (
        ("constant", CONSTANT_FUNCTIONS),
        ("state", STATE_FUNCTIONS),
        ("outside", OUTSIDE_FUNCTIONS),
    ):
        for path in paths:
            found = _find(path)
            if found is not None and not isinstance(found, type):
                table[id(found)] = (kind, found)
    for function in process_flags.SETTERS:
        table[id(function)] = ("state", function)
    for function in process_flags.READERS:
        table[id(function)] = ("constant", function)
    return table


def _is_operation(function: Any) -> bool:
    """Whether it is a public Python function of torch. Private helpers (checks of dtypes) are inlined."""
    return (
        isinstance(function, types.FunctionType)
        and function.__module__ in OPERATION_MODULES
        and not function.__name__.startswith("_")
    )


def kind_of(function: Any) -> str | None:
    held = _tables().get(id(function))
    if held is not None:
        return held[0]
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return "graph"
    if isinstance(function, types.FunctionType):
        name = function.__module__
        if _is_operation(function):
            return "graph"
        if name == "torch.jit" or (name or "").startswith("torch.jit."):
            return None if is_plain_python(function) else "outside"
        return None
    if isinstance(function, (types.BuiltinFunctionType, types.MethodDescriptorType)):
        module = getattr(function, "__module__", None) or ""
        owner = getattr(function, "__self__", None)
        if module.startswith("torch") or getattr(owner, "__name__", "").startswith("torch"):
            return "outside"
    return None
