"""PEFT: two training steps of a captured model with an adapter, compared with eager."""

from __future__ import annotations

from typing import Any

import torch
from counted import counted
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

import capture


def make_model() -> Any:
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=64, n_embd=32, n_layer=2, n_head=4))
    adapter = LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")
    return get_peft_model(model.eval(), adapter)


def train(model: Any) -> list[torch.Tensor]:
    """The losses of some steps, and the matrices of the adapter behind them."""
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    assert trained and all("lora" in name for name in trained)
    optimizer = torch.optim.SGD(trained.values(), lr=0.5)
    texts = torch.randint(0, 50, (4, 12), generator=torch.Generator().manual_seed(1))
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(input_ids=texts, labels=texts).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *trained.values()]


def main() -> None:
    expected = train(make_model())
    given = train(capture.compile(make_model()))
    torch.testing.assert_close(given, expected, atol=1e-4, rtol=1e-3)
    print(f"{counted()}, losses", [round(x.item(), 4) for x in given[:4]])


if __name__ == "__main__":
    main()
