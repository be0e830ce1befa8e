"""A small model in a C program: no Python, torch or LLVM where it runs.

In:  the folder for what is built, build by default; a target, this machine by default.
Out: build/digits/, with the object file and its header; main.c beside this file uses them.

    python examples/export_c/export.py build
    cc -O2 -Ibuild/digits examples/export_c/main.c build/digits/digits.o -lm -o build/classify
    build/classify < build/image.txt
"""

from __future__ import annotations

import os
import sys

import torch
from torch import nn

import capture


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 10), nn.Softmax(-1)
    ).eval()


def main(folder: str = "build", target: str | None = None) -> None:
    os.makedirs(folder, exist_ok=True)
    net, image = model(), torch.rand(1, 1, 8, 8)
    exported = capture.export(net, (image,), name="digits", target=target)
    exported.save(os.path.join(folder, "digits"))
    with open(os.path.join(folder, "image.txt"), "w") as file:
        file.write(" ".join(map(str, image.flatten().tolist())))
    with torch.no_grad():
        print(f"eager says class {net(image).argmax().item()}; the object has {len(exported.object)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
