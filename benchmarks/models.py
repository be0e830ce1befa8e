"""Whole models, compared with eager: `python -m benchmarks.models [name ...] [--train]`.

In:  the architectures of `tests.capture.models` and `tests.capture.transformers_models`.
Out: for each model the time of a call (forward without gradients, or a training step: forward, loss,
     backward, SGD) in eager and in capture, their ratio, and the cost of the first call.

    transformers_bert, forward    0.55 of eager    first call 1.2 s
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch

import capture
from benchmarks.measure import Targets, compare, header
from tests.capture.models import MODELS
from tests.capture.transformers_models import ARCHITECTURES

Step = Callable[[], object]


def made(name: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    torch.manual_seed(0)
    if name in ARCHITECTURES:
        model, inputs = ARCHITECTURES[name]()
        return model, (), inputs
    model, args = MODELS[name]()
    return model, args, {}


def loss_of(result: Any) -> torch.Tensor:
    if isinstance(result, torch.Tensor):
        return result.square().mean()
    values = result if isinstance(result, tuple) else tuple(result.values())
    first = next(value for value in values if isinstance(value, torch.Tensor))
    return first if first.dim() == 0 else first.square().mean()


def forward(name: str, captured: bool) -> Step:
    model, args, inputs = made(name)
    run = capture.compile(model.eval()) if captured else model.eval()

    def step() -> object:
        with torch.no_grad():
            return run(*args, **inputs)

    return step


def training(name: str, captured: bool) -> Step:
    model, args, inputs = made(name)
    run = capture.compile(model.train()) if captured else model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(run(*args, **inputs)).backward()
        optimizer.step()

    return step


def measure(table: Targets, name: str, make: Callable[[str, bool], Step]) -> None:
    plain, captured = make(name, False), make(name, True)
    capture.reset()
    plain()
    started = time.perf_counter()
    captured()
    first = time.perf_counter() - started
    captured()
    times = compare({"eager": plain, "capture": captured}, 0.3)
    ratio = times["capture"].seconds / times["eager"].seconds
    texts = ", ".join(f"{key} {timing}" for key, timing in times.items())
    table.add(f"{name}, {make.__name__}", ratio, 1.0, " of eager", f"{texts}, first call {first:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*MODELS, *ARCHITECTURES])
    parser.add_argument("--train", action="store_true", help="training steps, in place of the forward alone")
    arguments = parser.parse_args()
    header()
    table = Targets("Models")
    for name in arguments.names:
        measure(table, name, training if arguments.train else forward)
    table.show()


if __name__ == "__main__":
    main()
