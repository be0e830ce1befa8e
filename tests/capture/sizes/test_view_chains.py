"""Chains of views in graphs that have a symbol: what is returned has eager's strides, offsets and memory."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config

CHAINS = 12  # of each test, each compared for three sizes


@pytest.fixture(autouse=True)
def fresh():
    capture.reset()
    with config.patch(raise_on_error=True, dynamic=None):
        yield


# --- making chains ----------------------------------------------------------------------------------------


def shape_of(choose: random.Random, elements: int) -> list[int]:
    """A shape with so many elements, some of its dims of size 1."""
    shape = [choose.randrange(4), 0] if elements == 0 else []
    while elements > 1:
        shape.append(choose.choice([n for n in range(2, elements + 1) if elements % n == 0]))
        elements //= shape[-1]
    for _ in range(choose.choice((0, 1, 1, 2))):
        shape.insert(choose.randrange(len(shape) + 1), 1)
    return shape


def dim_of(choose: random.Random, v: torch.Tensor) -> int:
    return choose.randrange(-v.dim(), v.dim())


def view_of(choose: random.Random, v: torch.Tensor) -> str:
    sizes = [*map(str, shape_of(choose, v.numel()))]
    if sizes and v.numel() and choose.random() < 0.3:
        sizes[choose.randrange(len(sizes))] = "-1"
    return f"{choose.choice(('view', 'reshape'))}(({''.join(size + ', ' for size in sizes)}))"


def unflatten_of(choose: random.Random, v: torch.Tensor) -> str:
    dim = dim_of(choose, v)
    return f"unflatten({dim}, {shape_of(choose, v.shape[dim])})"


def flatten_of(choose: random.Random, v: torch.Tensor) -> str:
    first, last = sorted(choose.randrange(v.dim()) for _ in range(2))
    return f"flatten({first}, {last})"


def expand_of(choose: random.Random, v: torch.Tensor) -> str:
    sizes = [choose.choice((1, 2, 3)) if size == 1 else choose.choice((-1, size)) for size in v.shape]
    return f"expand({[1, 2][: choose.randrange(3)] + sizes})"


def narrow_of(choose: random.Random, v: torch.Tensor) -> str:
    dim = dim_of(choose, v)
    start = choose.randrange(v.shape[dim] + 1)
    return f"narrow({dim}, {start}, {choose.randrange(v.shape[dim] - start + 1)})"


def part_of(choose: random.Random, v: torch.Tensor) -> str:
    start, end, step = (
        choose.choice(("", 0, 1, -1)),
        choose.choice(("", 2, 4, -1)),
        choose.choice((1, 1, 2, 3)),
    )
    return f"__getitem__((..., slice({start or None}, {end or None}, {step})))"


def permute_of(choose: random.Random, v: torch.Tensor) -> str:
    return f"permute({choose.sample(range(v.dim()), v.dim())})"


def unfold_of(choose: random.Random, v: torch.Tensor) -> str:
    dim = dim_of(choose, v)
    return f"unfold({dim}, {choose.randrange(1, v.shape[dim] + 1)}, {choose.choice((1, 2))})"


STEPS: list[Callable[[random.Random, torch.Tensor], str]] = [
    view_of,
    view_of,
    unflatten_of,
    flatten_of,
    expand_of,
    narrow_of,
    part_of,
    permute_of,
    unfold_of,
    lambda choose, v: "squeeze()",
    lambda choose, v: f"squeeze({dim_of(choose, v)})",
    lambda choose, v: f"unsqueeze({choose.randrange(-v.dim() - 1, v.dim() + 1)})",
    lambda choose, v: f"select({dim_of(choose, v)}, {choose.choice((0, -1))})",
    lambda choose, v: f"diagonal({choose.choice((-1, 0, 1))})",
    lambda choose, v: f"split(2, {dim_of(choose, v)})[-1]",
    lambda choose, v: "view_as(v)",
    lambda choose, v: "mul(2)",
    lambda choose, v: "clone()",
]


def chain(choose: random.Random, v: torch.Tensor) -> list[str]:
    """Steps that eager accepts for `v`."""
    lines: list[str] = []
    for _ in range(60):
        try:
            line = f"v.{choose.choice(STEPS)(choose, v)}"
            v = eval(line, {"v": v})
        except (RuntimeError, IndexError, ValueError):
            continue  # a dim or a view that there is not
        lines.append(line)
        if len(lines) == 4 or v.numel() > 500:
            break
    return lines


def program(lines: Sequence[str]) -> Callable[..., Any]:
    """Returns the result of each step, and a tensor that has the size that changes."""
    source = "".join(f"    v = {line}; results.append(v)\n" for line in lines)
    found: dict[str, Any] = {}
    exec(f"def f(v, y):\n    results = [y * 2]\n{source}    return results\n", found)
    return found["f"]


def random_shape(choose: random.Random) -> list[int]:
    return [choose.choice((1, 1, 2, 3, 4, 12)) for _ in range(choose.randrange(1, 4))]


def made(shape: Sequence[int], turned: bool) -> torch.Tensor:
    x = torch.arange(1.0, 1 + math.prod(shape)).view(*shape)
    return x.transpose(0, -1) if turned else x


# --- comparing --------------------------------------------------------------------------------------------


def layouts(v: torch.Tensor, results: Sequence[torch.Tensor]) -> list[Any]:
    """The last number says which tensor was the first on the memory."""
    memory = [tensor.untyped_storage().data_ptr() for tensor in (v, *results)]
    return [
        (tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.numel() and memory.index(place))
        for tensor, place in zip(results, memory[1:])
    ]


def check(fast: Any, eager: Any, v: torch.Tensor, y: torch.Tensor) -> None:
    try:
        expected = eager(v, y)
    except (RuntimeError, IndexError) as error:
        with pytest.raises(type(error)):
            fast(v, y)
        return
    found = fast(v, y)
    assert layouts(v, found) == layouts(v, expected)
    assert all(torch.equal(*pair) for pair in zip(found, expected))


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("seed", range(CHAINS))
def test_views_of_known_sizes_beside_a_symbol(seed: int, grad: bool) -> None:
    choose = random.Random(seed)
    v = made(random_shape(choose), choose.random() < 0.4).requires_grad_(grad)
    eager = program(chain(choose, v))
    fast = capture.compile(eager)
    for size in (3, 5, 6):
        check(fast, eager, v, torch.ones(size))


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("seed", range(CHAINS))
def test_views_of_symbolic_sizes(seed: int, dynamic: bool | None, grad: bool) -> None:
    choose = random.Random(seed)
    shape, turned = random_shape(choose), choose.random() < 0.4
    shape[choose.randrange(len(shape))] = 6
    eager = program(chain(choose, made(shape, turned)))
    fast = capture.compile(eager, dynamic=dynamic)
    for size in (4, 6, 12):
        v = made([size if n == 6 else n for n in shape], turned)
        check(fast, eager, v.requires_grad_(grad), torch.ones(size))


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], torch.Tensor]]] = {
    "rows of one row": (lambda v, y: [y * 2, v[:, 4:].view(1, 8)], lambda n: made([1, 12], False)),
    "two dims of one row": (lambda v, y: [y * 2, v[:, 4:].view(1, 2, 4)], lambda n: made([1, 12], False)),
    "strides as numbers": (
        lambda v, y: [y * v[:, 4:].view(1, 8).stride(0)],
        lambda n: made([1, 12], False),
    ),
    "sizes in other terms": (
        lambda v, y: [y * 2, v.view(8, 1, len(y), 2)],
        lambda n: made([4 * n, 4], False),
    ),
    "behind the only row": (lambda v, y: [y * 2, v[None].narrow(0, 1, 0)], lambda n: made([n], False)),
    "no rows, by steps": (lambda v, y: [y * 2, (v * 2)[:0:3].view_as(v[:0])], lambda n: made([n, 4], False)),
    "no diagonal": (lambda v, y: [y * 2, v.relu().diagonal(1)], lambda n: made([n, 1], False)),
    "a view that an operator takes": (
        lambda v, y: [y * 2, w := v.flatten(0, 1), u := w[..., None], u.split(8, 0)[-1]],
        lambda n: made([4, 3, n], True),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_views(name: str, dynamic: bool | None) -> None:
    eager, make = PROGRAMS[name]
    fast = capture.compile(eager, dynamic=dynamic)
    for size in (4, 5, 6):
        check(fast, eager, make(size), torch.ones(size))


def test_rows_across_a_gap_have_no_view() -> None:
    """torch's rule for symbols gives one."""

    def program(v: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        return [y * 2, v.expand(12, -1, -1).unfold(-2, 3, 2).select(2, 3).view(36)]

    for size in (3, 4):
        check(capture.compile(program, dynamic=True), program, made([size, 4], False), torch.ones(size))
