"""Attention with fewer heads of keys and values than of queries: the operator takes them unrepeated.

In:  the call of the operator, with keys and values that the program has repeated for it.
Out: its arguments without the repetition, which is then not computed.

    k.unsqueeze(2).expand(b, g, n, s, d).reshape(b, g * n, s, d)        ->   k, for each of n heads of queries
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from codegen.kernel.index_notation import from_size

aten = torch.ops.aten
RESHAPES = (aten._unsafe_view.default, aten.view.default, aten.reshape.default)


def without_repeats(node: fx.Node) -> tuple[Any, ...]:
    """The arguments of any call; attention gets keys and values that are not repeated."""
    if node.target is not aten._scaled_dot_product_flash_attention_for_cpu.default:
        return node.args
    # the backward reads this result; it needs the keys as they were passed
    if any(user.args[1] == 1 for user in node.users):
        return node.args
    query, key, value, *rest = node.args
    keys, values = _repeated(key), _repeated(value)
    if keys is None or values is None or keys.meta["val"].shape[1] != values.meta["val"].shape[1]:
        return node.args
    return query, keys, values, *rest


def _repeated(node: Any) -> fx.Node | None:
    """The tensor that `node` repeats head by head."""
    flat = _operand(node, *RESHAPES)  # the clone, or the tensor that the clone copies
    spread = _operand(flat, aten.clone.default) or flat
    lifted = _operand(spread, aten.expand.default)
    base = _operand(lifted, aten.unsqueeze.default)
    if spread is None or lifted is None or base is None or lifted.args[1] not in (2, -3):
        return None
    sizes, wide = ([from_size(size) for size in found.meta["val"].shape] for found in (base, spread))
    if len(sizes) != 4 or len(wide) != 5 or base.meta["val"].stride(3) != 1:
        return None
    batch, groups, length, width = sizes
    times = wide[2]
    if not isinstance(groups, int) or not isinstance(times, int):
        return None
    heads = [from_size(size) for size in node.meta["val"].shape]
    fits = wide == [batch, groups, times, length, width] and heads == [batch, groups * times, length, width]
    return base if fits else None


def _operand(node: Any, *targets: Any) -> fx.Node | None:
    """The operand of the call that made `node`, if that is one of these operators."""
    if not isinstance(node, fx.Node) or node.target not in targets:
        return None
    operand = node.args[0]
    return operand if isinstance(operand, fx.Node) else None
