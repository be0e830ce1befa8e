"""flex_attention: one graph of plain operations, with the values and strides of torch's dense computation.

Eager calls torch.compile for it. A debug switch of torch runs the same computation without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.attention import flex_attention as module
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

import capture
from tests.capture.test_cases import Counting

SLOPES = torch.tensor([0.5, 2.0])
DOCUMENTS = torch.tensor([0] * 5 + [1] * 7 + [2] * 4)


def causal(b, h, q, k):
    return q >= k


def inputs(q_heads: int = 2, dtype: torch.dtype = torch.float32, size: int = 16) -> list[torch.Tensor]:
    torch.manual_seed(0)
    heads = (q_heads, 2, 2)
    return [torch.randn(3, count, size, 8, dtype=torch.float32).to(dtype) for count in heads]


def plain(q, k, v):
    return flex_attention(q, k, v)


def relative(q, k, v):
    return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + (i - j) * SLOPES[h])


def capped(q, k, v):
    cap = q.shape[-1] * 2.0
    return flex_attention(q, k, v, lambda score, b, h, i, j: cap * torch.tanh(score / cap), scale=0.3)


def masked(q, k, v):
    mask = create_block_mask(causal, None, None, q.shape[2], k.shape[2], device="cpu")
    return flex_attention(q, k, v, block_mask=mask)


def of_documents(q, k, v):
    def same(b, h, i, j):
        return DOCUMENTS[i] == DOCUMENTS[j]

    mask = create_block_mask(same, None, None, 16, 16, device="cpu")
    return flex_attention(q, k, v, block_mask=mask)


def with_statistics(q, k, v):
    out, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True))
    return out, aux.lse


def grouped(q, k, v):
    return flex_attention(q, k, v, enable_gqa=True)


def transposed(q, k, v):
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v))
    return flex_attention(q, k, v)


PROGRAMS = [plain, relative, capped, masked, of_documents, with_statistics, transposed]


def check(program: Callable[..., Any], given: list[torch.Tensor], backend: Any) -> None:
    found = capture.compile(program, backend=backend, fullgraph=True)(*given)
    expected = program(*given)
    torch.testing.assert_close(found, expected)
    pairs = zip(*(value if isinstance(value, tuple) else (value,) for value in (found, expected)))
    assert all(one.stride() == two.stride() for one, two in pairs)


@pytest.fixture(autouse=True)
def without_torch_compile(monkeypatch):
    monkeypatch.setattr(module, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    capture.reset()


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_eager(program, backend):
    check(program, inputs(), backend)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_other_inputs(backend):
    check(grouped, inputs(q_heads=4), backend)
    check(plain, inputs(dtype=torch.float64), backend)
    check(masked, inputs(size=1), backend)


def test_block_masks_as_arguments():
    def program(q, k, v, mask):
        return flex_attention(q, k, v, block_mask=mask)

    backend = Counting()
    captured = capture.compile(program, backend=backend, fullgraph=True)
    for mask_of in (causal, causal, lambda b, h, q, k: q >= 0):
        mask = create_block_mask(mask_of, None, None, 16, 16, device="cpu")
        torch.testing.assert_close(captured(*inputs(), mask), program(*inputs(), mask))
    assert backend.graphs == 2


def test_sizes_that_change():
    captured = capture.compile(capped, fullgraph=True, dynamic=True)
    for size in (16, 9, 5):
        torch.testing.assert_close(captured(*inputs(size=size)), capped(*inputs(size=size)))


def test_autocast_is_left_to_torch():
    def program(q, k, v):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return flex_attention(q, k, v)

    found = capture.compile(program)(*inputs())
    assert found.dtype == program(*inputs()).dtype
    torch.testing.assert_close(found, program(*inputs()))


def test_gradients_raise_as_in_eager():
    given = [t.requires_grad_() for t in inputs()]
    with pytest.raises(NotImplementedError, match="backward on CPU"):
        capture.compile(plain)(*given)
