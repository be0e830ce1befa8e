"""Accelerate: the loop of its documentation, with a captured model and a captured optimizer step."""

from __future__ import annotations

from typing import Any

import torch
from accelerate import Accelerator
from counted import counted
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import capture


def train(compile_model: Any, compile_step: Any) -> tuple[list[float], list[torch.Tensor]]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    x = torch.randn(256, 16)
    data = DataLoader(TensorDataset(x, x[:, :4].argmax(1)), batch_size=32)
    accelerator = Accelerator(cpu=True)
    model, optimizer, data = accelerator.prepare(compile_model(model), optimizer, data)
    step = compile_step(optimizer.step)
    losses = []
    for _ in range(3):
        for batch, labels in data:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch), labels)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            step()
            losses.append(loss.item())
    return losses, [p.detach() for p in accelerator.unwrap_model(model).parameters()]


def main() -> None:
    def same(value):
        return value

    losses, parameters = train(same, same)
    # prepare() moves a captured model as any module. It refuses backends that are not in its own list
    # (TorchDynamoPlugin), so capture the model before it is prepared.
    ours, captured = train(capture.compile, capture.compile)
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(losses))
    torch.testing.assert_close(captured, parameters, atol=1e-4, rtol=1e-3)
    print(f"{counted(least=2)}, last loss {ours[-1]:.4f}")


if __name__ == "__main__":
    main()
