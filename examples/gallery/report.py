"""The report of a training run: what it cost, what was captured, what to do.

The trace is written while the program runs; the page is made of it afterwards. It needs the extra [report].
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

import capture


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters())
    inputs, labels = torch.randn(64, 20), torch.randint(2, (64,))

    def train_step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        if loss > 10:  # decided by data: a graph break, which the report shows with its line
            print("the loss is large")
        loss.backward()
        optimizer.step()
        return loss

    with tempfile.TemporaryDirectory() as folder:
        with capture.trace(folder, show=["bytecode", "loops", "calls"]):
            step = capture.compile(train_step)
            for _ in range(20):
                loss = step()
        subprocess.run([sys.executable, "-m", "capture", "report", folder], check=True, capture_output=True)
        page = (Path(folder) / "report.html").read_text()

    assert "a branch depends on the values of a tensor" in page
    print(f"the loss is {loss:.3f}; the report has {len(page) // 1024} KiB")


if __name__ == "__main__":
    main()
