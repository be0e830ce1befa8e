"""The training step of the examples, compared with eager: `python -m benchmarks.demo_step`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import torch
from branchy import Branchy
from digits import Classifier
from torch import nn
from training import BATCH, train_step

import capture
from benchmarks.measure import Targets, compare, header, pretty

STEPS = 20


def steps_of(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> object:
    """STEPS training steps from a Python frame that is not captured itself."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @capture.disable(recursive=False)
    def steps() -> None:
        for _ in range(STEPS):
            train_step(model, optimizer, images, labels)

    return steps


def measure(table: Targets, name: str, model_class: type[nn.Module]) -> None:
    images, labels = torch.rand(BATCH, 1, 8, 8), torch.randint(10, (BATCH,))
    torch.manual_seed(0)
    eager, ours = steps_of(model_class(), images, labels), steps_of(model_class(), images, labels)

    def captured() -> None:
        with capture.enable():
            ours()

    results = compare({"eager": eager, "capture": captured}, 2.0, batch=0.1)
    ratio = results["capture"].seconds / results["eager"].seconds
    times = ", ".join(
        f"{key} {pretty(timing.seconds / STEPS)} ±{timing.noise:.0%}" for key, timing in results.items()
    )
    table.add(name, ratio, 1.0, " of eager", times)


def main() -> None:
    header()
    table = Targets("A training step of the demos, batch of 64, SGD with momentum")
    measure(table, "digits: convolution, BatchNorm, GELU, dropout", Classifier)
    measure(table, "a model with a branch on its data", Branchy)
    table.show()


if __name__ == "__main__":
    main()
