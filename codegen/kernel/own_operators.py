"""Operators of our own: torch calls them as it calls its own ones, and so does a launch plan.

In:  a schema, and a function that makes the results.
Out: an operator of `torch.ops._capture`, also on fake tensors; `kernel_of`: what a launch plan calls for it.

    "rnn_layer(Tensor gates, ...) -> Tensor"    ->    torch.ops._capture.rnn_layer

Each family has a file (`FAMILIES`), whose import defines its operators. Their arguments are made contiguous.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

from codegen.kernel.foreign import OUR_OPERATORS

Tensor = torch.Tensor

FAMILIES = ("recurrent", "packed_derivatives", "convolution")
LIBRARY = torch.library.Library(OUR_OPERATORS, "FRAGMENT")
#: name of an operator -> what computes it
KERNELS: dict[str, Callable[..., Any]] = {}


def defined(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The function makes the results; what it returns beside them runs where they have memory."""

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        def kernel(*args: Any) -> Any:
            rows = [arg.contiguous() if isinstance(arg, Tensor) else arg for arg in args]
            results, run = make(*rows)
            if rows[0].numel():  # else the batch is empty
                run()
            return results

        name = LIBRARY.define(schema)
        LIBRARY.impl(name, kernel, "CPU")
        LIBRARY.impl(name, lambda *args: make(*args)[0], "Meta")
        KERNELS[f"{OUR_OPERATORS}::{name}"] = kernel
        return make

    return register


def addresses(*tensors: Tensor | None) -> tuple[int, ...]:
    return tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)


def define_all() -> None:
    for family in FAMILIES:
        importlib.import_module(f"codegen.kernel.{family}")


def kernel_of(name: str) -> Callable[..., Any]:
    define_all()
    return KERNELS[name]
