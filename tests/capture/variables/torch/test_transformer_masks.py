"""Masks of torch's transformers: one graph; Python runs the frame where the mask is another."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import capture

X = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))
CAUSAL = nn.Transformer.generate_square_subsequent_mask(5)
OTHER = CAUSAL.roll(1, 1).contiguous()
OTHER[:, 0] = 0.0
PADDING = torch.zeros(2, 5, dtype=torch.bool)
PADDING[:, 4:] = True


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2)


def decoder() -> nn.Module:
    layer = nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    return nn.TransformerDecoder(layer, 2)


CASES = {
    "encoder": (encoder, lambda m, mask: m(X, mask=mask, src_key_padding_mask=PADDING)),
    "decoder": (decoder, lambda m, mask: m(X, X, tgt_mask=mask)),
    "attention": (
        lambda: nn.MultiheadAttention(16, 4, batch_first=True),
        lambda m, mask: m(X, X, X, attn_mask=mask, key_padding_mask=PADDING)[0],
    ),
}


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("name", CASES)
def test_masks_are_one_graph(name: str) -> None:
    make, call = CASES[name]
    torch.manual_seed(0)
    model = make()
    capture.reset()
    captured = capture.compile(model)
    for mask in (CAUSAL, OTHER, CAUSAL.clone()):
        torch.testing.assert_close(call(captured, mask), call(model, mask), rtol=1e-4, atol=1e-5)
        if mask is CAUSAL:
            assert capture.counters["graphs"]["compiled"] == 1
            assert not capture.counters["graph_breaks"]
