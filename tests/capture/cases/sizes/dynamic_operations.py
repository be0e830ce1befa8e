"""Operations of torch on changing sizes (see dynamic_registry)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.capture.cases.sizes.dynamic_registry import calls, rows, tensor


class Holder:
    def __init__(self, n):
        self.n = n


# --- operations with sizes ----------------------------------------------------------------------------------


@calls(rows(2, 3, 5), graphs=1, ops=2)
def arithmetic_that_reaches_the_graph(x):
    return x * (x.shape[0] + 1)


@calls(rows(2, 3, 5), graphs=1, ops=1)
def a_size_makes_no_node(x):
    return x * x.shape[0]


@calls([(tensor(n, m),) for n, m in ((4, 8), (5, 8), (4, 6), (7, 14))], graphs=None)
def a_slice_up_to_a_rounded_number(x):
    y = x * 1
    y[: round(x.shape[1] * 0.5)] += 2
    return y, x[: -round(x.shape[1] * 0.5)].unfold(0, 1, 1)


@calls(rows(2, 3, 5), graphs=1)
def mean_by_hand(x):
    return x.sum(0) / x.shape[0], x * (1.0 / x.size(0)), x * x.size(0) ** -0.5, x / math.sqrt(x.size(0))


@calls(rows(2, 3, 5), graphs=1)
def views(x):
    return (
        x.view(-1),
        x.reshape(x.shape[0], -1, 2),
        x.flatten(),
        x.view(x.shape[0] * 2, 2),
        x.unflatten(1, (2, 2)),
    )


@calls(rows(2, 3, 5), graphs=1)
def factories(x):
    n = x.size(0)
    return (
        torch.zeros(n, 3),
        torch.ones(n),
        torch.full((n, 2), 1.5),
        torch.arange(n),
        torch.empty(n, 0),
        torch.eye(n),
    )


@calls(rows(2, 3, 5), graphs=1)
def new_tensors(x):
    return (
        x.new_zeros(x.shape),
        x.new_ones(x.size(0), 2),
        torch.zeros_like(x),
        x.new_full((x.shape[0] + 1,), 2.0),
    )


@calls(rows(2, 3, 5), graphs=1)
def positions(x):
    return (
        x + torch.arange(x.shape[0])[:, None],
        torch.arange(0, x.shape[0], 2),
        torch.arange(x.shape[0] - 1, -1, -1),
    )


@calls(rows(2, 3, 5), graphs=1)
def joining(x):
    return (
        torch.cat([x, x, x]),
        torch.stack([x, x]),
        torch.cat([x, x]).shape[0],
        torch.stack([x, x]).view(-1, 4),
    )


@calls(rows(5, 6, 9), graphs=1)
def slicing(x):
    n = x.shape[0]
    return x[1:], x[: n - 1], x[n // 2 :], x[:-1], x[:, :2], x[::2], x[1:] - x[:-1], x[-3:]


@calls(rows(5, 6, 9), graphs=1)
def narrow_and_roll(x):
    return (
        x.narrow(0, 1, x.shape[0] - 2),
        x.roll(1, 0),
        x.flip(0),
        torch.chunk(x, 2, dim=1),
        x.split(2, dim=-1),
    )


@calls(rows(3, 5, 6), graphs=1)
def attention(x):
    q = x[None]
    scores = q @ q.transpose(-2, -1) / math.sqrt(q.size(-1))
    mask = torch.triu(torch.ones(x.shape[0], x.shape[0], dtype=torch.bool), diagonal=1)
    return F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ q


@calls(rows(3, 5, 6), graphs=1)
def fused_attention(x):
    q = x[None, None]
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


@calls(rows(2, 3, 5), graphs=1)
def expand_and_repeat(x):
    return (
        x[None].expand(3, -1, -1),
        x.unsqueeze(1).expand(x.shape[0], 3, 4),
        x.repeat(2, 1),
        x.sum(1, keepdim=True).expand(x.shape),
    )


@calls(rows(2, 3, 5), graphs=1)
def reductions(x):
    return (
        x.sum(),
        x.mean(0),
        x.max(dim=0),
        x.argmax(1),
        x.std(1),
        x.norm(),
        x.cumsum(0),
        x.softmax(0),
        x.amax(1),
        x.prod(0),
    )


@calls(rows(2, 3, 5), graphs=1)
def in_place(x):
    y = x.clone()
    y[0] = 1
    y[:, 1] = x.shape[0]
    y += 1
    y.mul_(2).clamp_(max=9)
    return y


@calls([(tensor(n, 3, 8, 8),) for n in (2, 4, 5)], graphs=1)
def convolutions(x):
    y = F.max_pool2d(F.conv2d(x, torch.ones(2, 3, 3, 3), padding=1).relu(), 2)
    return F.adaptive_avg_pool2d(y, 1).flatten(1)


@calls([(tensor(n, 3, 8, 8),) for n in (2, 4, 5)], graphs=1)
def normalisations(x):
    return F.group_norm(x, 3), F.layer_norm(x, (8, 8)), F.interpolate(x, scale_factor=2), F.pad(x, (1, 1))


@calls([(torch.arange(n) % 4, tensor(n, 4)) for n in (3, 5, 6)], graphs=1, ops=5)
def indices(index, x):
    return x[index % 2] + 1, x[:, index % 3]


@calls([(torch.arange(n) % 4, tensor(n, 4)) for n in (2, 4, 5)], graphs=1)
def losses(target, x):
    return (
        F.cross_entropy(x, target),
        F.mse_loss(x, x + 1),
        F.one_hot(target, 4),
        F.embedding(target, torch.eye(4)),
        x[target % 2],
    )


@calls(rows(2, 3, 5), graphs=1)
def einsum(x):
    return torch.einsum("bi,bj->bij", x, x), torch.where(x > 1, x, 0), torch.outer(x[:, 0], x[:, 1])


@calls([(tensor(n, 4), tensor(4, 3)) for n in (2, 3, 6)], graphs=2, dynamic=None)
def automatic_with_a_fixed_weight(x, w):
    return (x @ w).relu()


@calls(rows(2, 3), graphs=2)
def iterating_over_rows(x):
    return sum(row * 2 for row in x)


@calls(rows(2, 3, 2), graphs=2)
def a_loop_over_the_size(x):
    y = torch.zeros(4)
    for i in range(x.shape[0]):
        y = y + x[i]
    return y


@calls(rows(2, 3, 5), graphs=1)
def a_loop_over_a_fixed_size(x):
    y = 0
    for i in range(x.shape[1] // 2) if False else range(2):
        y = y + x[:, i]
    return y


@calls([(tensor(8, 8), n) for n in (1, 2, 3, 5, 0)], graphs=2, dynamic=None)
def columns(x, n):
    y = x.clone()
    y[:, n] = 3
    return x[:, n] * 2, x[..., n], x[n, n], x[1:, n, None] + x[n, :, None][1:], y


@calls([(tensor(n, 4),) for n in (3, 5, 6)], graphs=1)
def the_last_row(x):
    return x[x.shape[0] - 1] * 2


@calls([([tensor(n, 4), tensor(n + 1, 4)],) for n in (2, 3, 5)], graphs=2, dynamic=None)
def tensors_in_a_list(tensors):
    return [t * 2 for t in tensors], torch.cat(tensors)


@calls([({"a": tensor(n, 4), "b": tensor(n + 1)},) for n in (2, 3, 5)], graphs=2, dynamic=None)
def tensors_in_a_dict(tensors):
    return {name: t + t.shape[0] for name, t in tensors.items()}


@calls(rows(3, 5, 6), graphs=1)
def sizes_through_objects_and_cells(x):
    total = 0

    def add(n):
        nonlocal total
        total += n

    add(x.shape[0])
    add(2)
    holder = Holder(total)
    holder.half = holder.n // 2
    return x * holder.n + holder.half, total


@calls(rows(3, 5, 6), graphs=2)
def matching_a_shape(x):
    match x.shape:
        case (3, _):
            return x + 1
        case (_, n):
            return x * n


@calls(rows(3, 5, 7), graphs=1)
def questions_to_a_generator(x):
    return x + 1 if all(n > 2 for n in x.shape) and any(n == 4 for n in x.shape) else x


@calls([(tensor(n, 4), tensor(m, 1, 4)) for n, m in ((3, 2), (5, 6), (7, 3))], graphs=1, ops=1)
def shapes_are_broadcast(x, y):
    return (
        torch.broadcast_shapes(x.shape, y.shape, (1, 1, 4)),
        torch.broadcast_shapes([1, 4], x.size()),
        x + 1,
    )


@calls(rows(3, 5, 7), graphs=1)
def the_conjugate_of_a_size(x):
    return x + x.shape[0].conjugate()


@calls(rows(3, 5, 7), graphs=1, ops=4)
def whole_sizes_are_one_argument(x):
    return x.new_ones(x.shape), x.view(x.shape[:-1] + (2, 2))


@calls(rows(3, 5, 7), graphs=1, ops=2)
def a_size_that_is_an_argument_twice(x):
    shape = x.shape
    return torch.broadcast_to(x, shape).expand(shape) if shape[0] > 100 else x.new_ones(shape)


@calls([(tensor(3, 4), tensor(n)) for n in (0, 5, 4, 3)], graphs=None)
def the_size_of_an_out_tensor(x, y):
    torch.sum(x, 0, out=y)
    return y * 2
