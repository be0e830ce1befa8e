"""What else decides a compilation: the state of the process, and the versions of all that takes part.

In:  the process, its environment, the files of this package (`codegen.stored.own_files`).
Out: `state()`: modes and settings as plain data. `versions()`: a digest. `restored(state)`: the modes again,
     for what is compiled later.

    state()      ->   {"grad_mode": true, "default_dtype": "float32", "level": "x86-64-v4", ...}
    versions()   ->   "5f1c..."
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import torch

from codegen.launch.levels import host_level
from codegen.stored import own_files
from codegen.stored.names import NotStored

#: where torch keeps the precision of float32; `torch.get_float32_matmul_precision` may raise
PRECISIONS = (
    ("generic", "all"), ("mkldnn", "all"), ("mkldnn", "matmul"), ("mkldnn", "conv"), ("mkldnn", "rnn"),
)  # fmt: skip


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
    global first_look, last_look
    if torch.library._impls != last_look[0]:
        every = frozenset(torch.library._impls)
        first_look = first_look or every
        own = [key for key in every if key[:5] == "aten/" and (key[-5:] != "/Meta" or key not in first_look)]
        last_look = every, sorted(set(own) - registered_by_vmap())
    return last_look[1]


def registered_by_vmap() -> set[str]:
    """What torch registers at its first call of `vmap`. A process that loads a graph may not be there yet."""
    library = getattr(sys.modules.get("torch._functorch.predispatch"), "VMAP_DECOMPOSITIONS_LIB", None)
    return set() if library is None else library._op_impls


#: All registrations. Among them are those for fake tensors: torch makes them itself, some of them late.
first_look: frozenset[str] = frozenset()
#: all registrations, and those of programs among them
last_look: tuple[frozenset[str], list[str]] = (frozenset(), [])


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
    """The digest of this package, the extension, torch, NumPy, LLVM and Python.

    `store` remembers the digest of files that have not been touched: to read them takes 17 ms.
    """
    global known_versions
    if known_versions is None:
        texts = (
            own_files.contents(store),
            torch.__version__,
            str(torch.version.git_version),
            numpy.__version__,  # torch imports it
            sys.version,
            llvm_version(),
        )
        known_versions = own_files.digest_of(text.encode() for text in texts)
    return known_versions


known_versions: str | None = None


def llvm_version() -> str:
    """The version of llvmlite, which is imported only where something is compiled."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        return "none"
    return (Path(found.origin).parent / "_version.py").read_bytes().decode()
