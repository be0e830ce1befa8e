"""Worlds of memory and sizes: inputs that alias in one call and not in the next, overlapping views, sizes
0, 1, 2 and large, negative steps, other ranks.

Each row: name, the body, the arguments of the first two calls, those of the later calls. Arguments are made
anew for each call; what the body changes in them is compared too.
"""

from __future__ import annotations

import numpy as np
import torch

import capture
from tests.capture.worlds.registry import add_calls


def arange(*shape):
    count = 1
    for size in shape:
        count *= size
    return torch.arange(float(count)).reshape(shape)


def leaf(*shape):
    return (arange(*shape) + 1).requires_grad_()


def apart():
    return arange(4), arange(4) + 1


def same():
    x = arange(4)
    return x, x


def view_of_the_other():
    x = arange(4)
    return x, x[:]


def shifted():
    base = arange(8)
    return base[:4], base[2:6]


def side_by_side():
    base = arange(8)
    return base[:4], base[4:]


def reversed_view():
    x = arange(4)
    return x, x.flip(0)


def interleaved():
    base = arange(8)
    return base[::2], base[1::2]


def one_of_a_pair():
    base = arange(4, 2)
    return base[:, 0], base.view(-1)[:4]


def transposed():
    x = arange(4, 4)
    return x, x.T


def diagonal():
    x = arange(4, 4)
    return x.diagonal(), x[0]


def expanded():
    return arange(1).expand(4), arange(4)


def same_data_other_dtype():
    x = torch.arange(4, dtype=torch.int32)
    return x, x.view(torch.float32)


def write_first(a, b):
    a.add_(1)
    return a * b, a is b


def write_both(a, b):
    a.add_(1)
    b.mul_(2)
    return a + b


def write_second_read_first(a, b):
    c = a * 2
    b.fill_(7)
    return a + c


def copy_over(a, b):
    a[1:].copy_(b[:-1].clone())
    return a.sum() + b.sum()


def write_through_a_view(a, b):
    a.view(-1)[0] = 9
    return b * 1, a * 1


def resultant_alias(a, b):
    return a, b, a.view(-1), a + b


def in_place_under_a_branch(a, b):
    if a.shape == b.shape:
        a.add_(b)
    return a * 3


def transpose_and_read_the_other_shape(a, b):
    a.unsqueeze_(0)
    shape = tuple(b.shape)
    capture.graph_break()
    return a + 1, shape


def gradient_of_product(a, b):
    a, b = (t.detach().requires_grad_() if t.is_floating_point() else t for t in (a, b))
    return torch.autograd.grad((a * b).sum(), (a, b))


ALIASES = [
    (f"{body.__name__}_{first.__name__}_{then.__name__}", body, first, then)
    for body, first, then in [
        (write_first, apart, same), (write_first, same, apart), (write_first, apart, view_of_the_other),
        (write_first, apart, shifted), (write_first, shifted, side_by_side),
        (write_first, side_by_side, shifted), (write_first, apart, interleaved),
        (write_first, apart, one_of_a_pair), (write_both, apart, same), (write_both, same, apart),
        (write_both, apart, shifted), (write_both, side_by_side, shifted), (write_both, apart, reversed_view),
        (write_both, interleaved, shifted), (write_second_read_first, apart, same),
        (write_second_read_first, apart, shifted), (write_second_read_first, same, view_of_the_other),
        (copy_over, apart, same), (copy_over, apart, shifted), (write_through_a_view, apart, same),
        (write_through_a_view, apart, view_of_the_other), (write_first, transposed, apart),
        (write_first, apart, diagonal), (write_both, transposed, diagonal),
        (write_second_read_first, apart, expanded), (resultant_alias, apart, same),
        (resultant_alias, same, view_of_the_other), (in_place_under_a_branch, apart, same),
        (transpose_and_read_the_other_shape, apart, same),
        (transpose_and_read_the_other_shape, same, apart), (gradient_of_product, apart, same),
        (gradient_of_product, same, shifted), (write_second_read_first, apart, same_data_other_dtype),
    ]
]  # fmt: skip


def summary(x):
    return x * 2, x.sum(), x.shape, len(x)


def by_size(x):
    return x / x.shape[0] if x.shape[0] else x + 5


def halves(x):
    middle = x.shape[0] // 2
    return x[:middle], x[middle:], x.chunk(2)


def loop_over_rows(x):
    total = torch.zeros(())
    for row in x:
        total = total + row.sum()
    return total


def reductions(x):
    return x.sum(0), x.mean(), x.prod(-1), x.std(0), x.norm()


