"""A function as a WebAssembly module, for a browser or Node.

In:  the folder for the module, build/ripples by default.
Out: ripples.wasm, and example.mjs, which runs it; draw.mjs beside this file draws with it.

    python examples/export_wasm/export.py build/ripples
    node examples/export_wasm/draw.mjs build/ripples
"""

from __future__ import annotations

import os
import sys

import torch

import capture


def ripples(x: torch.Tensor, y: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
    """The height of a wave at the places of a grid, from 0 to 1."""
    distance = torch.sqrt(x[None, :] ** 2 + y[:, None] ** 2)
    return torch.sigmoid(4 * torch.cos(6 * distance - time)) * torch.exp(-distance)


def main(folder: str = os.path.join("build", "ripples")) -> None:
    grid = torch.linspace(-2, 2, 48), torch.linspace(-1, 1, 16), torch.tensor(0.0)
    capture.export(ripples, grid, target="wasm32").save(folder)
    print(f"the middle has the height {ripples(*grid)[8, 24]:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
