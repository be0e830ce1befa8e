"""Matrix products: row-major results.

In:  the factors.
Out: the `Spec` of the product.

    mm(f32[3, 4], f32[4, 5])   ->   Spec((3, 5), (5, 1), f32)
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.fake.shapes.spec import contiguous, shape_rule


def product(left: torch.Tensor, right: torch.Tensor, rank: int) -> Any:
    fits = (
        left.dim() == right.dim() == rank and left.dtype is right.dtype and left.shape[-1] == right.shape[-2]
    )
    if not fits or left.shape[:-2] != right.shape[:-2]:
        return NotImplemented
    return contiguous((*left.shape[:-1], right.shape[-1]), left.dtype)


@shape_rule("mm")
def mm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return product(args[0], args[1], 2)


@shape_rule("bmm")
def bmm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return product(args[0], args[1], 3)


def with_bias(bias: torch.Tensor, spec: Any) -> Any:
    if spec is NotImplemented or bias.dtype is not spec.dtype or bias.dim() > len(spec.shape):
        return NotImplemented
    fits = all(size in (1, other) for size, other in zip(reversed(bias.shape), reversed(spec.shape)))
    return spec if fits else NotImplemented


@shape_rule("addmm")
def addmm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return with_bias(args[0], product(args[1], args[2], 2))


@shape_rule("baddbmm")
def baddbmm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return with_bias(args[0], product(args[1], args[2], 3))


@shape_rule("mv")
def mv(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    matrix, vector = args
    fits = (
        matrix.dim() == 2
        and vector.dim() == 1
        and matrix.shape[1] == vector.shape[0]
        and matrix.dtype is vector.dtype
    )
    return contiguous((matrix.shape[0],), matrix.dtype) if fits else NotImplemented


@shape_rule("addmv")
def addmv(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return with_bias(args[0], mv(args[1:3], kwargs))


@shape_rule("dot")
def dot(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    left, right = args
    fits = left.dim() == right.dim() == 1 and left.shape == right.shape and left.dtype is right.dtype
    return contiguous((), left.dtype) if fits else NotImplemented
