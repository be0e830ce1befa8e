"""What a process pays for what an earlier one has captured: `python -m benchmarks.second_process`.

In:  nothing. Each case runs in processes of its own, once with an empty store and then `TIMES` times with the
     filled one. The modules have their bytecode, as an installed package has.
Out: milliseconds of processor time: medians of `import capture` and of the first call; beside them the first
     call with the empty store, the settled one, and eager's first one.

    x * y + 1    first call 5.2 ms    cold 140 ms, settled 0.01 ms, eager's first 0.1 ms
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.measure import Targets, console, header, pin

TIMES = 5
IMPORT_TARGET_MS = 100
CALLS = 5


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        split = [
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        x = self.first(x + self.out(F.scaled_dot_product_attention(*split).transpose(1, 2).flatten(-2)))
        return self.second(x + self.down(F.gelu(self.up(x))))


def bert() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    layers = [Layer(256, 4) for _ in range(4)]
    return nn.Sequential(nn.Embedding(1000, 256), *layers, nn.Linear(256, 1000)), torch.randint(1000, (4, 32))


Compile = Callable[[Any], Any]


def small(compiled: Compile) -> Callable[[], object]:
    x, y = torch.randn(40), torch.randn(40)
    run = compiled(lambda x, y: x * y + 1)
    return lambda: run(x, y)


def forward(compiled: Compile) -> Callable[[], object]:
    model, ids = bert()
    run = compiled(model.eval())
    return torch.no_grad()(lambda: run(ids))


def training(compiled: Compile) -> Callable[[], object]:
    model, ids = bert()
    optimizer = torch.optim.AdamW(model.parameters())
    run = compiled(model)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(run(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()

    return step


#: by case: what it measures, and the target of its first call in milliseconds
CASES: dict[str, tuple[Callable[[Compile], Callable[[], object]], float]] = {
    "x * y + 1": (small, 3),
    "BERT 4x256, forward": (forward, 50),
    "BERT 4x256, training step with AdamW": (training, 120),
}


def as_it_is(function: Any) -> Any:
    return function


def child(case: str, mode: str) -> None:
    pin()
    started = time.process_time()
    compiled: Compile = as_it_is
    if mode == "capture":
        import capture

        compiled = capture.compile
    imported = time.process_time() - started
    call, times = CASES[case][0](compiled), []
    for _ in range(CALLS):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    print(json.dumps({"import": 1e3 * imported, "first": 1e3 * times[0], "settled": 1e3 * min(times)}))


def run(case: str, mode: str, store: str) -> dict[str, float]:
    environment = {**os.environ, "CAPTURE_CACHE_DIR": store, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "benchmarks.second_process", case, mode]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    header()
    console.print(f"Medians of {TIMES} processes, each with the store that another one has filled.")
    table = Targets("Second processes")
    imports = []
    for case, (_, target) in CASES.items():
        with tempfile.TemporaryDirectory() as store:
            cold = run(case, "capture", store)
            runs = [(run(case, "capture", store), run(case, "eager", store)) for _ in range(TIMES)]
        first, settled = (statistics.median(warm[name] for warm, _ in runs) for name in ("first", "settled"))
        eager = statistics.median(other["first"] for _, other in runs)
        imports += [warm["import"] for warm, _ in runs]
        beside = f"cold {cold['first']:.0f} ms, settled {settled:.2f} ms, eager's first {eager:.1f} ms"
        table.add(f"{case}: first call", first, target, " ms", beside)
    table.add("import capture", statistics.median(imports), IMPORT_TARGET_MS, " ms")
    table.show()


if __name__ == "__main__":
    child(*sys.argv[1:]) if len(sys.argv) > 1 else main()
