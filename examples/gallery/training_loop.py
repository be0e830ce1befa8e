"""An ordinary training loop in a block: model, loss, backward and optimizer are captured."""

from __future__ import annotations

import torch
from torch import nn

import capture


def train(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, steps: int) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    losses = []
    for captured in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4))
        inputs = torch.randn(128, 20)
        targets = inputs[:, :4].argmax(1)
        with capture.enable() if captured else capture.disable():
            losses.append(train(model, inputs, targets, steps=60))
    for name, run in zip(("eager", "captured"), losses):
        print(f"{name:9} first loss {run[0]:.4f}, last loss {run[-1]:.4f}")
    torch.testing.assert_close(torch.tensor(losses[0]), torch.tensor(losses[1]), rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    main()
