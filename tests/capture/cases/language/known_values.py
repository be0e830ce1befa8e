"""Sizes that are read from tensors of constants."""

from __future__ import annotations

import torch

from tests.capture.cases.registry import case


@case(1, 4)
def a_quotient_of_sizes(x):
    x = x + 1
    count = torch.div(x.size(1), 2, rounding_mode="trunc")
    return x.view(3, count, 2) * 2


@case(1, 5)
def a_product_of_a_list(x):
    count = torch.tensor([2, 6]).prod()
    return (x * 2).view(-1, count) + 1


@case(1, 5)
def an_item_of_a_list(x):
    sizes = torch.tensor([2, 6])
    return (x * 2).view(sizes[0], sizes[1])


@case(2, None)
def written_to_before_it_is_read(x):
    count = torch.tensor(2) * 1
    count.add_(2)
    return (x * 2).view(-1, count) + 1


@case(2, None)
def drawn_from_a_constant(x):
    torch.manual_seed(1)
    count = torch.bernoulli(torch.tensor(1.0)).to(torch.int64) + 1
    return (x * 2).view(-1, count) + 1


@case(2, None)
def only_zeros_of_the_same_shape(x):
    count = torch.zeros_like(x[0, 0], dtype=torch.int64) + 2
    return (x * 2).view(-1, count) + 1
