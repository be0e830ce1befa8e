"""What else decides a compilation: the state of the process, and the versions of all that takes part.

In:  the process, its environment, the files of this package.
Out: `state()`: modes and settings as plain data. `versions()`: a digest. `restored(state)`: the modes again,
     for what is compiled later.

    state()      ->   {"grad_mode": true, "default_dtype": "float32", "level": "x86-64-v4", ...}
    versions()   ->   "5f1c..."

A changed compiler must never read what an older one has written. So the digest has the contents of the
package's own files, and not its version alone.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _capture
import torch

from codegen.launch.levels import host_level
from codegen.stored.names import NotStored

PACKAGES = ("cache", "capture", "codegen", "guards")


def state() -> dict[str, Any]:
    """Raises NotStored where modes of the program see what torch does."""
    if torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack():
        raise NotStored("a mode that sees each operation")
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise NotStored("a transform of functions")
    return {
        "level": host_level(),
        "grad_mode": torch.is_grad_enabled(),
        "inference_mode": torch.is_inference_mode_enabled(),
        "autocast": [
            torch.is_autocast_enabled("cpu"),
            name_of(torch.get_autocast_dtype("cpu")),
            torch.is_autocast_cache_enabled(),
        ],
        "default_dtype": name_of(torch.get_default_dtype()),
        "default_device": str(torch.get_default_device()),
        "deterministic": [
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch._C._get_deterministic_fill_uninitialized_memory(),
        ],
        "matmul_precision": torch.get_float32_matmul_precision(),
        "mkldnn": [torch._C._has_mkldnn, torch._C._get_mkldnn_enabled()],
        "attention": [
            torch._C._get_flash_sdp_enabled(),
            torch._C._get_mem_efficient_sdp_enabled(),
            torch._C._get_math_sdp_enabled(),
        ],
        "one_thread": torch.get_num_threads() == 1,
        "operators": own_operators(),
    }


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def own_operators() -> list[str]:
    """What programs have registered for torch's own operators, torch's own registrations aside."""
    return [key for key in sorted(torch.library._impls - registered_first()) if key.startswith("aten/")]


@functools.cache
def registered_first() -> frozenset[str]:
    """The registrations for fake tensors: torch makes them itself, some of them late."""
    return frozenset(key for key in torch.library._impls if key.endswith("/Meta"))


@contextmanager
def restored(before: dict[str, Any]) -> Iterator[None]:
    """The modes in which the graph was compiled, for a part of it that is compiled later."""
    on, dtype, cached = before["autocast"]
    default = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, before["default_dtype"]))
    try:
        with (
            torch.inference_mode(before["inference_mode"]),
            torch.set_grad_enabled(before["grad_mode"]),
            torch.autocast("cpu", getattr(torch, dtype), on, cached),
        ):
            yield
    finally:
        torch.set_default_dtype(default)


@functools.cache
def versions() -> str:
    """The digest of this package, the extension, torch, LLVM and Python."""
    digest = hashlib.sha256()
    for path in own_files():
        add(digest, path.name.encode())
        add(digest, path.read_bytes())
    for text in (torch.__version__, str(torch.version.git_version), sys.version, llvm_version()):
        add(digest, text.encode())
    return digest.hexdigest()


def add(digest: Any, data: bytes) -> None:
    digest.update(f"{len(data)}:".encode())
    digest.update(data)


def own_files() -> list[Path]:
    home = Path(__file__).resolve().parents[2]
    found = [path for package in PACKAGES for path in python_files(str(home / package))]
    return [Path(path) for path in sorted(found)] + [Path(_capture.__file__)]


def python_files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as items:
        for item in items:
            if item.is_dir(follow_symlinks=False):
                yield from python_files(item.path)
            elif item.name.endswith(".py"):
                yield item.path


def llvm_version() -> str:
    """The version of llvmlite, which is imported only where something is compiled."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        return "none"
    return (Path(found.origin).parent / "_version.py").read_text()
