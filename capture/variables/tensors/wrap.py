"""Makes variables of existing tensors.

In:  a tensor and its source.
Out: an input of the graph; an opaque variable for a tensor that the graph can't take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.wrap import guard_type, wraps
from codegen.kernel.errors import UnsupportedTensor

if TYPE_CHECKING:
    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Output
    from guards.sources import Source


@wraps(torch.Tensor, torch.nn.Parameter)
def wrap_tensor(output: Output, value: torch.Tensor, source: Source | None) -> Variable:
    try:
        return output.inputs.add_tensor(value, source)
    except UnsupportedTensor as error:
        guard_type(output, value, source)
        return OpaqueVariable(value, source, "unsupported_tensor", why=str(error))
