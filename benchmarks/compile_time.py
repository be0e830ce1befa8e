"""The cost of a first call: `python -m benchmarks.compile_time`.

In:  nothing. The disk cache is off: every kernel is compiled here.
Out: milliseconds of processor time for the translation to a graph and for its compilation. Cases: small
     graphs of ten operations; BERT-base's forward with 3, 6 and 12 layers (equal kernels of the layers are
     compiled once); the first training steps of BERT and ResNet, with the backward.

    BERT-base, 12 layers    translated 480 ms    compiled 240 ms
    ResNet-50, training     translated 400 ms    forward compiled 650 ms    backward compiled 350 ms
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel, ResNetConfig, ResNetModel

import capture
from benchmarks.measure import Targets, console, header
from codegen.compile_fx import compile_fx

SMALL_TARGET_MS, BERT_TRANSLATE_MS, BERT_COMPILE_MS, TRAINING_MS = 25, 3000, 1500, 3000
SMALL: dict[str, Callable[..., Any]] = {
    "pointwise": lambda x, y: (((x + y) * x - y).exp().tanh() * y).sigmoid().relu() * 2 - 1,
    "product, softmax, sums": lambda x, y: (
        torch.softmax((x @ y).relu() * 2 + 1, -1).mean(0) * 3 - x.sum(1) + y.amax(0)
    ),
    "layer_norm": lambda x, y: (
        F.layer_norm(x + y, (40,)) * y.sigmoid() + x.tanh() - (y.exp() * 2).sin() + x.abs()
    ),
}


def first_call(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[float, float]:
    """Milliseconds of translation and of compilation."""
    compiling = 0.0

    def timed(graph: Any, inputs: Any) -> Any:
        nonlocal compiling
        started = time.process_time()
        try:
            return compile_fx(graph, inputs)
        finally:
            compiling += time.process_time() - started

    compiled = capture.compile(function, backend=timed)
    started = time.process_time()
    compiled(*args)
    return 1e3 * (time.process_time() - started - compiling), 1e3 * compiling


def first_step(model: torch.nn.Module, x: torch.Tensor) -> tuple[float, float, float]:
    """Milliseconds of translation, of the forward's compilation (with the joint graph) and of the backward's.

    The last one is the time that the first call of the backward takes longer than the second.
    """
    results: list[torch.Tensor] = []

    def forward(x: torch.Tensor) -> None:
        results.append(model(x).last_hidden_state)

    translated, compiled = first_call(forward, (x,))
    loss = results[0].pow(2).mean()
    backward = []
    for _ in range(2):
        started = time.process_time()
        loss.backward(retain_graph=True)
        backward.append(1e3 * (time.process_time() - started))
    return translated, compiled, backward[0] - backward[1]


def training() -> Iterator[tuple[str, torch.nn.Module, torch.Tensor]]:
    """Models whose layers have equal kernels; the layers are narrow, so that running them takes little of the
    time.
    """
    for layers in (3, 6, 12):
        config = BertConfig(
            num_hidden_layers=layers, hidden_size=96, intermediate_size=384, num_attention_heads=12
        )
        yield f"BERT, {layers} layers", BertModel(config), torch.randint(0, 1000, (2, 16))
    for name, depths in (("ResNet-26", [2, 2, 2, 2]), ("ResNet-50", [3, 4, 6, 3])):
        model = ResNetModel(ResNetConfig(depths=depths, hidden_sizes=[32, 64, 128, 256], embedding_size=16))
        yield name, model, torch.randn(2, 3, 64, 64)


def main() -> None:
    header()
    console.print("Each line is one measurement, in one process.")
    table = Targets("First calls, without the disk cache")
    first_call(lambda x: x * 2 + 1, (torch.randn(4),))  # loads LLVM
    for name, function in SMALL.items():
        translated, compiled = first_call(function, (torch.randn(40, 40), torch.randn(40, 40)))
        table.add(
            f"ten operations: {name}", compiled, SMALL_TARGET_MS, " ms", f"translated {translated:.1f} ms"
        )
    for layers in (3, 6, 12):
        model, ids = BertModel(BertConfig(num_hidden_layers=layers)).eval(), torch.randint(0, 1000, (1, 16))
        with torch.no_grad():
            translated, compiled = first_call(model, (ids,))
        table.add(f"BERT-base, {layers} layers: translated", translated, BERT_TRANSLATE_MS, " ms")
        table.add(f"BERT-base, {layers} layers: compiled", compiled, BERT_COMPILE_MS, " ms")
    for name, model, x in training():
        translated, forward, backward = first_step(model, x)
        parts = f"translated {translated:.0f} ms, forward {forward:.0f} ms, backward {backward:.0f} ms"
        table.add(f"{name}, training step", translated + forward + backward, TRAINING_MS, " ms", parts)
    table.show()


if __name__ == "__main__":
    main()
