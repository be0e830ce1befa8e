"""Worlds of the process: modes, flags, random states, patched library functions, the environment."""

from __future__ import annotations

import builtins
import contextvars
import decimal
import functools
import math
import operator
import os
import threading

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.capture.worlds.registry import WORLDS, World, X

W = torch.ones(4, 4, requires_grad=True)
LOCAL = threading.local()
VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=1)
entered = []


def enter(context):
    entered.append(context)
    context.__enter__()


def leave_all():
    while entered:
        entered.pop().__exit__(None, None, None)


class DoublesFunctions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return result * 2 if function is torch.sin else result


class DoublesOperators(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return result * 2 if function is torch.ops.aten.sin.default else result


def autocast_type():
    with torch.autocast("cpu"):
        return (X @ W).dtype


def gradient_through_saved():
    a = torch.ones(4, requires_grad=True)
    (a * a).sum().backward()
    return a.grad


def attention():
    """It is an error if every kernel is forbidden."""
    query = X.reshape(1, 1, 3, 4)
    try:
        return torch.nn.functional.scaled_dot_product_attention(query, query, query)
    except RuntimeError:
        return X


def allow_attention(allowed):
    torch.backends.cuda.enable_math_sdp(allowed)
    torch.backends.cuda.enable_flash_sdp(allowed)


def autocast_weight():
    """Casts of weights are kept only in the outermost block."""
    with torch.autocast("cpu"):
        return X @ W


def add_to_weight():
    with torch.no_grad():
        W.add_(1)


def nothing():
    pass


def patch(owner, name, value):
    """(change, restore)"""
    real = getattr(owner, name)
    return (lambda: setattr(owner, name, value)), (lambda: setattr(owner, name, real))


def switch(setter, new, old):
    return (lambda: setter(new)), (lambda: setter(old))


#: name, the called function, (the change, the function that undoes it)
ROWS = [
    ("grad_mode_in_arithmetic", lambda: X + torch.is_grad_enabled(),
     (lambda: torch.set_grad_enabled(False), nothing)),
    ("inference_mode", lambda: ((X + 1).is_inference(), (X @ W).requires_grad),
     (lambda: enter(torch.inference_mode()), leave_all)),
    ("inference_mode_read", lambda: X + torch.is_inference_mode_enabled(),
     (lambda: enter(torch.inference_mode()), leave_all)),
    ("default_dtype_read", lambda: (X + 1, torch.get_default_dtype()),
     switch(torch.set_default_dtype, torch.float64, torch.float32)),
    ("default_dtype_of_number", lambda: torch.tensor(1.5).dtype,
     switch(torch.set_default_dtype, torch.float64, torch.float32)),
    ("default_device", lambda: torch.ones(3).device.type, switch(torch.set_default_device, "meta", None)),
    ("autocast_dtype", autocast_type,
     switch(lambda d: torch.set_autocast_dtype("cpu", d), torch.float16, torch.bfloat16)),
    ("autocast_read", lambda: X + torch.is_autocast_enabled("cpu"),
     (lambda: torch.set_autocast_enabled("cpu", True), nothing)),
    ("autocast_weight_updated", autocast_weight, (add_to_weight, lambda: W.data.fill_(1))),
    ("deterministic", lambda: (X + 1, torch.are_deterministic_algorithms_enabled()),
     switch(torch.use_deterministic_algorithms, True, False)),
    ("threads", lambda: (X + 1, torch.get_num_threads()),
     switch(torch.set_num_threads, torch.get_num_threads() + 1, torch.get_num_threads())),
    ("matmul_precision", lambda: (X @ W, torch.get_float32_matmul_precision()),
     switch(torch.set_float32_matmul_precision, "high", "highest")),
    ("anomaly_check", lambda: (X + 1, torch.is_anomaly_check_nan_enabled()),
     switch(lambda check: torch.autograd.set_detect_anomaly(False, check_nan=check), False, True)),
    ("anomaly_mode", lambda: (X + 1, torch.is_anomaly_enabled()),
     switch(torch.autograd.set_detect_anomaly, True, False)),
    ("mkldnn_flag", lambda: (X @ W, torch.backends.mkldnn.enabled),
     switch(torch.backends.mkldnn.set_flags, False, True)),
    ("seed", lambda: X + torch.rand(4), (lambda: torch.manual_seed(3), nothing)),
    ("random_state", lambda: X + torch.rand(4),
     (lambda: torch.set_rng_state(torch.Generator().manual_seed(5).get_state()), nothing)),
    ("function_mode", lambda: torch.sin(X), (lambda: enter(DoublesFunctions()), leave_all)),
    ("dispatch_mode", lambda: torch.sin(X), (lambda: enter(DoublesOperators()), leave_all)),
    ("saved_tensor_hooks", gradient_through_saved,
     (lambda: enter(torch.autograd.graph.saved_tensors_hooks(lambda t: 0 * t, lambda t: t)), leave_all)),
    ("thread_local", lambda: X + getattr(LOCAL, "k", 1),
     (lambda: setattr(LOCAL, "k", 5), lambda: LOCAL.__dict__.clear())),
    ("context_variable", lambda: X + VARIABLE.get(), switch(VARIABLE.set, 5, 1)),
    ("thread_name", lambda: X + len(threading.current_thread().name),
     patch(threading.current_thread(), "name", "a longer name")),
    ("working_directory", lambda: X + len(os.getcwd()), switch(os.chdir, "/", os.getcwd())),
    ("decimal_context", lambda: X + float(decimal.Decimal(1) / decimal.Decimal(3)),
     patch(decimal.getcontext(), "prec", 3)),
    ("math_function", lambda: X + math.sqrt(4), patch(math, "sqrt", lambda value: 9.0)),
    ("math_constant", lambda: X + math.e, patch(math, "e", 1.0)),
    ("operator_function", lambda: operator.add(X, 1), patch(operator, "add", lambda a, b: a * 5)),
    ("functools_function", lambda: X + functools.reduce(lambda a, b: a + b, [1, 2]),
     patch(functools, "reduce", lambda f, items: 50)),
    ("attribute_of_the_class_of_tensors", lambda: X + getattr(X, "zz_added", 1),
     (lambda: setattr(torch.Tensor, "zz_added", 5), lambda: delattr(torch.Tensor, "zz_added"))),
    ("method_of_the_class_of_tensors", lambda: X.zz_added() if hasattr(X, "zz_added") else X,
     (lambda: setattr(torch.Tensor, "zz_added", lambda t: t * 5), lambda: delattr(torch.Tensor, "zz_added"))),
    ("attention_kernels", attention, (lambda: allow_attention(False), lambda: allow_attention(True))),
    ("built_in_function", lambda: X + len([1, 2]) + sum([1, 2]), patch(builtins, "sum", lambda items: 70)),
    ("built_in_function_that_translations_call", lambda: X + len([1, 2]) + abs(-1),
     patch(builtins, "len", lambda items: 7)),
    ("numpy_constant", lambda: X + np.pi, patch(np, "pi", 3.0)),
]  # fmt: skip


def make_world(body, changes):
    change, restore = changes

    def f():
        return body()

    f.restore = restore
    return f, change


for name, *parts in ROWS:
    WORLDS.append(World(name, lambda parts=parts: make_world(*parts)))


#: the same for functions of torch that the program replaces by a function that calls them
def patch_around(owner, name, make):
    real = getattr(owner, name)
    return (lambda: setattr(owner, name, make(real))), (lambda: setattr(owner, name, real))


def add_one(function):
    return lambda *args, **kwargs: function(*args, **kwargs) + 1


F = torch.nn.functional
LAYER, LOSS = torch.nn.LayerNorm(4), torch.nn.CrossEntropyLoss()

#: name, the called function, (the change, the function that undoes it)
WRAPPED = [
    ("function_wrapped", lambda: torch.sin(X), patch_around(torch, "sin", add_one)),
    ("function_wrapped_next_to_its_method", lambda: (torch.sin(X), X.sin()),
     patch_around(torch, "sin", add_one)),
    ("functional_wrapped", lambda: F.softmax(X, 0), patch_around(F, "softmax", add_one)),
    ("functional_of_a_layer_wrapped", lambda: LAYER(X), patch_around(F, "layer_norm", add_one)),
    ("functional_of_a_loss_wrapped", lambda: LOSS(X, torch.tensor([0, 1, 2])),
     patch_around(F, "cross_entropy", add_one)),
    ("function_behind_a_functional_wrapped", lambda: F.relu(X - 3), patch_around(torch, "relu", add_one)),
    ("linear_algebra_wrapped", lambda: torch.linalg.vector_norm(X),
     patch_around(torch.linalg, "vector_norm", add_one)),
]  # fmt: skip

for name, *parts in WRAPPED:
    WORLDS.append(World(name, lambda parts=parts: make_world(*parts)))
