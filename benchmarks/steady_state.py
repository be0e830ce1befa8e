"""Kernels that every model has, through the whole of capture, with allocation of the outputs.

In:  `python -m benchmarks.steady_state [--peers]`.
Out: times of a chain of ten operations at 1e5 and 1e7 elements, and of softmax and layer_norm at 512x1024,
     compared with eager and torch.compile; and of one training step of a small model, compared with eager.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

import capture
from benchmarks.kernel_cases import CASES
from benchmarks.kernels import measure
from benchmarks.measure import Targets, compare, header

KERNELS = {"chain of 10": (100_000, 10_000_000), "softmax": ((512, 1024),), "layer_norm": ((512, 1024),)}


class Digits(nn.Module):
    """As in examples/digits.py."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.hidden, self.dropout, self.output = nn.Linear(8 * 16, 64), nn.Dropout(0.1), nn.Linear(64, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = F.gelu(self.norm(self.convolution(images)))
        x = F.max_pool2d(x, 2).flatten(1)
        return self.output(self.dropout(torch.tanh(self.hidden(x))))


def kernels(table: Targets, peers: bool) -> None:
    for name, sizes in KERNELS.items():
        case = next(case for case in CASES if case.name == name)
        for size in sizes:
            times = measure(case, size, peers, 1.0)
            texts = ", ".join(f"{key} {timing}" for key, timing in times.items())
            for other in list(times)[::2]:  # eager, inductor
                target = 1.0 if other == "inductor" else None
                table.add(
                    f"{name}, {size}",
                    times["capture"].seconds / times[other].seconds,
                    target,
                    f" of {other}",
                    texts,
                )


def training_step() -> Callable[[], None]:
    torch.manual_seed(0)
    model = Digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = torch.rand(64, 1, 8, 8), torch.randint(10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def training(table: Targets) -> None:
    plain, captured = training_step(), training_step()

    def enabled() -> None:
        with capture.enable():
            captured()

    capture.reset()
    for _ in range(5):
        enabled()
    times = compare({"eager": plain, "capture": enabled}, 2.0)
    texts = ", ".join(f"{key} {timing}" for key, timing in times.items())
    table.add(
        "a training step of the digits model",
        times["capture"].seconds / times["eager"].seconds,
        1.0,
        " of eager",
        texts,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", action="store_true", help="measure torch.compile too")
    given = parser.parse_args()
    header()
    table = Targets("Steady state")
    kernels(table, given.peers)
    training(table)
    table.show()


if __name__ == "__main__":
    main()
