"""Random graphs of pointwise, view, reduction, join and call operators against eager."""

from __future__ import annotations

import random

import pytest
import torch

from tests.codegen.lowering_check import check


def _pointwise(rng, pool):
    x = rng.choice(pool)
    return rng.choice(
        [
            torch.tanh,
            torch.sin,
            lambda v: v * 0.5 + 1,
            torch.neg,
            lambda v: torch.relu(v) - 0.25,
            torch.sigmoid,
        ]
    )(x)


def _binary(rng, pool):
    x = rng.choice(pool)
    fits = [y for y in pool if _broadcasts(x, y)] or [x]
    return rng.choice([torch.add, torch.mul, torch.maximum, torch.sub])(x, rng.choice(fits))


def _broadcasts(x, y):
    return (
        all(a == b or a == 1 or b == 1 for a, b in zip(reversed(x.shape), reversed(y.shape)))
        and max(x.dim(), y.dim()) < 5
    )


def _view(rng, pool):
    x = rng.choice(pool)
    if x.dim() == 0:
        return x.reshape(1, 1)
    dim = rng.randrange(x.dim())
    order = list(range(x.dim()))
    rng.shuffle(order)
    options = [
        lambda: x.permute(order),
        lambda: x.reshape(-1),
        lambda: x.flip(dim),
        lambda: x.narrow(dim, 0, max(1, x.shape[dim] // 2)),
        lambda: x.select(dim, x.shape[dim] - 1),
        lambda: x.unsqueeze(dim),
        lambda: x.reshape(x.shape[0], -1),
        lambda: x.flatten().view(2, -1) if x.numel() % 2 == 0 else x,
    ]
    return rng.choice(options)()


def _reduce(rng, pool):
    x = rng.choice(pool)
    if x.dim() == 0:
        return x.sum()
    dim = rng.randrange(x.dim())
    keep = rng.random() < 0.5
    options = [
        lambda: x.sum(dim, keepdim=keep),
        lambda: x.mean(dim, keepdim=keep),
        lambda: x.amax(dim, keepdim=keep),
        lambda: torch.softmax(x, dim),
        lambda: x - x.mean(dim, keepdim=True),
        lambda: torch.var(x, dim, correction=0, keepdim=keep),
        lambda: x.mean(),
        lambda: x / (1 + x.abs().sum(dim, keepdim=True)),
    ]
    return rng.choice(options)()


def _join(rng, pool):
    x = rng.choice(pool)
    if x.dim() == 0 or x.numel() > 4000:
        return x + 1
    fits = [y for y in pool if y.shape == x.shape]
    return torch.cat([x, rng.choice(fits)], rng.randrange(x.dim()))


def _call(rng, pool):
    x = rng.choice(pool)
    return torch.cumsum(x, 0) if x.dim() else x * 2


STEPS = [_pointwise] * 4 + [_binary] * 4 + [_view] * 3 + [_reduce] * 3 + [_join, _call]


def build(seed):
    def function(*inputs):
        rng = random.Random(seed)
        pool = list(inputs)
        for _ in range(rng.randrange(4, 14)):
            new = rng.choice(STEPS)(rng, pool)
            if 0 < new.numel() < 8000:
                pool.append(new)
        results = [pool[-1], *rng.sample(pool[len(inputs) :] or pool, min(2, len(pool) - len(inputs)))]
        if rng.random() < 0.3:
            fits = [value for value in pool if value.shape == inputs[0].shape]
            results = [value.clone() for value in results]
            inputs[0].copy_(rng.choice(fits) * 1.0)
        return results

    return function


@pytest.mark.parametrize("seed", range(60))
def test_random_graph(seed):
    torch.manual_seed(seed)
    shapes = random.Random(seed).choice(
        [
            [(4, 6), (6,), (4, 1)],
            [(2, 3, 8), (3, 1), (8,)],
            [(16, 16), (16,), ()],
            [(2, 4, 3, 5), (4, 1, 1), (5,)],
        ]
    )
    check(build(seed), *(torch.randn(shape) for shape in shapes), no_calls=False, native=seed % 4 == 0)
