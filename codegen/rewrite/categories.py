"""Draws of categories, as simpler operators that take the same numbers from the generator.

In:  a call of `multinomial`, for one draw of each row or for draws without replacement.
Out: eager's checks as assertions, eager's exponential noise, and the categories with the largest quotients.

    multinomial(p, 1)   ->   _assert_async(all((p < inf) & (p >= 0))); _assert_async(all(amax(p, -1) > 0))
                             noise = empty_like(p).exponential_(); argmax(p / noise, -1, keepdim=True)

The method is eager's own: the race of exponential clocks, known as the Gumbel trick (Kool, van Hoof, Welling,
"Stochastic Beams and Where to Find Them", 2019). Draws with replacement are another method there.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.rewrite.rows import rewriting
from codegen.rewrite.simple import FLOATS
from codegen.rewrite.value_checks import holds

aten = torch.ops.aten
MOST_CATEGORIES = 1 << 24  # eager raises beyond
INVALID = "probability tensor contains either `inf`, `nan` or element < 0"
EMPTY = "invalid multinomial distribution (sum of probabilities <= 0)"


@rewriting(aten.multinomial.default, dtypes=FLOATS)
def multinomial(
    weights: torch.Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> Any:
    replaces = replacement and num_samples != 1
    fits = weights.dim() <= 2 and 0 < num_samples <= weights.shape[-1] <= MOST_CATEGORIES
    if replaces or not fits or generator is not None:
        return NotImplemented
    holds(aten.logical_and(aten.lt(weights, math.inf), aten.ge(weights, 0)), INVALID)
    holds(aten.gt(aten.amax(weights, [-1]), 0), EMPTY)
    noise = aten.exponential_(aten.empty_like(weights))
    quotients = aten.div(weights, noise)
    if num_samples == 1:
        return aten.argmax(quotients, -1, True)
    return aten.topk(quotients, num_samples)[1]
