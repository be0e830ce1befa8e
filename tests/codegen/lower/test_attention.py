"""Keys and values that are repeated for groups of heads: the operator gets them unrepeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import capture
from capture.report.config import config
from codegen.launch import assembly
from codegen.rewrite import attention

GROUPS, LENGTH, WIDTH = 2, 12, 16


@pytest.fixture(autouse=True)
def no_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sequences stay with the operator, too."""
    monkeypatch.setattr(attention, "MOST_SCORES", 0)


def repeated(x: Tensor, times: int) -> Tensor:
    b, g, s, d = x.shape
    return x[:, :, None, :, :].expand(b, g, times, s, d).reshape(b, g * times, s, d)


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, repeated(k, 3), repeated(v, 3))


def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mask = (torch.arange(LENGTH) < 7)[None, None, None]
    return F.scaled_dot_product_attention(q, repeated(k, 3), repeated(v, 3), attn_mask=mask, scale=0.5)


def masked_by_head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mask = torch.arange(6.0)[None, :, None, None] * torch.arange(LENGTH) / 8
    return F.scaled_dot_product_attention(q, repeated(k, 3), repeated(v, 3), attn_mask=mask)


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, repeated(k, 3), repeated(v, 3), is_causal=True)


def of_a_part(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = k[:, :, 2:9], v[:, :, 2:9] * 2
    return F.scaled_dot_product_attention(q, repeated(k, 3), repeated(v, 3)).transpose(1, 2).flatten(2)


TAKEN = [plain, masked, masked_by_head, causal, of_a_part]


def values_otherwise(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, repeated(k, 3), v.repeat(1, 3, 1, 1))


def another_order(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (x[:, None].expand(-1, 3, -1, -1, -1).reshape(2, 6, LENGTH, WIDTH) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v)


def across(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (x.mT.contiguous().mT for x in (k, v))
    return F.scaled_dot_product_attention(q, repeated(k, 3), repeated(v, 3))


def inputs(length: int) -> list[Tensor]:
    return [
        torch.randn(2, heads, size, WIDTH)
        for heads, size in ((6, length), (GROUPS, LENGTH), (GROUPS, LENGTH))
    ]


def made(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], *args: Tensor) -> list[Any]:
    """The arguments for keys and values in the compiled calls, by their number of heads."""
    found: list[Any] = []
    link = assembly.link

    def noting(program: Any, *rest: Any) -> Any:
        for step in program.steps:
            if "flash_attention" in str(getattr(step, "op", "")):
                found.append([program.buffers[ref.name].shape[1].value for ref in step.args[1:3]])
        return link(program, *rest)

    monkeypatch.setattr(assembly, "link", noting)
    with config.patch(raise_on_error=True), torch.no_grad():
        result = capture.compile(function, dynamic=False)(*args)
    torch.testing.assert_close(result, function(*args))
    return found


@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_nothing_is_repeated(
    function: Callable[..., Any], length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made(monkeypatch, function, *inputs(length)) == [[GROUPS, GROUPS]]


@pytest.mark.parametrize("function", [values_otherwise, another_order, across], ids=lambda f: f.__name__)
def test_what_is_no_such_repetition_is_computed(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made(monkeypatch, function, *inputs(3)) == [[6, 6]]


@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_gradients(function: Callable[..., Any]) -> None:
    given = inputs(4)
    gradients = []
    for run in (function, capture.compile(function)):
        own = [x.clone().requires_grad_() for x in given]
        run(*own).square().sum().backward()
        gradients.append([x.grad for x in own])
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-5)


def test_sizes_that_change() -> None:
    fast = capture.compile(plain, dynamic=True)
    for length in (3, 8, 31):
        q, k, v = (torch.randn(2, heads, length, WIDTH) for heads in (6, GROUPS, GROUPS))
        with torch.no_grad():
            torch.testing.assert_close(fast(q, k, v), plain(q, k, v))
