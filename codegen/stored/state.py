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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _capture
import torch

import capture_records
from codegen.launch.levels import host_level
from codegen.stored.names import NotStored

#: where torch keeps the precision of float32; `torch.get_float32_matmul_precision` may raise
PRECISIONS = (
    ("generic", "all"), ("mkldnn", "all"), ("mkldnn", "matmul"), ("mkldnn", "conv"), ("mkldnn", "rnn"),
)  # fmt: skip
PACKAGES = ("cache", "capture", "codegen", "guards")
HOME = str(Path(__file__).resolve().parents[2])
MODULES = (capture_records.__file__, _capture.__file__)


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
        "default_device": default_device(),
        "deterministic": [
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch._C._get_deterministic_fill_uninitialized_memory(),
        ],
        "precision": [torch._C._get_fp32_precision_getter(*place) for place in PRECISIONS],
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


def default_device() -> str:
    """The device that the program has set; `torch.get_default_device` is slow."""
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return "cpu" if context is None else str(context.device)


def own_operators() -> list[str]:
    """What programs have registered for torch's own operators, torch's own registrations aside."""
    global last_look
    if torch.library._impls != last_look[0]:
        every = frozenset(torch.library._impls)
        counted = (every - registered_first()).union([key for key in every if key[-5:] != "/Meta"])
        last_look = every, sorted([key for key in counted if key[:5] == "aten/"])
    return last_look[1]


#: all registrations, and those of programs among them
last_look: tuple[frozenset[str], list[str]] = (frozenset(), [])


@functools.cache
def registered_first() -> frozenset[str]:
    """Among them are those for fake tensors: torch makes them itself, some of them late."""
    return frozenset(torch.library._impls)


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


def versions(store: Any = None) -> str:
    """The digest of this package, the extension, torch, LLVM and Python.

    `store` remembers the digest of files that have not been touched: to read them takes 20 ms.
    """
    global known_versions
    if known_versions is None:
        touched = digest_of(stamps_of_files())
        stored = None if store is None else store.get(("files", touched), "digest")
        contents = stored.decode() if stored else digest_of(contents_of(own_files()))
        if store is not None and stored is None:
            store.put(("files", touched), contents.encode(), "digest")
        texts = (contents, torch.__version__, str(torch.version.git_version), sys.version, llvm_version())
        known_versions = digest_of(text.encode() for text in texts)
    return known_versions


known_versions: str | None = None


def digest_of(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:".encode())
        digest.update(part)
    return digest.hexdigest()


def stamps_of_files() -> Iterator[bytes]:
    """Other bytes when somebody has touched one of our files."""
    for package in PACKAGES:
        yield _capture.file_stamps(os.path.join(HOME, package), ".py")
    for path in MODULES:
        status = os.stat(path)
        yield f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}".encode()


def own_files() -> list[str]:
    found = [path for package in PACKAGES for path in python_files(os.path.join(HOME, package))]
    return [*sorted(found), *MODULES]


def python_files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as items:
        for item in items:
            if item.name.endswith(".py"):
                yield item.path
            elif "." not in item.name and item.name != "__pycache__" and item.is_dir():
                yield from python_files(item.path)


def contents_of(paths: Iterable[str]) -> Iterator[bytes]:
    """Names and contents: not where the package is installed."""
    for path in paths:
        yield os.path.basename(path).encode()
        with open(path, "rb") as file:
            yield file.read()


def llvm_version() -> str:
    """The version of llvmlite, which is imported only where something is compiled."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        return "none"
    return (Path(found.origin).parent / "_version.py").read_bytes().decode()
