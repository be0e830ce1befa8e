"""while_loop, scan, associative_scan and regions: only captured, since eager uses torch.compile for them.

Plain Python gives the expected results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn as nn
from torch._higher_order_ops import associative_scan, scan, while_loop

import capture

Program = Callable[[torch.Tensor], Any]


def doubled(x: torch.Tensor) -> Any:
    y = x.sin()
    return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2 + y), (torch.tensor(0), x))


def plain_doubled(x: torch.Tensor) -> Any:
    y, a = x.sin(), x
    for _ in range(3):
        a = a * 2 + y
    return torch.tensor(3), a


def until_large(x: torch.Tensor) -> Any:
    return torch.while_loop(
        lambda d: d["a"].sum() < 100, lambda d: ({"a": d["a"].abs() * 2 + 1},), ({"a": x},)
    )


def plain_until_large(x: torch.Tensor) -> Any:
    x = x.clone()
    while x.sum() < 100:
        x = x.abs() * 2 + 1
    return ({"a": x},)


def nested(x: torch.Tensor) -> Any:
    def body(i: torch.Tensor, a: torch.Tensor) -> Any:
        _, b = while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b + 1), (torch.tensor(0), a))
        return i + 1, b * 2

    return while_loop(lambda i, a: i < 2, body, (torch.tensor(0), x))[1]


def plain_nested(x: torch.Tensor) -> Any:
    return ((x + 2) * 2 + 2) * 2


def scanned(x: torch.Tensor) -> Any:
    scale = x[0] * 2
    return scan(lambda c, row: (c + row, (c * scale, {"k": row + 1})), torch.zeros(4), x * 1)


def plain_scanned(x: torch.Tensor) -> Any:
    carry, outs, scale = torch.zeros(4), [], x[0] * 2
    for row in x:
        outs.append(carry * scale)
        carry = carry + row
    return carry, (torch.stack(outs), {"k": x + 1})


def scanned_backwards(x: torch.Tensor) -> Any:
    return scan(lambda c, column: (c + column, c * 2), torch.zeros(3), x, dim=1, reverse=True)


def plain_scanned_backwards(x: torch.Tensor) -> Any:
    carry, outs = torch.zeros(3), []
    for column in reversed(x.unbind(1)):
        outs.append(carry * 2)
        carry = carry + column
    return carry, torch.stack(outs[::-1]).t()


def products(x: torch.Tensor) -> Any:
    shift = x[0].sum() * 0
    forward = associative_scan(lambda a, b: a * b + shift, x, dim=0, combine_mode="generic")
    return forward, associative_scan(lambda a, b: a + b, x, dim=1, reverse=True, combine_mode="generic")


def plain_products(x: torch.Tensor) -> Any:
    return x.cumprod(0), x.flip(1).cumsum(1).t().contiguous().t().flip(1)


def not_associative(x: torch.Tensor) -> Any:
    return associative_scan(lambda a, b: a * 0.5 + b, x, dim=1, reverse=True, combine_mode="generic")


def plain_not_associative(x: torch.Tensor) -> Any:
    """torch combines pairs first."""
    x = x.t()
    two = x[3] * 0.5 + x[2]
    return torch.stack([two * 0.5 + (x[1] * 0.5 + x[0]), two * 0.5 + x[1], two, x[3]]).t()


def long(x: torch.Tensor) -> Any:
    return scan(lambda c, v: (c * 0.5 + v, c.sin()), torch.zeros(3, 4), x.expand(100, 3, 4) + 0)


def plain_long(x: torch.Tensor) -> Any:
    carry, outs = torch.zeros(3, 4), []
    for _ in range(100):
        outs.append(carry.sin())
        carry = carry * 0.5 + x
    return carry, torch.stack(outs)


@torch.compiler.nested_compile_region
def region(a: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    return a.sin() * scale


def regions(x: torch.Tensor) -> Any:
    return region(x) + region(x + 1, scale=3.0)


def plain_regions(x: torch.Tensor) -> Any:
    return x.sin() * 2 + (x + 1).sin() * 3


PROGRAMS = [
    (doubled, plain_doubled),
    (until_large, plain_until_large),
    (nested, plain_nested),
    (scanned, plain_scanned),
    (scanned_backwards, plain_scanned_backwards),
    (products, plain_products),
    (not_associative, plain_not_associative),
    (long, plain_long),
    (regions, plain_regions),
]


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if leaf.is_floating_point()]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(("program", "plain"), PROGRAMS, ids=lambda f: f.__name__)
def test_as_plain_python(program: Program, plain: Program, backend: str) -> None:
    fast = capture.compile(program, backend=backend, fullgraph=True)
    for start in (0.0, 0.5, 50.0):
        gradients = []
        for function in (plain, fast):
            x = (torch.arange(12.0).reshape(3, 4) / 12 + start).requires_grad_(program is not doubled)
            out = function(x)
            gradients.append(
                (out, torch.autograd.grad(sum(t.sum() for t in tensors(out)), x)) if x.requires_grad else out
            )
        torch.testing.assert_close(gradients[1], gradients[0])


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(()))

    @torch.compiler.nested_compile_region
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return self.linear(x).relu()


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_regions_of_modules(backend: str) -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(Layer(), Layer()), torch.randn(3, 4)
    out = capture.compile(model, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(out, model(x))
    assert model[0].calls == 2


def changes_the_form(x: torch.Tensor) -> Any:
    return while_loop(lambda a: a.sum() < 9, lambda a: (a[0] + 1,), (x,))


def counts_with_an_int(x: torch.Tensor) -> Any:
    return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + 1), (0, x))


def returns_its_carry(x: torch.Tensor) -> Any:
    return scan(lambda c, row: (c + row, row), torch.zeros(4), x)


def is_no_boolean(x: torch.Tensor) -> Any:
    return while_loop(lambda a: a.sum(), lambda a: (a + 1,), (x,))


def returns_one_value(x: torch.Tensor) -> Any:
    return scan(lambda c, row: c + row, torch.zeros(4), x)


def keeps_count(x: torch.Tensor) -> Any:
    calls = []

    def body(c: torch.Tensor, row: torch.Tensor) -> Any:
        calls.append(1)
        return c + row, c * 2

    return scan(body, torch.zeros(4), x), len(calls)


@pytest.mark.parametrize(
    "program",
    [changes_the_form, counts_with_an_int, returns_its_carry, is_no_boolean, returns_one_value, keeps_count],
)
def test_what_is_left_to_python(program: Program) -> None:
    with pytest.raises(capture.Unsupported):
        capture.compile(program, fullgraph=True)(torch.ones(3, 4))
