"""The common part of both demos: the data, an ordinary training loop, and a report of both runs.

In:  a class of models.
Out: printed: progress, loss and accuracy with and without capture, the time of a step of each, and
     `capture.explain` of the model.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.datasets import load_digits
from torch import nn

import capture

BATCH = 64
console = Console()


@dataclass
class Run:
    """One training run: the loss of each step, accuracy on the test images, seconds of each step."""

    model: nn.Module
    losses: list[float] = field(default_factory=list)
    step_times: list[float] = field(default_factory=list)
    accuracy: float = 0.0


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training images and labels, test images and labels."""
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    train, test = order[:1437], order[1437:]
    return images[train], labels[train], images[test], labels[test]


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, images: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss


def train(run: Run, epochs: int, title: str) -> None:
    images, labels, test_images, test_labels = digits()
    optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1, momentum=0.9)
    with Progress(console=console) as progress:
        for _ in progress.track(range(epochs), description=title):
            for batch in torch.randperm(len(labels)).split(BATCH):
                started = time.perf_counter()
                loss = train_step(run.model, optimizer, images[batch], labels[batch])
                run.step_times.append(time.perf_counter() - started)
                run.losses.append(loss.item())
    run.model.eval()
    with torch.no_grad():
        run.accuracy = (run.model(test_images).argmax(1) == test_labels).float().mean().item()


def run_once(make_model: Callable[[], nn.Module], epochs: int, title: str, region: Any) -> Run:
    torch.manual_seed(0)
    run = Run(make_model())
    with region:
        train(run, epochs, title)
    return run


def report(eager: Run, captured: Run) -> None:
    table = Table("", "first loss", "last loss", "accuracy", "first step", "median step")
    for name, run in (("eager", eager), ("captured", captured)):
        times = [
            f"{1000 * seconds:.2f} ms" for seconds in (run.step_times[0], statistics.median(run.step_times))
        ]
        table.add_row(name, f"{run.losses[0]:.6f}", f"{run.losses[-1]:.6f}", f"{run.accuracy:.2%}", *times)
    console.print(table)
    difference = max(abs(a - b) for a, b in zip(eager.losses, captured.losses))
    ratio = statistics.median(captured.step_times) / statistics.median(eager.step_times)
    console.print(
        f"Largest difference of the loss in {len(eager.losses)} steps: {difference:.1e}. "
        f"A captured step takes {ratio:.2f} of an eager one."
    )


@capture.disable(recursive=False)
def two_batches(model: nn.Module, images: torch.Tensor) -> None:
    model(images)
    model(images[: len(images) // 2])


def main(title: str, make_model: Callable[[], nn.Module]) -> None:
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--backend", default="llvm", choices=capture.backends.names())
    parser.add_argument("--hook", default="pep523", choices=("pep523", "settrace"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console.rule(title)
    eager = run_once(make_model, arguments.epochs, "eager   ", contextlib.nullcontext())
    region = capture.enable(arguments.backend, hook=arguments.hook)
    captured = run_once(make_model, arguments.epochs, "captured", region)
    report(eager, captured)
    console.print("\n[bold]capture.explain[/bold], two calls with batches of 64 and 32:")
    images = digits()[0][:64]
    explained = capture.explain(two_batches, backend=arguments.backend, hook=arguments.hook)(
        captured.model, images
    )
    print(explained)
