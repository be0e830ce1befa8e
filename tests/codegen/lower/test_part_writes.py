"""Writes to parts of inputs touch only those parts, and give the contents of eager."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod

import pytest
import torch

import capture
from capture.report.config import config
from codegen.kernel.ir import Const, Loop
from codegen.kernel.program import KernelStep, Program
from codegen.llvm.loops import statements_in
from codegen.lower.graph import Lowering
from codegen.passes import pipeline
from codegen.passes.pipeline import build_kernels

Write = Callable[[torch.Tensor, torch.Tensor], object]


def filled(x: torch.Tensor, y: torch.Tensor) -> None:
    x[2:5].zero_()


def row(x: torch.Tensor, y: torch.Tensor) -> None:
    x[3] = y


def column(x: torch.Tensor, y: torch.Tensor) -> None:
    x[:, -2] = 1.5


def added(x: torch.Tensor, y: torch.Tensor) -> None:
    x[5] += y


def block(x: torch.Tensor, y: torch.Tensor) -> None:
    x[1:4, 2:6] *= 2


def element(x: torch.Tensor, y: torch.Tensor) -> None:
    x[3, 4] = 5.0


def every_other(x: torch.Tensor, y: torch.Tensor) -> None:
    x[:, ::2] += 1


def diagonal(x: torch.Tensor, y: torch.Tensor) -> None:
    x.diagonal(-1).add_(1)


def transposed(x: torch.Tensor, y: torch.Tensor) -> None:
    x.t()[4].add_(y)


def flat(x: torch.Tensor, y: torch.Tensor) -> None:
    x.view(-1)[10:20].copy_(x.view(-1)[30:40])


def strided(x: torch.Tensor, y: torch.Tensor) -> None:
    x.as_strided((3,), (9,)).fill_(2)


def swapped(x: torch.Tensor, y: torch.Tensor) -> None:
    x[0], x[1] = x[1] * 2, x[0] * 2


def columns(x: torch.Tensor, y: torch.Tensor) -> None:
    x[:, 0], x[:, 3] = y, y + 1


def wider(x: torch.Tensor, y: torch.Tensor) -> None:
    x[6:8] = y.double() * 2


def nothing(x: torch.Tensor, y: torch.Tensor) -> None:
    x[3:3] = 1


ONE_PLACE = [
    filled,
    row,
    column,
    added,
    block,
    element,
    every_other,
    diagonal,
    transposed,
    flat,
    swapped,
    columns,
    wider,
]


def programs_of(
    write: Callable[..., object], monkeypatch: pytest.MonkeyPatch, *others: torch.Tensor
) -> Program:
    """The programs that a call with a tensor of 8 x 8 and these arguments compiles."""
    programs: list[Program] = []

    def noting(lowering: Lowering) -> Program:
        programs.append(build_kernels(lowering))
        return programs[-1]

    monkeypatch.setattr(pipeline, "build_kernels", noting)
    compare(write, torch.randn(8, 8), *others)
    (program,) = programs
    return program


def most_iterations(program: Program) -> int:
    """The most iterations of the loops of one kernel."""
    assert all(isinstance(step, KernelStep) for step in program.steps)
    found = []
    for step in program.steps:
        assert isinstance(step, KernelStep)
        loops = [loop for loop in statements_in(step.kernel.body) if isinstance(loop, Loop)]
        found.append(prod(loop.extent.value for loop in loops if isinstance(loop.extent, Const)))
    return max(found)


@pytest.mark.parametrize("write", ONE_PLACE, ids=lambda write: write.__name__)
def test_only_the_part_is_touched(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tensor of the full size is made, and the tensor is not copied to itself."""
    program = programs_of(lambda x, y: write(x, y), monkeypatch, torch.randn(8))
    assert most_iterations(program) < 64


READS: list[Callable[[torch.Tensor], object]] = [
    lambda x: None,
    lambda x: x,
    lambda x: x.sum(0),
    lambda x: x @ x,
    lambda x: x[1:3],
    lambda x: (x * 2, x.transpose(0, 1)),
]


@pytest.mark.parametrize("read", range(len(READS)))
@pytest.mark.parametrize("write", [*ONE_PLACE, strided, nothing], ids=lambda write: write.__name__)
def test_what_is_read_behind_the_write(write: Write, read: int) -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> object:
        before = x.mean()
        write(x, y)
        return before, READS[read](x)

    compare(program, torch.randn(8, 8), torch.randn(8))


def compare(program: Callable[..., object], *inputs: torch.Tensor) -> None:
    results = []
    for function in (program, capture.compile(program, dynamic=False)):
        own = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype).copy_(x) for x in inputs]
        with config.patch(raise_on_error=True):
            results.append((function(*own), own))
    torch.testing.assert_close(results[1], results[0])


def test_overlapping_writes_come_in_order() -> None:
    def border(x: torch.Tensor) -> None:
        x[:, 0], x[:, -1], x[0], x[-1] = 1, 2, 3, 4
        x[0, 0] = x[1, 1]

    compare(border, torch.randn(6, 7))


def test_old_contents_put_back_over_new_ones() -> None:
    def program(x: torch.Tensor) -> None:
        old = x[2].clone()
        x[2] = 7
        x[3] = x[2] + 1
        x[2] = old

    compare(program, torch.randn(6, 7))


@pytest.mark.parametrize("layout", [(8, 1), (1, 8), (20, 2)], ids=str)
def test_layouts(layout: tuple[int, int]) -> None:
    x = torch.empty_strided((8, 8), layout).normal_()

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x[:, 2:4].mul_(3)
        x[4] -= y
        return x * 1

    compare(program, x, torch.randn(8))


