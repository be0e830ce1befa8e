"""torch's attention for CPUs in plain Python, without what it imports from other compilers.

In:  the arguments of the operator `flex_attention`.
Out: its three results.
"""

from __future__ import annotations

from typing import Any

from torch._higher_order_ops.flex_attention import math_attention


def dense_attention(query: Any, *args: Any, **kwargs: Any) -> Any:
    """`torch._higher_order_ops.flex_attention.sdpa_dense`."""
    out, logsumexp, largest = math_attention(query, *args, **kwargs)
    return in_order_of(out, query.stride()), logsumexp, largest


def in_order_of(out: Any, query_strides: Any) -> Any:
    """A copy of the result: its dims lie in memory in the order of the query's, the last has stride 1."""
    last = len(query_strides) - 1
    order = sorted(range(last + 1), key=lambda dim: (query_strides[dim], -dim))
    strides = strides_in(order, out.shape)
    if strides[last] != 1:
        strides = strides_in([last, *(dim for dim in order if dim != last)], out.shape)
    result = out.new_empty_strided(out.shape, strides)
    result.copy_(out)
    return result


def strides_in(order: Any, shape: Any) -> Any:
    """The strides of a tensor without gaps; `order` begins with the dim that varies fastest."""
    strides, step = [0] * len(order), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return strides
