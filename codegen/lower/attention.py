"""Attention with fewer heads of keys and values than of queries: the operator takes them as they are.

In:  the call of the operator; keys and values that the program has repeated for it.
Out: its arguments without the repetition, which is not computed then.

    k.unsqueeze(2).expand(b, g, n, s, d).reshape(b, g * n, s, d)        ->   k, for each of n heads of queries
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from codegen.kernel.index_algebra import from_size

aten = torch.ops.aten
RESHAPES = (aten._unsafe_view.default, aten.view.default, aten.reshape.default)


def without_repeats(node: fx.Node) -> tuple[Any, ...]:
    """The arguments of any call."""
    if node.target is not aten._scaled_dot_product_flash_attention_for_cpu.default:
        return node.args
    if any(user.args[1] == 1 for user in node.users):  # its backward reads that, for keys as it gets them
        return node.args
    query, key, value, *rest = node.args
    keys, values = _repeated(key), _repeated(value)
    if keys is None or values is None or keys.meta["val"].shape[1] != values.meta["val"].shape[1]:
        return node.args
    return query, keys, values, *rest


def _repeated(node: Any) -> fx.Node | None:
    """What was repeated head by head."""
    flat = _operand(node, *RESHAPES)  # the clone, or what it copies
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
    fits = (
        isinstance(groups, int) and isinstance(times, int) and wide == [batch, groups, times, length, width]
    )
    heads = [from_size(size) for size in node.meta["val"].shape]
    return base if fits and heads == [batch, groups * times, length, width] else None  # type: ignore[operator]


def _operand(node: Any, *targets: Any) -> fx.Node | None:
    """Of the call that made it, where that is one of these operators."""
    if not isinstance(node, fx.Node) or node.target not in targets:
        return None
    operand = node.args[0]
    return operand if isinstance(operand, fx.Node) else None
