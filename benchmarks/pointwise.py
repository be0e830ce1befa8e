"""Elementwise kernels against eager: `python -m benchmarks.pointwise`."""

from __future__ import annotations

import torch

from benchmarks.kernel_timing import header, report
from codegen.kernel.ir import AxisVar, Buffer, Const, ConstOp, Kernel, Load, Loop, Op, Stmt, Store


def elementwise(
    name: str, count: int, inputs: list[str], body: list[Stmt], result: int, split: str | None = None
) -> Kernel:
    """`body` on the loaded inputs; their values are numbered from 0 in their order."""
    i = AxisVar("i")
    loads = [Load(number, buffer, i, "f32") for number, buffer in enumerate(inputs)]
    loop = Loop("i", Const(count), [*loads, *body, Store("out", i, result)], parallel=True, vector=True)
    buffers = (*(Buffer(buffer, "f32") for buffer in inputs), Buffer("out", "f32", writable=True))
    return Kernel(name, buffers, (), [loop], split=split)


def axpy(count: int) -> Kernel:
    """x * y + 1"""
    body = [Op(2, "mul", (0, 1), "f32"), ConstOp(3, 1.0, "f32"), Op(4, "add", (2, 3), "f32")]
    return elementwise("axpy", count, ["x", "y"], body, 4)


def chain(count: int) -> Kernel:
    """Ten operations, four of them transcendental."""
    names = ["mul", "add", "sigmoid", "mul", "exp", "tanh", "add", "neg", "exp", "mul"]
    body: list[Stmt] = [ConstOp(2, 0.5, "f32")]
    value, number = 0, 3
    for name in names:
        second = {"mul": 1, "add": 2}.get(name)
        body.append(Op(number, name, (value,) if second is None else (value, second), "f32"))
        value, number = number, number + 1
    return elementwise("chain", count, ["x", "y"], body, value)


def eager_chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (-(((x * y + 0.5).sigmoid() * y).exp().tanh() + 0.5)).exp() * y


def unary(name: str, count: int) -> Kernel:
    return elementwise(name, count, ["x"], [Op(1, name, (0,), "f32")], 1)


def main() -> None:
    header()
    for count in (4, 1000, 100_000, 10_000_000):
        x, y, out = torch.randn(count), torch.randn(count), torch.empty(count)
        tensors = {"x": x, "y": y, "out": out}
        report(f"x * y + 1, {count}", axpy(count), tensors, lambda x=x, y=y: x * y + 1)
        report(f"chain of 10, {count}", chain(count), tensors, lambda x=x, y=y: eager_chain(x, y))
    x, out = torch.rand(100_000), torch.empty(100_000)
    for name in (
        "exp",
        "exp2",
        "log",
        "tanh",
        "sigmoid",
        "erf",
        "sin",
        "log1p",
        "expm1",
        "rsqrt",
        "sqrt",
        "atan",
        "sinh",
    ):
        report(
            f"{name}, 100000",
            unary(name, 100_000),
            {"x": x, "out": out},
            lambda name=name: getattr(torch, name)(x),
            0.2,
        )


if __name__ == "__main__":
    main()
