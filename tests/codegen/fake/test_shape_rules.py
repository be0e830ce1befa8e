"""Shape rules against eager: sizes, strides and dtypes of the results; what eager refuses, they refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from codegen.fake.fake import fake_mode
from codegen.fake.twins import to_fake

aten = torch.ops.aten
FLASH = aten._scaled_dot_product_flash_attention_for_cpu
FLASH_BACKWARD = aten._scaled_dot_product_flash_attention_for_cpu_backward


def layouts(results: Any) -> Any:
    if isinstance(results, torch.Tensor):
        return tuple(results.shape), results.stride(), results.dtype
    return [layouts(one) for one in results] if isinstance(results, (list, tuple)) else results


def of_shapes(*shapes: Sequence[int], dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [torch.full(shape, 0.5, dtype=dtype) for shape in shapes]


def inside_out(*shape: int) -> torch.Tensor:
    return torch.full((shape[0], shape[2], shape[1], *shape[3:]), 0.5).transpose(1, 2)


def attend(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    result, sums = FLASH(query, key, value, 0.0, False, attn_mask=mask)
    gradients = FLASH_BACKWARD(result, query, key, value, result, sums, 0.0, False, attn_mask=mask)
    return [result, sums, *gradients]


def group_norm(x: Any, weight: Any) -> Any:
    sizes = x.shape[0], x.shape[1], x[0, 0].numel(), 2
    result, mean, rstd = aten.native_group_norm(x, weight, weight, *sizes, 1e-5)
    gradients = aten.native_group_norm_backward(x, x, mean, rstd, weight, *sizes, [True] * 3)
    return [result, mean, rstd, *gradients]


def foreach(xs: Any, ys: Any) -> Any:
    torch._foreach_mul_(xs, 2)
    torch._foreach_addcdiv_(xs, ys, ys, [1.0, 2.0])
    torch._foreach_lerp_(xs, ys, 0.5)
    return [
        *torch._foreach_add(xs, ys, alpha=2),
        *torch._foreach_sqrt(xs),
        *torch._foreach_norm(ys, 1),
        xs[0],
    ]


def norms(x: Any) -> Any:
    norm = torch.linalg.vector_norm
    return [norm(x), norm(x, 1, -1), norm(x, float("inf"), (0, 1), True), norm(x, dtype=torch.float64)]


def losses(x: torch.Tensor, y: torch.Tensor) -> list[Any]:
    functions = (F.smooth_l1_loss, F.huber_loss, F.soft_margin_loss)
    return [f(x, y, reduction=r) for f in functions for r in ("none", "mean", "sum")]


def logits(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> list[Any]:
    loss = F.binary_cross_entropy_with_logits
    plain = [loss(x, y, reduction=r) for r in ("none", "mean", "sum")]
    return [*plain, loss(x, y, weight, reduction="none"), loss(x, y, pos_weight=weight)]


def changed_copies(x: torch.Tensor, row: torch.Tensor) -> list[Any]:
    return [
        aten.select_scatter(x, x.select(1, 0), 1, -1),
        aten.slice_scatter(x, x[:, :2], 1, 0, 2),
        aten.slice_scatter(x, x[:, -1:], -x.dim() + 1, -1),
        aten.slice_scatter(x, x[:, ::2], 1, 0, 9, 2),
        aten.copy(x, row),
        aten.copy(x, x.double()),
        x.masked_fill(row > 0, 1),
        row.masked_fill(x > 0, float("inf")),
        row.masked_fill(x[0, 0, 0:1] > 0, True) if x.numel() else row,
        x.clone().masked_fill_(row > 0, 2.5),
    ]


Case = tuple[Callable[..., Any], list[Any]]
SAME: dict[str, Case] = {
    "attention": (attend, of_shapes((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8))),
    "attention of one token": (attend, of_shapes((1, 3, 1, 8), (1, 3, 7, 8), (1, 3, 7, 8))),
    "attention of bfloat16": (
        attend,
        of_shapes((2, 1, 5, 8), (2, 1, 5, 8), (2, 1, 5, 8), dtype=torch.bfloat16),
    ),
    "attention of float64": (
        attend,
        of_shapes((2, 1, 5, 8), (2, 1, 5, 8), (2, 1, 5, 8), dtype=torch.float64),
    ),
    "attention of split heads": (attend, [inside_out(2, 3, 5, 8) for _ in range(3)]),
    "attention of slices": (attend, list(of_shapes((2, 5, 3, 24))[0].transpose(1, 2).split(8, -1))),
    "attention of repeated queries": (
        attend,
        [torch.ones(2, 1, 5, 8).expand(2, 3, 5, 8), *of_shapes((2, 3, 7, 8), (2, 3, 7, 8))],
    ),
    "attention with a mask": (attend, of_shapes((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8), (2, 1, 1, 7))),
    "safe softmax": (lambda x: [aten._safe_softmax(x, dim) for dim in range(-1, 3)], of_shapes((1, 3, 4))),
    "safe softmax across": (lambda x: aten._safe_softmax(x, 1), [inside_out(2, 3, 1, 4)]),
    "norms": (norms, of_shapes((2, 3, 4))),
    "norms across": (norms, [inside_out(2, 3, 4)]),
    "norms of bfloat16": (norms, of_shapes((2, 3, 1), dtype=torch.bfloat16)),
    "group norm": (group_norm, of_shapes((2, 6, 4, 3), (6,))),
    "group norm of rows": (group_norm, of_shapes((3, 4), (4,))),
    "group norm of pixels": (
        group_norm,
        [of_shapes((2, 4, 3, 3))[0].to(memory_format=torch.channels_last), *of_shapes((4,))],
    ),
    "lists": (foreach, [[inside_out(2, 3, 4), *of_shapes((3, 1))], of_shapes((2, 3, 4), (3, 1))]),
    "lists of two dtypes": (
        foreach,
        [[*of_shapes((3,)), *of_shapes((2,), dtype=torch.float64)] for _ in range(2)],
    ),
    "cross entropy": (lambda x: aten.binary_cross_entropy(x, x), of_shapes((2, 3))),
    "cross entropy of elements": (
        lambda x: aten.binary_cross_entropy(x, x, None, 0),
        [inside_out(2, 3, 4)],
    ),
    "cross entropy of logits": (logits, of_shapes((2, 3), (2, 3), (3,))),
    "losses": (losses, of_shapes((2, 3), (2, 3))),
    "losses of bfloat16": (losses, of_shapes((2, 3), (2, 3), dtype=torch.bfloat16)),
    "losses across": (losses, [inside_out(2, 3, 4), *of_shapes((2, 3, 4))]),
    "a matrix times a vector": (
        lambda x, y, b: [aten.addmv(b, x, y), aten.addmv(b[:1], x, y), aten.addmv(b[0], x, y, alpha=2)],
        of_shapes((2, 3), (3,), (2,)),
    ),
    **{
        f"changed copies of {name}": (changed_copies, [tensor, torch.ones(tensor.shape[-1])])
        for name, tensor in {
            "rows": torch.ones(2, 3, 4),
            "rows of one": torch.ones(1, 3, 4).as_strided((1, 3, 4), (7, 4, 1)),
            "columns": inside_out(2, 3, 4),
            "pixels": torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
            "a part": torch.ones(2, 3, 8)[:, :, ::2],
            "repeated rows": torch.ones(1, 3, 1).expand(2, 3, 4),
            "no rows": torch.ones(0, 3, 4),
        }.items()
    },
    "truth": (lambda x: [aten._is_all_true(x > 0), aten._is_any_true(x[:0] > 0)], of_shapes((2, 3))),
    "random integers": (lambda: [torch.randint(5, (2, 3)), torch.randint(1, 5, (), dtype=torch.int32)], []),
    "draws": (lambda x: [torch.multinomial(x, 2), torch.multinomial(x[0], 9, True)], of_shapes((2, 3))),
}


@pytest.mark.parametrize("name", SAME)
def test_results_are_laid_out_as_in_eager(name: str) -> None:
    function, args = SAME[name]
    mode = fake_mode()
    twins = [[to_fake(mode, x) for x in arg] if isinstance(arg, list) else to_fake(mode, arg) for arg in args]
    with mode:
        found = layouts(function(*twins))
    assert found == layouts(function(*args))


REFUSED: dict[str, Case] = {
    "a norm over a missing dim": (lambda x: torch.linalg.vector_norm(x, 2, 3), of_shapes((2, 3))),
    "losses of two shapes": (lambda x, y: aten.soft_margin_loss(x, y), of_shapes((2, 3), (4,))),
    "logits of two shapes": (
        lambda x, y: aten.binary_cross_entropy_with_logits(x, y),
        of_shapes((2, 3), (4,)),
    ),
    "a bias of another length": (torch.addmv, of_shapes((3,), (2, 3), (3,))),
    "a norm of integers": (lambda x: torch.linalg.vector_norm(x.long()), of_shapes((2, 3))),
    "groups that do not divide": (group_norm, of_shapes((2, 5, 4), (5,))),
    "weights of another size": (group_norm, of_shapes((2, 6, 4), (4,))),
    "lists that do not fit": (lambda x, y: torch._foreach_add([x], [y]), of_shapes((2, 3), (4,))),
    "lists of two lengths": (lambda x: torch._foreach_add([x], [x, x]), of_shapes((2, 3))),
    "a part of another shape": (lambda x, y: aten.select_scatter(x, y, 0, 0), of_shapes((2, 3), (2,))),
    "a part behind the end": (lambda x, y: aten.select_scatter(x, y, 0, 2), of_shapes((2, 3), (3,))),
    "a slice of another length": (lambda x, y: aten.slice_scatter(x, y, 0, 1), of_shapes((2, 3), (2, 3))),
    "a copy of another shape": (lambda x, y: aten.copy(x, y), of_shapes((2, 3), (4,))),
    "a mask of another shape": (lambda x, y: x.masked_fill(y > 0, 1), of_shapes((2, 3), (4,))),
    "a mask of floats": (lambda x, y: x.masked_fill(y, 1), of_shapes((2, 3), (3,))),
    "a mask with more rows": (lambda x, y: x.masked_fill_(y > 0, 1), of_shapes((2, 3), (4, 2, 3))),
    "truth of floats": (lambda x: aten._is_all_true(x), of_shapes((2, 3))),
    "no integer to draw": (lambda: torch.randint(3, 3, (2,)), []),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_eager_refuses(name: str) -> None:
    function, args = REFUSED[name]
    with pytest.raises((RuntimeError, IndexError)):
        function(*args)
    mode = fake_mode()
    twins = [to_fake(mode, arg) for arg in args]
    with mode, pytest.raises((RuntimeError, IndexError)):
        function(*twins)


def test_a_write_to_a_list_counts_once() -> None:
    mode = fake_mode()
    tensors = [torch.ones(3), torch.ones(2)]
    twins = [to_fake(mode, tensor) for tensor in tensors]
    before = [twin._version for twin in twins]
    with mode:
        torch._foreach_add_(twins, 1)
    torch._foreach_add_(tensors, 1)
    assert [twin._version - old for twin, old in zip(twins, before)] == [
        tensor._version for tensor in tensors
    ]
