"""Runs exported functions as C programs.

In:  an `Exported`, its arguments, a folder.
Out: the memories that the C program has written: first the written arguments, then the results.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import torch

from cache.exported import number
from capture.exporting.export import Exported
from codegen.export.example import TOOLS
from codegen.export.interface import Result, Tensor, plain_number

NO_SIZES: Mapping[str, int] = MappingProxyType({})


def need_tools(machine: str) -> list[str]:
    """The command that runs an example of the machine; the test is skipped where a tool is missing."""
    if machine == "wasm32":
        if shutil.which("node") is None:
            pytest.skip("node missing")
        return ["node", "example.mjs"]
    compiler, run = TOOLS[machine]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} missing")
    if run and shutil.which(run) is None:
        pytest.skip("qemu missing")
    return [run, "./example"] if run else ["./example"]


def run_in_c(
    exported: Exported, tensors: list[torch.Tensor], folder: Path, sizes: Mapping[str, int] = NO_SIZES
) -> list[torch.Tensor]:
    """`tensors`: in the order of the C function's arguments. `sizes`: the open ones."""
    machine = exported.machine.name
    command = need_tools(machine)
    home = folder / "program"
    exported.save(str(home))
    if machine != "wasm32":
        subprocess.run(["make", "-s", "example"], cwd=home, check=True, capture_output=True, text=True)
    interface = exported.native.interface
    outputs = [*(one for one in interface.arguments if one.written), *interface.memories]
    names = []
    for place, tensor in enumerate(tensors):
        names.append(f"in{place}.bin")
        (home / names[-1]).write_bytes(bytes_of(tensor))
    written = [f"out{place}.bin" for place in range(len(outputs))]
    given = [f"{name}={size}" for name, size in sizes.items()]
    subprocess.run([*command, *given, *names, *written], cwd=home, check=True, timeout=100)
    return [read(home / name, spec, sizes) for name, spec in zip(written, outputs, strict=True)]


def bytes_of(tensor: torch.Tensor) -> bytes:
    last = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return torch.as_strided(tensor.detach(), (last,), (1,)).view(torch.uint8).numpy().tobytes()


def read(path: Path, spec: Tensor | Result, sizes: Mapping[str, int]) -> torch.Tensor:
    flat = torch.frombuffer(bytearray(path.read_bytes()), dtype=spec.dtype)
    shape, strides = (
        [number(plain_number(one), sizes) for one in all_] for all_ in (spec.shape, spec.strides)
    )
    return torch.as_strided(flat, shape, strides)
