"""Random optimizers whose groups, states, parameters and gradients change between the steps."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config

pytestmark = pytest.mark.sweep

Make = Callable[[list[Any], random.Random], Any]
OPTIMIZERS: list[Make] = [
    lambda p, r: torch.optim.AdamW(p, amsgrad=r.random() < 0.3, foreach=r.choice([None, True, False])),
    lambda p, r: torch.optim.Adam(p, weight_decay=r.choice([0, 0.1]), fused=r.choice([None, True])),
    lambda p, r: torch.optim.Adam(p, lr=torch.tensor(0.01), maximize=r.random() < 0.5),
    lambda p, r: torch.optim.SGD(p, momentum=r.choice([0, 0.9]), weight_decay=r.choice([0, 0.1])),
    lambda p, r: torch.optim.SGD(p, momentum=0.9, nesterov=True, fused=r.choice([None, True])),
]


def new_rate(r: random.Random, optimizer: Any, group: Any) -> None:
    rate = r.choice([0.1, 0.02, 0.003])
    if isinstance(group["lr"], torch.Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


def other_numbers(r: random.Random, optimizer: Any, group: Any) -> None:
    new = {"betas": (r.choice([0.9, 0.3]), r.choice([0.99, 0.9])), "weight_decay": r.choice([0, 0.2])}
    new["maximize"] = not group["maximize"]
    name = r.choice(sorted(new))
    if name in group:
        group[name] = new[name]


def new_group(r: random.Random, optimizer: Any, group: Any) -> None:
    like = group["params"][0]
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.randn_like(like))]})


def loaded(r: random.Random, optimizer: Any, group: Any) -> None:
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def lost_state(r: random.Random, optimizer: Any, group: Any) -> None:
    optimizer.state.pop(r.choice(group["params"]), None)


def other_layout(r: random.Random, optimizer: Any, group: Any) -> None:
    parameter = group["params"][0]
    place = r.choice(["parameter", "gradient"])
    if place == "parameter":
        parameter.data = parameter.data.t().contiguous().t()
    else:
        parameter.grad = parameter.grad.t().contiguous().t()


def no_gradient(r: random.Random, optimizer: Any, group: Any) -> None:
    r.choice(group["params"]).grad = None


def other_mode(r: random.Random, optimizer: Any, group: Any) -> None:
    torch.set_grad_enabled(r.random() < 0.5)


CHANGES = [
    new_rate, other_numbers, new_group, loaded, lost_state, other_layout, no_gradient, other_mode,
]  # fmt: skip


def values_of(optimizer: Any) -> Iterator[Any]:
    for parameter in (p for group in optimizer.param_groups for p in group["params"]):
        yield from (parameter.detach(), *optimizer.state[parameter].values())


def run(seed: int, captured: bool) -> list[Any]:
    r = random.Random(seed)
    torch.manual_seed(seed)
    dtype = r.choice([torch.float32, torch.float64])
    parameters = [torch.nn.Parameter(torch.randn(s, dtype=dtype)) for s in [(4, 3), (5,), (), (2, 3, 2)]]
    optimizer = r.choice(OPTIMIZERS)(parameters, r)
    errors: list[type] = []
    with torch.enable_grad():  # puts back the mode that a change has set
        for step in range(8):
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = torch.randn_like(parameter)
            if step > 1:
                r.choice(CHANGES)(r, optimizer, r.choice(optimizer.param_groups[:1]))
            try:
                with capture.enable() if captured else contextlib.nullcontext():
                    optimizer.step()
            except Exception as error:  # torch refuses some lists
                errors.append(type(error))
    return [*errors, *values_of(optimizer)]


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_steps_are_those_of_eager(first: int) -> None:
    capture.reset()
    for seed in range(first, first + 10):
        expected = run(seed, captured=False)
        with config.patch(when="first", raise_on_error=True):
            got = run(seed, captured=True)
        assert len(got) == len(expected), seed
        for ours, theirs in zip(got, expected):
            if not isinstance(theirs, torch.Tensor):
                assert ours == theirs, seed
                continue
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5, msg=lambda m: f"{seed}: {m}")
