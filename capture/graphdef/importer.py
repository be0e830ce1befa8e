"""import_graphdef: a graph of TensorFlow as a GraphModule.

In:  a GraphDef: a path or bytes.
Out: `torch.fx.GraphModule`, one call for each node.

    gm = capture.import_graphdef("frozen.pb")
    fast = capture.compile(gm)
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence

import torch.fx

from capture.report.arguments import checked_arguments, shown
from capture.report.errors import UsageError


@checked_arguments
def import_graphdef(
    path_or_bytes: str | os.PathLike[str] | bytes, outputs: str | Sequence[str] | None = None
) -> torch.fx.GraphModule:
    """The graph of a GraphDef, in binary or text form. TensorFlow is not needed; the package protobuf is.

    outputs: "name" or "name:1" for one result; a list of such names for a tuple. Without it, the results are
    the nodes that no other node reads: one of them alone, or a tuple in the order of the file.

    The arguments of the module are the placeholders that the results need, in the order of the file. Those
    with a default come last. Constants are buffers.
    Errors: GraphDefError names the node. UsageError: protobuf is not installed.
    """
    if not isinstance(path_or_bytes, str | os.PathLike | bytes):
        raise UsageError(f"import_graphdef takes a path or bytes, not {shown(path_or_bytes)}")
    try:
        importlib.import_module("google.protobuf")
    except ImportError:
        raise UsageError("import_graphdef needs protobuf: pip install capture-runtime[graphdef]") from None
    from capture.graphdef.build import build  # protobuf and the operators: `import capture` does without
    from capture.graphdef.read import read

    return build(read(path_or_bytes), _names(outputs))


def _names(outputs: str | Sequence[str] | None) -> str | list[str] | None:
    if outputs is None or isinstance(outputs, str):
        return outputs
    names = list(outputs) if isinstance(outputs, Sequence) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise UsageError(f"outputs must be a name or a list of names, not {shown(outputs)}")
    return names