def extremes(x):
    if x.numel() == 0:
        return x
    return x.max(), x.argmax(), x.min(0), x.amax(-1)


def broadcast(x):
    return x + torch.ones(x.shape[-1]), x * x[:1], x - x.mean(-1, keepdim=True)


def reshaped(x):
    return x.reshape(-1), x.flatten(), x.unsqueeze(0).expand(2, *x.shape), x.view(x.shape)


def steps_back(x):
    return x.flip(0), x[list(range(x.shape[0] - 1, -1, -1))], [*range(x.shape[0], -1, -2)]


def sliced_by_size(x):
    n = x.shape[0]
    return x[n - 2 :], x[-n:], x[: -n + 1 or None], x[::2]


def concatenated(x):
    return torch.cat([x, x[:1]]), torch.stack([x, x]), torch.cat([x[:0], x])


def product(x):
    return x.reshape(x.shape[0], -1) @ x.reshape(x.shape[0], -1).T


def ranks(x):
    if x.ndim == 0:
        return x + 1
    return x.sum(tuple(range(x.ndim))) + x.ndim, x.movedim(0, -1), x[..., 0]


def softmax_rows(x):
    return torch.softmax(x, -1), torch.log_softmax(x, 0), torch.cumsum(x, 0)


def trained(x):
    x = x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad((x.tanh() * x.shape[0]).sum(), x)
    return gradient


def padded(x):
    return torch.nn.functional.pad(x, (1, 2)), x.new_zeros(x.shape[0] + 1), torch.arange(x.shape[0])


def sized(*shape):
    def make():
        return (arange(*shape),)

    make.__name__ = "x".join(map(str, shape)) or "scalar"
    return make


SIZES = [
    (f"{body.__name__}_{first.__name__}_{'_'.join(t.__name__ for t in then)}", body, first, then)
    for body in (summary, by_size, halves, loop_over_rows, reductions, broadcast, reshaped, concatenated,
                 softmax_rows, trained, padded)
    for first, *then in [(sized(3, 4), sized(0, 4), sized(1, 4))]
] + [
    (f"{body.__name__}_{first.__name__}_{'_'.join(t.__name__ for t in then)}", body, first, then)
    for body, first, *then in [
        (summary, sized(2), sized(1), sized(0)), (summary, sized(0), sized(5), sized(1)),
        (by_size, sized(1), sized(2), sized(4000)), (halves, sized(5), sized(2), sized(4097)),
        (steps_back, sized(3), sized(1), sized(0)), (steps_back, sized(4, 2), sized(7, 1), sized(2, 2)),
        (sliced_by_size, sized(4), sized(2), sized(9)), (sliced_by_size, sized(3), sized(1), sized(2)),
        (extremes, sized(3, 4), sized(1, 1), sized(0, 4)),
        (extremes, sized(2, 2), sized(300, 200), sized(1, 5)),
        (product, sized(3, 4), sized(1, 4), sized(64, 4)), (product, sized(2, 2), sized(2, 1), sized(5, 0)),
        (ranks, sized(3), sized(3, 4), sized(2, 3, 4)), (ranks, sized(2, 2), sized(), sized(1)),
        (ranks, sized(1, 1, 1), sized(2, 1, 1), sized(1, 1)),
        (reductions, sized(2, 2), sized(257, 33), sized(1, 2)),
        (loop_over_rows, sized(3, 2), sized(5, 2), sized(1, 2)), (trained, sized(3), sized(1), sized(5000)),
        (broadcast, sized(3, 1), sized(1, 3), sized(1, 1)),
        (concatenated, sized(1, 2), sized(4, 2), sized(2, 2)),
        (padded, sized(2), sized(3), sized(1)), (reshaped, sized(2, 3), sized(3, 2), sized(6, 1)),
    ]
]  # fmt: skip


def array(**flags):
    def make():
        made = np.arange(4.0)
        made.setflags(**flags)
        return (made,)

    return make


def read_array(a):
    return a * 2, a[1:], a.sum()


def write_array(a):
    try:
        a[0] = 7
    except ValueError as refused:
        return str(refused), a + 1
    return a + 1


for body in (read_array, write_array):
    add_calls(f"memory_{body.__name__}_freezes", body, array(), [array(write=False)])
    add_calls(f"memory_{body.__name__}_thaws", body, array(write=False), [array()])
for name, body, first, then in ALIASES:
    add_calls(f"memory_{name}", body, first, [then])
for name, body, first, then in SIZES:
    add_calls(f"size_{name}", body, first, then)
