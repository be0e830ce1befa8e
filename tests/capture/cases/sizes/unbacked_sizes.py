"""Tensors whose size depends on values: masks, `nonzero`, `unique`, repeats."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.capture.cases.sizes.unbacked_registry import masks, reads, some_masks, vectors


@reads(masks, ops=7)
def rows_of_a_mask(x, mask):
    return x[mask] * 2


@reads(masks, ops=6)
def number_of_rows(x, mask):
    return len(x[mask])


@reads(masks, ops=7)
def rows_and_sizes(x, mask):
    y = x[mask]
    return y.shape[0], y.size(), y.sum()


@reads(masks, ops=8)
def number_of_elements(x, mask):
    y = x[mask]
    return y * y.numel()


@reads(masks, ops=9)
def others_of_that_size(x, mask):
    y = x[mask]
    return torch.zeros(y.shape[0], 3) + 1, torch.zeros_like(y)


@reads(masks, ops=9)
def written_back(x, mask):
    y = x.clone()
    y[mask] = y[mask] * 2
    return y


@reads(masks, ops=2)
def written_at_a_mask(x, mask):
    y = x.clone()
    y[mask] = 0
    return y


@reads(masks, ops=8)
def product_of_rows(x, mask):
    y = x[mask]
    return y @ y.t()


@reads(masks, ops=8)
def views(x, mask):
    y = x[mask]
    return y.view(-1), y.reshape(y.shape[0], 2, 2)


@reads(masks, ops=9)
def same_mask_twice(x, mask):
    return x[mask] + (x + 1)[mask]


@reads(masks, ops=9)
def along_the_rows(x, mask):
    y = x[mask]
    return y.softmax(0), y.sum(0), y.mean(1)


@reads(masks, ops=9)
def a_layer(x, mask):
    return functional.linear(x[mask], x).relu().sum()


@reads(masks, ops=8, reruns=1)
def squeezed(x, mask):
    y = x[mask].squeeze(0)
    return y * y.ndim


@reads(masks, ops=13, reruns=1)
def first_row(x, mask):
    return x[mask][0] * 2


@reads(masks, ops=8, graphs=2, refused="unbacked_decision")
def decided_upon(x, mask):
    y = x[mask]
    if y.shape[0] > 2:
        return y * 2
    return y


@reads(some_masks, ops=8, graphs=3, refused="unbacked_decision")
def loop_over_rows(x, mask):
    total = 0
    for row in x[mask]:
        total = total + row
    return total


@reads(masks, ops=6, graphs=1, refused="data_dependent_shape")
def layout(x, mask):
    return x[mask].stride()


@reads(masks, ops=2, graphs=2, refused="data_dependent_shape")
def written_to_an_input(x, mask):
    x.add_(1)
    return x[mask].squeeze(0)


@reads(masks, ops=8)
def written_to_an_input_beside(x, mask):
    x.add_(1)
    return x[mask] * 2


@reads(masks, ops=10, reruns=1)
def drawn(x, mask):
    return torch.rand(4) + x[mask].squeeze(0).sum()


@reads(masks, ops=8)
def selected(x, mask):
    return torch.masked_select(x, mask[:, None]) + 1


@reads(masks, ops=7)
def places_of_a_mask(x, mask):
    return mask.nonzero() * 2


@reads(masks, ops=12)
def places_as_indices(x, mask):
    i, j = torch.where(x > 0)
    return x[i, j] * 2


@reads(masks, ops=8)
def embedded(x, mask):
    return functional.embedding(mask.nonzero().squeeze(1), x)


VALUES = vectors([1, 2, 2, 3], [5, 5, 5, 5], [4, 3, 2, 1], [0, 0, 0, 1])


@reads(VALUES, ops=7)
def unique(x, t):
    return torch.unique(t) + 1


@reads(VALUES, ops=10)
def unique_with_counts(x, t):
    return torch.unique(t, return_inverse=True, return_counts=True)


@reads(VALUES, ops=6)
def unique_neighbours(x, t):
    return torch.unique_consecutive(t)


@reads(VALUES, ops=5)
def counted(x, t):
    return torch.bincount(t) + 1


@reads(vectors([1] * 8, [0] * 8, [0, 1] * 4, [3, 0, 0, 0, 0, 0, 0, 1]), ops=4)
def repeated(x, t):
    return x.repeat_interleave(t, dim=0)


@reads(vectors([1, 0, 1, 0], [0, 0, 0, 0]), ops=2, graphs=1, refused="data_dependent_shape")
def mask_of_bytes(x, t):
    return x[:4][t.to(torch.uint8)]
