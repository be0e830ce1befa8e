"""A model of transformers: fine-tuning in an ordinary loop, then generation, both captured."""

from __future__ import annotations

from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import capture


def make_model() -> GPT2LMHeadModel:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=50, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=None
    )
    return GPT2LMHeadModel(config).eval()  # without dropout, so that both runs draw nothing


def fine_tune(model: Any, texts: torch.Tensor) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = model(input_ids=texts, labels=texts).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    plain, captured = make_model(), make_model()
    fast = capture.compile(captured)  # a module of its class, with the same weights and keys
    texts = (torch.arange(16) + torch.arange(8)[:, None]) % 50
    expected, losses = fine_tune(plain, texts), fine_tune(fast, texts)
    torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=1e-3, atol=1e-3)
    print("losses:", [round(loss, 3) for loss in losses])

    captured.load_state_dict(plain.state_dict())
    how: Any = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    written = fast.generate(texts[:1, :4], **how)
    assert torch.equal(written, plain.generate(texts[:1, :4], **how))
    print("generated:", written[0].tolist())
    graphs = capture.counters["graphs"]["compiled"]
    assert graphs >= 2  # of the training, of the generation
    print(graphs, "graphs")


if __name__ == "__main__":
    main()
