"""Operators that torch does not define, on fake tensors.

In:  an operator of the program or of a library, and fake tensors.
Out: what its registered fake rule gives; without one, what its meta kernel gives. An exception where that
     rule can't know what a call does.

    @blur.register_fake
    def _(x): return torch.empty_like(x)          blur(f32[3, 4])   ->   f32[3, 4]

The rule is trusted for the layouts of results (native code checks these when it runs). It can't know two
things: numbers among the results, and gradients of an operator that has no derivative, which in eager its own
operations may record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch._library import fake_impl, simple_registry
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import DataDependentOutputException, UnsupportedOperatorException
from torch.utils import _pytree as pytree

from codegen.fake.known_values import tensors_in

if TYPE_CHECKING:
    from codegen.fake.fake import FakeMode

DERIVATIVE_KEYS = ("Autograd", "AutogradCPU")


def run_foreign(
    mode: FakeMode,
    func: OpOverload,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    otherwise: Callable[..., Any],
) -> Any:
    """`otherwise` runs an operator without a fake rule of its own."""
    kernel = simple_registry.singleton.find(func.name()).fake_impl.kernel
    if kernel is None:
        results = otherwise(mode, func, args, kwargs)
    else:
        context = fake_impl.FakeImplCtx(mode, func)
        with fake_impl.set_ctx_getter(lambda: context), mode:
            results = kernel(*args, **kwargs)
    if not all(leaf is None or isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(results)):
        raise DataDependentOutputException(func)
    if may_have_gradients(func, results) and records_gradients_inside(func, (*args, *kwargs.values())):
        raise UnsupportedOperatorException(func)
    return results


def may_have_gradients(func: OpOverload, results: Any) -> bool:
    """Whether the call gives tensors that autograd can record: no indices, masks or counts."""
    given = tensors_in(results if isinstance(results, (tuple, list)) else (results,))
    return func._schema.is_mutable or any(t.is_floating_point() or t.is_complex() for t in given)


def records_gradients_inside(func: OpOverload, values: tuple[Any, ...]) -> bool:
    """Whether eager's gradients come from the operations inside of the operator's kernel."""
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors_in(values)):
        return False
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return not any(
        has_kernel(func.name(), key) or getattr(torch._C.DispatchKey, key) in func.py_kernels
        for key in DERIVATIVE_KEYS
    )
