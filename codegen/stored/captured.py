"""A graph as it was captured: all that decides what its compilation gives.

In:  the arguments of `compile_fx`, and the process.
Out: `Captured`: plain data, and their digest, the key of the compiled graph. None where the graph is not
     stored; the log `capture.codegen` says why.

    captured(gm, [x, y]).key   ->   "91d0..."
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Any

from torch import fx

from capture_records import dataclass
from codegen.stored.inputs import inputs_data
from codegen.stored.layouts import layouts_data
from codegen.stored.modules import module_data
from codegen.stored.names import NotStored
from codegen.stored.state import state, versions

log = logging.getLogger("capture.codegen")


@dataclass(frozen=True, slots=True)
class Captured:
    """`module`, `inputs`, `state` and `layouts` are plain data (modules.py, inputs.py, state.py, layouts.py).

    `layouts`: the symbolic sizes of a graph that is compiled for all of them; None for other graphs.
    """

    module: Any
    inputs: Any
    state: Any
    kernels: bool
    layouts: Any = None

    @property
    def data(self) -> dict[str, Any]:
        return {
            "module": self.module,
            "inputs": self.inputs,
            "state": self.state,
            "kernels": self.kernels,
            "layouts": self.layouts,
        }

    @property
    def key(self) -> str:
        text = json.dumps([self.data, versions()], sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def captured(
    gm: fx.GraphModule,
    inputs: Sequence[Any],
    *,
    kernels: bool = True,
    frozen: frozenset[int] = frozenset(),
    for_sizes: bool = False,
) -> Captured | None:
    """None where the graph is not stored. `for_sizes`: it is compiled for all sizes at once."""
    try:
        if frozen:
            raise NotStored("constant inputs")
        layouts = layouts_data(gm) if for_sizes else None
        return Captured(module_data(gm), inputs_data(inputs), state(), kernels, layouts)
    except NotStored as reason:
        log.debug("a graph is not kept for the next process: %s", reason)
        return None


def graph_key(gm: fx.GraphModule, inputs: Sequence[Any], **settings: Any) -> str | None:
    """The digest of a captured graph; None where it is not stored."""
    found = captured(gm, inputs, **settings)
    return None if found is None else found.key
