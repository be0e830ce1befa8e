"""Steps that may fail run before any write to an input, and before any draw that they do not need.

In:  the stores of a lowering.
Out: `hoist_checks` adds kernels that check indices. `call_may_fail` and `may_fail` say which steps may fail.

    x[i] with i an input   ->   a kernel that checks i; then the kernel that gathers, which trusts it

Eager runs a failed graph again from the start, so the inputs must still be unchanged, and no random numbers
drawn. Therefore all steps that can fail come before the steps that write to inputs, and before the draws that
they do not depend on (`codegen.passes.pipeline`, `order`). Kernels of their own check the indices that are
inputs themselves. Without them, the loss at the end of a network could still fail, because its targets may be
out of range. Then every write of a running mean would have to wait for the loss.
"""

from __future__ import annotations

import torch
from torch._ops import OpOverload

from codegen.kernel.index_algebra import Index, times
from codegen.kernel.program import ExternStep, Step, ViewStep, is_input_memory
from codegen.lower.graph import Lowering
from codegen.lower.scalar_math import both, compare
from codegen.lower.tensor_expr import (
    Affine,
    Checked,
    Gather,
    Map,
    Scattered,
    Stored,
    TensorExpr,
    View,
    along,
    children,
    size_value,
    topological,
)
from codegen.trace.draws import draw, draws_numbers

CHEAP = 24  # most definitions in an index that is computed twice: by its check and by its use

#: operators that do not raise because of values
SAFE = frozenset(
    [
        "convolution",
        "convolution_backward",
        "mm",
        "bmm",
        "addmm",
        "addmv",
        "baddbmm",
        "addbmm",
        "dot",
        "vdot",
        "mv",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "sort",
        "topk",
        "cumsum",
        "cumprod",
        "logcumsumexp",
        "cummax",
        "cummin",
        "max_pool2d_with_indices",
        "max_pool2d_with_indices_backward",
        "max_pool3d_with_indices",
        "avg_pool2d",
        "avg_pool3d",
        "avg_pool2d_backward",
        "mkldnn_rnn_layer",
        "mkldnn_rnn_layer_backward",
        "_capture::lstm_layer",
        "_capture::lstm_layer_backward",
        "_capture::gru_layer",
        "_capture::gru_layer_backward",
        "_capture::rnn_layer",
        "_capture::rnn_layer_backward",
        "_capture::convolution",
        "_capture::convolution_image",
        "_capture::convolution_weight",
        "rand",
        "randn",
        "rand_like",
        "randn_like",
        "randint",
        "randint_like",
        "upsample_bilinear2d",
        "upsample_bicubic2d",
        "grid_sampler_2d",
        "grid_sampler_3d",
        "im2col",
        "col2im",
        "native_dropout",
        "clone",
        "_to_copy",
        "copy",
        "view_as_real",
        "view_as_complex",
    ]
)
SAFE_DRAWS = frozenset((
    torch.ops.aten.bernoulli_.float, torch.ops.aten.normal_.default, torch.ops.aten.uniform_.default,
    torch.ops.aten.exponential_.default,
))  # fmt: skip


def call_may_fail(step: Step) -> bool:
    """Whether values of its arguments can make this call raise. Unknown operators count as failing."""
    if isinstance(step, ViewStep) or not isinstance(step, ExternStep):
        return False
    if step.op is draw:
        return step.args[0] not in SAFE_DRAWS
    return not (isinstance(step.op, OpOverload) and step.op._schema.name.removeprefix("aten::") in SAFE)


def is_draw(step: object) -> bool:
    """Whether it is a call that takes numbers from a generator."""
    return isinstance(step, ExternStep) and draws_numbers(step.op)


def may_fail(value: TensorExpr) -> bool:
    """Whether this definition itself contains a check of values. Definitions that it reads do not count."""
    if isinstance(value, Checked):
        return True
    if isinstance(value, (Gather, Scattered)) and not value.trusted:
        return any(reads_memory(item) for item in value.coordinates if isinstance(item, TensorExpr))
    return False


def reads_memory(value: TensorExpr) -> bool:
    return any(isinstance(item, Stored) for item in topological([value]))


# --- checks in kernels of their own -----------------------------------------------------------------------


def hoist_checks(lowering: Lowering) -> None:
    """If the graph writes to inputs or draws random numbers, check first the indices that are inputs."""
    buffers = lowering.program.buffers
    writes = any(is_input_memory(buffers[store.target.buffer]) for store in lowering.stores)
    if not writes and not any(map(is_draw, lowering.steps)):
        return
    known: dict[tuple[TensorExpr, Index, bool], str] = {}
    stores, lowering.stores[:] = [*lowering.stores], []
    for value in topological([store.value for store in stores]):
        if not isinstance(value, (Gather, Scattered)) or not may_fail(value):
            continue
        shape = value.base.shape if isinstance(value, Gather) else value.into
        indices = [
            (whole(item), size)
            for item, size in zip(value.coordinates, shape, strict=True)
            if isinstance(item, TensorExpr)
        ]
        if all(is_cheap_input(lowering, index) for index, _ in indices):
            keys = [(index, size, value.wraps) for index, size in indices]
            for key in keys:
                if key not in known:
                    known[key] = lowering.realize(in_range(*key), "index").buffer
            value.trusted, value.checks = True, tuple(known[key] for key in keys)
    lowering.stores += stores  # behind the checks: roots stand behind what they need


def in_range(index: TensorExpr, size: Index, wraps: bool) -> TensorExpr:
    least = size_value(times(-1, size), index.shape) if wraps else 0
    inside = both(compare("ge", index, least), compare("lt", index, size_value(size, index.shape)))
    return Checked(inside, inside)


def whole(index: TensorExpr) -> TensorExpr:
    """The index without the dims along which it only repeats."""
    if not isinstance(index, View) or not isinstance(index.transform, Affine):
        return index
    base, dims = index.base, []
    for coordinate, size in zip(index.transform.coordinates, base.shape, strict=True):
        (dim, _), *more = coordinate.terms or ((-1, 0),)
        if more or coordinate != along(dim) or index.shape[dim] != size or dim in dims:
            return index
        dims.append(dim)
    return whole(base)


def is_cheap_input(lowering: Lowering, index: TensorExpr) -> bool:
    """Whether a few elementwise operations compute the index from inputs."""
    items = topological([index])
    if len(items) > CHEAP or any(isinstance(item, (Gather, Checked)) for item in items):
        return False
    return all(
        lowering.program.buffers[item.buffer].kind in ("input", "constant")
        if isinstance(item, Stored)
        else isinstance(item, (Map, View)) or not children(item)
        for item in items
    )
