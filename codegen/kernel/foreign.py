"""Operators that torch does not define: those of the program and of libraries (`torch.library`).

In:  an operator.
Out: whether it is foreign. Nothing is known of such an operator but its schema: its names follow no rule, and
     it may do more than its schema says (print, count). So a graph calls it as often as the program, in the
     program's order.

    torch.ops.mylib.blur.default   ->   True        torch.ops.aten.relu_.default   ->   False
"""

from __future__ import annotations

from typing import Any

from torch._ops import OpOverload

#: the namespace of our own operators (`codegen.kernel.own_operators` defines them)
OUR_OPERATORS = "_capture"
#: the namespaces of torch's operators and our own
NAMESPACES = frozenset((
    "aten", "prims", "prim", "quantized", "_quantized", "quantization", "quantized_decomposed", "mkldnn",
    "mkldnn_prepacked", "mkl", "onednn", "sparse", "rngprims", "inductor_prims", "debugprims", "profiler",
    "higher_order", "_native", "static_runtime", OUR_OPERATORS,
))  # fmt: skip


def is_foreign(func: Any) -> bool:
    return isinstance(func, OpOverload) and func.namespace not in NAMESPACES
