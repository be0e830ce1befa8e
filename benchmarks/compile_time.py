"""What a first call costs: `python -m benchmarks.compile_time`.

In:  nothing. The disk cache is off: every kernel is compiled here.
Out: milliseconds of processor time of the translation to a graph and of its compilation, for small graphs of ten operations and for BERT-base's forward
     with 3, 6 and 12 layers (their kernels are alike, and compiled once).

    BERT-base, 12 layers    translated 480 ms    compiled 240 ms
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel

import capture
from benchmarks.measure import Targets, console, header
from codegen import compile_fx

SMALL_TARGET_MS, BERT_TRANSLATE_MS, BERT_COMPILE_MS = 25, 3000, 1500
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
    table.show()


if __name__ == "__main__":
    main()
