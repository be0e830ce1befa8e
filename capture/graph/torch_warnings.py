"""Warnings that torch's functions give while they run on fake tensors.

In:  the call, and the place in the program of the operation that it carries out.
Out: its result. A warning has the program's line, and the filters count it there: by default it is shown once
     for that line.

    loss = F.mse_loss(x, y)     ->     train.py:12: UserWarning: Using a target size (torch.Size([8])) ...
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import _capture

from capture.graph.program_places import Place

REGISTRY = "__warningregistry__"  # in the globals of a module: the warnings that it has given


def call_from(place: Place, namespace: dict[str, Any], call: Callable[[], Any]) -> Any:
    """Its caller is a frame with the names, the line and the globals of the program's.

    (`calls_at_places.caller_at` has the columns, too. It takes 190 us where this takes 1, too much for each
    operation.)
    """
    code = _calling.__code__.replace(
        co_filename=place.co_filename,
        co_name=place.co_name,
        co_qualname=place.co_qualname,
        co_firstlineno=place.line - 1,
    )
    _capture.skip_code(code)
    return types.FunctionType(code, namespace)(call)


def has_warned(place: Place, namespace: dict[str, Any]) -> bool:
    """Whether a call in the line has given a warning."""
    given = namespace.get(REGISTRY) or {}
    return any(isinstance(key, tuple) and key[-1] == place.line for key in given)


def _calling(call: Callable[[], Any]) -> Any:
    return call()
