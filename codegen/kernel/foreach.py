"""Operators over lists of tensors, as one operator for each tensor.

In:  a call that optimizers and gradient clipping make with `foreach=True`.
Out: the operator on each tensor, one after the other.

    aten._foreach_add_.List([p0, p1], [g0, g1], alpha=-0.1)
    ->  aten.add_.Tensor(p0, g0, alpha=-0.1); aten.add_.Tensor(p1, g1, alpha=-0.1)

Eager does the same on the CPU: tensors that share memory see each other's writes. A rule declines lists that
eager refuses: the operator itself raises its error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._ops import OpOverload

aten = torch.ops.aten

#: name -> the overloads whose last operand is a tensor and a number
BINARY = {
    **dict.fromkeys(("add", "sub", "mul", "div"), ("Tensor", "Scalar")),
    **dict.fromkeys(("clamp_min", "clamp_max"), ("Tensor", "default")),
    "pow": ("Tensor_Tensor", "Tensor_Scalar"),
    "pow_": ("Tensor", "Scalar"),
    "lerp": ("Tensor", "Scalar"),
}
SAME_AS = {"maximum": "clamp_min", "minimum": "clamp_max"}
UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac",
    "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "copy",
)  # fmt: skip


def each(op: Callable[..., Any], in_place: bool) -> Callable[..., Any]:
    """`op` on each item of the arguments that are lists."""

    def run(*args: Any, **kwargs: Any) -> Any:
        lists = [value for value in (*args, *kwargs.values()) if isinstance(value, (list, tuple))]
        length = len(lists[0])
        if not length or any(len(value) != length for value in lists):
            return NotImplemented
        results = [
            op(
                *(item_of(value, i) for value in args),
                **{k: item_of(value, i) for k, value in kwargs.items()},
            )
            for i in range(length)
        ]
        return None if in_place else results

    return run


def item_of(value: Any, i: int) -> Any:
    return value[i] if isinstance(value, (list, tuple)) else value


def with_value(op: OpOverload) -> Callable[..., Any]:
    """addcmul and addcdiv take the factor by name; the operator over lists also takes it by position."""

    def run(*args: Any, value: Any = 1, scalars: Any = None) -> Any:
        factor = args[3] if len(args) > 3 else value if scalars is None else scalars
        return op(*args[:3], value=factor)

    return run


def norm(tensors: list[torch.Tensor], ord: Any = 2, dtype: torch.dtype | None = None) -> Any:
    if not tensors:
        return NotImplemented
    return [aten.linalg_vector_norm.default(tensor, ord, dtype=dtype) for tensor in tensors]


def unscale(grads: list[torch.Tensor], found_inf: torch.Tensor, inv_scale: torch.Tensor) -> Any:
    """What `GradScaler` does to gradients: multiplies them, and sets a flag where one was not finite."""
    scalars = found_inf, inv_scale
    if not grads or any(each.numel() != 1 or each.dtype != torch.float32 for each in scalars):
        return NotImplemented
    factor = inv_scale.reshape(())
    for grad in grads:
        found_inf.copy_(torch.where(torch.isfinite(grad).all(), found_inf, 1.0))
        exact = torch.float32 if grad.dtype in (torch.bfloat16, torch.float16) else grad.dtype
        grad.copy_(grad.to(exact) * factor)
    return None


def overloads(name: str) -> Iterator[OpOverload]:
    """The overloads of the operator over lists that return their results or write in place (not `out=`)."""
    packet = getattr(aten, f"_foreach_{name}", None)
    for overload in packet.overloads() if packet is not None else ():
        op = getattr(packet, overload)
        if not overload.endswith("out") and str(op._schema.arguments[0].type) == "List[Tensor]":
            yield op


def _entries(name: str, suffix: str) -> Iterator[tuple[OpOverload, Callable[..., Any]]]:
    base = SAME_AS.get(name, name)
    packet = getattr(aten, base + suffix)
    for op in overloads(name + suffix):
        if op._overloadname == "Tensor" and base not in ("mul", "div"):
            continue  # eager reads the number out of the tensor
        if base in UNARY:
            yield op, each(packet.default, bool(suffix))
        elif base in BINARY:
            by_tensor, by_number = BINARY.get(base + suffix, BINARY[base])
            form = by_tensor if op._overloadname in ("List", "Tensor") else by_number
            yield op, each(getattr(packet, form), bool(suffix))
        else:
            yield op, each(with_value(packet.default), bool(suffix))


NAMES = (*UNARY, *(BINARY.keys() - {"pow_"}), *SAME_AS, "addcmul", "addcdiv")
FOREACH: dict[OpOverload, Callable[..., Any]] = {
    op: rule for name in NAMES for suffix in ("", "_") for op, rule in _entries(name, suffix)
}
FOREACH |= {
    aten._foreach_norm.Scalar: norm,
    aten._foreach_zero_.default: each(aten.zero_.default, True),
    aten._amp_foreach_non_finite_check_and_unscale_.default: unscale,
}
