"""What an optimizer does to a parameter, element by element.

In:  the contents of the parameter, its gradient and its states, as `TensorExpr`.
Out: the definitions of their new contents.

    adam(p, g, m, v, None, step)   ->   p - rate * m1 / (sqrt(v1) / correction + eps), m1, v1

The operations and their order are those of `codegen/trace/updates.py`. Numbers of one step (corrections of
the averages, the rate) are float64, as in Python.
"""

from __future__ import annotations

from typing import Any

from codegen.lower.registry import lowering
from codegen.lower.scalar_math import add, apply, mul, sub
from codegen.lower.tensor_expr import TensorExpr, cast, expand, fill
from codegen.trace import updates

Definitions = tuple[TensorExpr, ...]


def _number(value: Any, like: TensorExpr) -> TensorExpr:
    """A number of one step, for all elements."""
    if not isinstance(value, TensorExpr):
        return fill(like.shape, like.dtype, value)
    return expand(cast(value, like.dtype), like.shape)


def _of_step(value: Any) -> Any:
    """A number, or a definition without dims in float64."""
    return cast(value, "f64") if isinstance(value, TensorExpr) else value


def _lerp(start: TensorExpr, end: TensorExpr, weight: float) -> TensorExpr:
    """The formula with the smaller error, as in eager."""
    distance = sub(end, start)
    return add(start, mul(distance, weight)) if abs(weight) < 0.5 else sub(end, mul(distance, 1 - weight))


def _with_decay(grad: TensorExpr, param: TensorExpr, weight_decay: float, maximize: bool) -> TensorExpr:
    grad = apply("neg", grad) if maximize else grad
    return add(grad, mul(param, weight_decay)) if weight_decay != 0 else grad


@lowering(updates.adam)
def adam(
    ctx: Any,
    param: TensorExpr,
    grad: TensorExpr,
    exp_avg: TensorExpr,
    exp_avg_sq: TensorExpr,
    max_exp_avg_sq: TensorExpr | None,
    step: TensorExpr,
    *,
    lr: Any,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    decoupled: bool,
) -> Definitions:
    lr, step = _of_step(lr), _of_step(step)
    grad = _with_decay(grad, param, 0 if decoupled else weight_decay, maximize)
    if decoupled and weight_decay != 0:
        kept = sub(1.0, mul(lr, weight_decay)) if isinstance(lr, TensorExpr) else 1 - lr * weight_decay
        param = mul(param, _number(kept, param))
    exp_avg = _lerp(exp_avg, grad, 1 - beta1)
    exp_avg_sq = add(mul(exp_avg_sq, beta2), mul(mul(grad, 1 - beta2), grad))
    largest = exp_avg_sq if max_exp_avg_sq is None else apply("max", max_exp_avg_sq, exp_avg_sq)
    correction = apply("sqrt", sub(1.0, apply("pow", beta2, step)))
    rate = apply("neg", apply("div", lr, sub(1.0, apply("pow", beta1, step))))
    denominator = add(apply("div", apply("sqrt", largest), _number(correction, param)), eps)
    param = add(param, apply("div", mul(exp_avg, _number(rate, param)), denominator))
    return (param, exp_avg, exp_avg_sq) if max_exp_avg_sq is None else (param, exp_avg, exp_avg_sq, largest)


@lowering(updates.sgd)
def sgd(
    ctx: Any,
    param: TensorExpr,
    grad: TensorExpr,
    momentum_buffer: TensorExpr | None,
    *,
    weight_decay: float,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
) -> Definitions:
    rate = apply("neg", _of_step(lr)) if isinstance(lr, TensorExpr) else -lr
    grad = _with_decay(grad, param, weight_decay, maximize)
    scaled = _number(rate, param)
    if momentum_buffer is None:
        return (add(param, mul(grad, scaled)),)
    buffer = grad if is_first_step else add(mul(momentum_buffer, momentum), mul(grad, 1 - dampening))
    change = add(grad, mul(buffer, momentum)) if nesterov else buffer
    return add(param, mul(change, scaled)), buffer
