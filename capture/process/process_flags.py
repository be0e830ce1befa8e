"""Settings of torch for the whole process: captured code may change them.

In:  nothing.
Out: `FLAGS`: name -> (function that reads the flag, function that sets it). `SETTERS` and `READERS`: torch's
     own functions for the flags.

    torch.set_default_dtype(torch.float64)    ->    a node of the graph. The translation also calls it, and it
                                                    is replayed for the code after the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import _backend_names

ATTENTION = tuple(_backend_names)


def _read_deterministic() -> tuple[bool, bool]:
    return torch._C._get_deterministic_algorithms(), torch._C._get_deterministic_algorithms_warn_only()


def set_deterministic(mode: bool, warn_only: bool = False) -> None:
    """`torch.use_deterministic_algorithms` without the import of torch's own compiler, to set its flag."""
    torch._C._set_deterministic_algorithms(mode, warn_only=warn_only)


def _read_attention() -> list[bool]:
    return [getattr(torch._C, f"_get_{name}_sdp_enabled")() for name in ATTENTION]


def _set_attention(enabled: list[bool]) -> None:
    for name, value in zip(ATTENTION, enabled):
        getattr(torch._C, f"_set_sdp_use_{name}")(value)


hooks = torch._C._autograd


def _forbid_saved_hooks(message: str | None) -> None:
    if message is None:
        hooks._saved_tensors_hooks_enable()
    else:
        hooks._saved_tensors_hooks_disable(message)


FLAGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "default_dtype": (torch.get_default_dtype, torch._C._set_default_dtype),
    "deterministic": (_read_deterministic, lambda state: set_deterministic(*state)),
    "attention": (_read_attention, _set_attention),
    "saved_hooks_forbidden": (hooks._saved_tensors_hooks_get_disabled_error_message, _forbid_saved_hooks),
}

SETTERS: tuple[Any, ...] = (
    torch._C._set_default_dtype,
    hooks._saved_tensors_hooks_enable,
    hooks._saved_tensors_hooks_disable,
    *(getattr(torch._C, f"_set_sdp_use_{name}") for name in ATTENTION),
)

#: readers of flags that no other guard reads -> the name of the flag, and the index if the flag is a list
READERS: dict[Any, tuple[str, int | None]] = {
    hooks._saved_tensors_hooks_get_disabled_error_message: ("saved_hooks_forbidden", None),
    **{
        getattr(torch._C, f"_get_{name}_sdp_enabled"): ("attention", place)
        for place, name in enumerate(ATTENTION)
    },
}


def read_from(flags: dict[str, Any]) -> dict[Any, Any]:
    """The result of each reader for these values of the flags."""
    return {
        reader: flags[name] if place is None else flags[name][place]
        for reader, (name, place) in READERS.items()
    }


def read_flags() -> dict[str, Any]:
    return {name: read() for name, (read, _) in FLAGS.items()}


def write_flags(values: dict[str, Any]) -> None:
    """Set the flags whose values differ."""
    for name, (read, write) in FLAGS.items():
        if read() != values[name]:
            write(values[name])