def put(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
    x[i] = y


def put_in_columns(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
    x[:, i] = y.t()


def added_where_an_index_comes_twice(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
    x[i] += 1


def sums(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
    x.index_add_(0, i, y)


def copied(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
    x.index_copy_(0, i, x[:3] * 2)


def one_fill(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
    x.index_fill_(1, i, 3)


def scattered(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
    x.scatter_add_(0, i[:, None].expand(3, 8), y * x.mean())


def both(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
    x[i], y[i % 3] = y * 2, x[i] * 3


PLACES = [put, put_in_columns, added_where_an_index_comes_twice, sums, copied, one_fill, scattered, both]
Puts = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]


@pytest.mark.parametrize("read", range(len(READS)))
@pytest.mark.parametrize("write", PLACES, ids=lambda write: write.__name__)
def test_computed_places(write: Puts, read: int) -> None:
    def program(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> object:
        before = x.sum(1)
        write(x, i, y)
        return before, READS[read](x)

    for places in ([1, 6, 2], [2, 2, 0], [-1, 3, 1]):
        if write in (put, put_in_columns, copied, both) and places[0] == places[1]:
            continue  # the order of these writes is undefined
        if write in (sums, one_fill, copied, scattered):
            places = [place % 8 for place in places]
        compare(program, torch.randn(8, 8), torch.tensor(places), torch.randn(3, 8))


@pytest.mark.parametrize("write", [put, put_in_columns, sums, one_fill], ids=lambda write: write.__name__)
def test_computed_places_of_the_tensor_itself(write: Puts, monkeypatch: pytest.MonkeyPatch) -> None:
    found = programs_of(
        lambda x, i, y: write(x, i, y), monkeypatch, torch.tensor([1, 6, 2]), torch.randn(3, 8)
    )
    assert most_iterations(found) < 64


def test_a_place_out_of_range_is_left_to_eager() -> None:
    def program(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> None:
        x[i] += y

    fast = capture.compile(program)
    x, y = torch.randn(8, 8), torch.randn(3, 8)
    fast(x, torch.tensor([1, 2, 3]), y)
    found, expected = x.clone(), x.clone()
    for function, own in ((fast, found), (program, expected)):
        with pytest.raises(IndexError):
            function(own, torch.tensor([0, 1, 8]), y)
    torch.testing.assert_close(found, expected)


def test_an_index_out_of_range_leaves_the_input_alone() -> None:
    def program(x: torch.Tensor, i: torch.Tensor) -> None:
        x[0] = x[1][i]

    fast = capture.compile(program)
    x = torch.randn(4, 5)
    fast(x, torch.arange(5))
    kept = x.clone()
    with pytest.raises(IndexError):
        fast(x, torch.tensor([0, 1, 2, 3, 9]))
    torch.testing.assert_close(x, kept)


def test_sizes_that_change() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x[1:-1, 3] += y[1:-1]
        x[-1] = 2
        return x.sum()

    fast = capture.compile(program, dynamic=True)
    for size in (5, 7, 12):
        x, y = torch.randn(size, size + 1), torch.randn(size)
        own = x.clone()
        torch.testing.assert_close((fast(own, y), own), (program(x, y), x))


Views = list[tuple[str, tuple[int, ...]]]


def random_views(rng: random.Random, shape: tuple[int, ...]) -> tuple[Views, torch.Tensor]:
    """Some views, each of the one before, and their result for a tensor of that shape."""
    views: Views = []
    x = torch.empty(shape)
    for _ in range(rng.randint(1, 3)):
        dim = rng.randrange(x.dim()) if x.dim() else 0
        start = rng.randrange(x.shape[dim]) if x.dim() else 0
        choices: Views = [("unsqueeze", (0,))]
        if x.dim():
            choices += [
                ("narrow", (dim, start, rng.randint(1, x.shape[dim] - start))),
                ("select", (dim, start)),
            ]
        if x.dim() > 1:
            choices += [
                ("transpose", (0, 1)),
                ("diagonal", (rng.randint(0, x.shape[1] - 1),)),
                ("flatten", (0, 1)),
            ]
        name, args = rng.choice(choices)
        if name != "flatten" or x.is_contiguous():
            views.append((name, args))
            x = getattr(x, name)(*args)
    return views, x


def viewed(x: torch.Tensor, views: Views) -> torch.Tensor:
    for name, args in views:
        x = getattr(x, name)(*args)
    return x


def random_writes(rng: random.Random, shape: tuple[int, ...]) -> Write:
    plan = []
    for _ in range(rng.randint(1, 3)):
        (place, written), (source, read) = random_views(rng, shape), random_views(rng, shape)
        plan.append(
            (place, source if written.shape == read.shape else None, rng.choice(["add_", "mul_", "copy_"]))
        )

    def write(x: torch.Tensor, y: torch.Tensor) -> None:
        for place, source, name in plan:
            value = y.sum() if source is None else viewed(y, source) * 2
            getattr(viewed(x, place), name)(value)

    return write


@pytest.mark.parametrize("seed", range(60))
def test_random_writes(seed: int) -> None:
    rng = random.Random(seed)
    write, read, of_itself = (
        random_writes(rng, (4, 5, 4)),
        READS[rng.choice([0, 1, 2, 5])],
        rng.random() < 0.4,
    )

    def program(x: torch.Tensor, y: torch.Tensor) -> object:
        write(x, x if of_itself else y)
        return read(x)

    torch.manual_seed(seed)
    compare(program, torch.randn(4, 5, 4).double(), torch.randn(4, 5, 4).double())
