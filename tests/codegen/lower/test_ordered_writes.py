"""Writes to inputs that the graph reads afterwards are steps in place.

Results and contents are those of eager mode, without a copy of the input.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import capture
from capture.report.config import config
from codegen.kernel.ir import Const
from codegen.kernel.program import Program, ViewStep
from codegen.launch import assembly
from codegen.launch.plan import made_by
from codegen.lower import ordered_writes
from codegen.lower.graph import Lowering
from codegen.lower.ordered_writes import MemoryVersion
from codegen.passes import pipeline
from codegen.passes.pipeline import build_kernels
from codegen.passes.steps.versions import check_order
from tests.codegen.lower.test_part_writes import compare

HEADS, LENGTH, WIDTH = 2, 64, 8


@pytest.fixture(autouse=True)
def _strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "strict", True)
    monkeypatch.setattr(pipeline, "VERIFY", True)
    monkeypatch.setattr(ordered_writes, "LARGE", 1)


def programs_of(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], *inputs: Any) -> list[Program]:
    programs: list[Program] = []

    def noting(lowering: Lowering) -> Program:
        programs.append(build_kernels(lowering))
        return programs[-1]

    monkeypatch.setattr(pipeline, "build_kernels", noting)
    check(function, *inputs)
    return programs


def check(function: Callable[..., Any], *inputs: Any, dynamic: bool = False) -> None:
    results = []
    for run in (function, capture.compile(function, dynamic=dynamic)):
        own = [x.clone() if isinstance(x, Tensor) else x for x in inputs]
        with config.patch(raise_on_error=True):
            results.append((run(*own), own))
    torch.testing.assert_close(results[1], results[0])


# --- steps of a decoder with a static cache ---------------------------------------------------------------


def copied_whole(k: Tensor, v: Tensor, p: Any, new: Tensor, q: Tensor) -> Tensor:
    k.index_copy_(2, p, new)
    v.index_copy_(2, p, new * 2)
    mask = (torch.arange(LENGTH) <= p)[None, None, None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def put_whole(k: Tensor, v: Tensor, p: Any, new: Tensor, q: Tensor) -> Tensor:
    k[:, :, p] = new
    v[:, :, p] = new + 1
    scores = q @ k.transpose(-1, -2) + torch.where(torch.arange(LENGTH) <= p, 0.0, -math.inf)
    return scores.softmax(-1) @ v


def sliced_part(k: Tensor, v: Tensor, p: Any, new: Tensor, q: Tensor) -> Tensor:
    k[:, :, p : p + 1] = new
    v[:, :, p : p + 1] = new
    return F.scaled_dot_product_attention(q, k[:, :, : p + 1], v[:, :, : p + 1])


def product_of_part(k: Tensor, v: Tensor, p: Any, new: Tensor, q: Tensor) -> Tensor:
    k[:, :, p] = new[:, :, 0]
    v[:, :, p] = new[:, :, 0]
    return (q @ k[:, :, : p + 1].mT).softmax(-1) @ v[:, :, : p + 1]


def stacked_layers(k: Tensor, v: Tensor, p: Any, new: Tensor, q: Tensor) -> Tensor:
    k[1].index_copy_(1, p, new[0])
    return q[1] @ k[1].mT


def place_counted_on(k: Tensor, v: Tensor, p: Any, new: Tensor, q: Tensor) -> Tensor:
    place = p + torch.arange(1)
    p.add_(1)
    k.index_copy_(2, place, new)
    return q @ k.mT


PLACES: dict[Callable[..., Tensor], Any] = {
    copied_whole: torch.tensor([7]),
    put_whole: torch.tensor([7]),
    sliced_part: 7,
    product_of_part: 7,
    stacked_layers: torch.tensor([7]),
    place_counted_on: torch.tensor([7]),
}


def decoder_inputs(place: Any) -> tuple[Any, ...]:
    cache = [torch.randn(2, HEADS, LENGTH, WIDTH) for _ in range(2)]
    return *cache, place, torch.randn(2, HEADS, 1, WIDTH), torch.randn(2, HEADS, 1, WIDTH)


@pytest.mark.parametrize("step", PLACES, ids=lambda step: step.__name__)
def test_a_cache_is_not_copied(step: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = programs_of(monkeypatch, step, *decoder_inputs(PLACES[step]))
    made = {name for s in program.steps if not isinstance(s, ViewStep) for name in made_by(s)}
    shapes = [program.buffers[name].shape for name in made - set(program.inputs)]
    sizes = [math.prod(size.value for size in shape if isinstance(size, Const)) for shape in shapes]
    assert max(sizes) < 2 * HEADS * LENGTH * WIDTH
    assert not any(info.kind == "version" for info in program.buffers.values())


@pytest.mark.parametrize("step", PLACES, ids=lambda step: step.__name__)
def test_many_steps(step: Callable[..., Tensor]) -> None:
    fast = capture.compile(step, dynamic=None)
    own, expected = [[torch.zeros(2, HEADS, LENGTH, WIDTH) for _ in range(2)] for _ in range(2)]
    for place in range(9):
        p, again = (place if isinstance(PLACES[step], int) else torch.tensor([place]) for _ in range(2))
        new, q = torch.randn(2, HEADS, 1, WIDTH), torch.randn(2, HEADS, 1, WIDTH)
        torch.testing.assert_close(fast(*own, p, new, q), step(*expected, again, new, q))
        torch.testing.assert_close(own, expected)


def test_threads_with_caches_of_their_own() -> None:
    fast = capture.compile(put_whole)
    given = [decoder_inputs(torch.tensor([n])) for n in range(4)]
    expected = [put_whole(*(x.clone() for x in args)) for args in given]
    fast(*decoder_inputs(torch.tensor([1])))
    found: dict[int, Tensor] = {}

    def work(number: int) -> None:
        for _ in range(20):
            found[number] = fast(*(x.clone() for x in given[number]))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.testing.assert_close([found[n] for n in range(4)], expected)


# --- what may come between a write and a read -------------------------------------------------------------


def several_writes(x: Tensor, y: Tensor) -> Any:
    x[0] = y
    first = x.sum(0)
    x[1] += first
    second = x.sum(1)
    x[0:2] *= 2
    return first, second, x.sum()


def old_contents_behind_a_write(x: Tensor, y: Tensor) -> Any:
    old = x * 2
    x[0] = y
    return old + x.sum()


def part_and_whole(x: Tensor, y: Tensor) -> Any:
    x.mul_(0.5)
    x[2] = y
    x.add_(1)
    return x @ x.t(), x.mean(0)


def moved_within(x: Tensor, y: Tensor) -> Any:
    x[1:] = x[:-1].clone()
    x[:, 1:] += x[:, :-1] * y[1:]
    return x.cumsum(0)


def overlapping(x: Tensor, y: Tensor) -> Any:
    x[:, 0], x[:, -1], x[0], x[-1] = 1, 2, y, 4
    x[0, 0] = x[1, 1]


def results_of_all_kinds(x: Tensor, y: Tensor) -> Any:
    x[3] = y
    copy = x.clone()
    x[4] = y
    return copy, x, x[3:5], x.t() * 1


def a_library_call_between(x: Tensor, y: Tensor) -> Any:
    x[3] = y
    values, _ = torch.sort(x, 1)
    x[4] = values[0]
    return torch.linalg.vector_norm(x), values, x @ x


def a_step_that_may_fail(x: Tensor, y: Tensor) -> Any:
    x[3] = y
    return torch.linalg.inv(x @ x.t() + torch.eye(8) * 9)


def swapped_through_views(x: Tensor, y: Tensor) -> Any:
    rows, flat = x.unbind(0), x.view(-1)
    rows[0].copy_(y)
    flat[9:13].fill_(3)
    x.t()[2].add_(rows[1].clone())
    return flat.sum(), rows[1] * 2


PROGRAMS = [
    several_writes, old_contents_behind_a_write, part_and_whole, moved_within, overlapping,
    results_of_all_kinds, a_library_call_between,
    a_step_that_may_fail, swapped_through_views,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_reads_between_writes(program: Callable[..., Any]) -> None:
    x = torch.randn(8, 8)
    for layout in ((8, 1), (1, 8), (20, 2)):
        if program is swapped_through_views and layout != (8, 1):
            continue
        compare(program, torch.empty_strided((8, 8), layout).copy_(x), torch.randn(8))


def a_part_of_a_spectrum(x: Tensor) -> Any:
    x[2:5] *= 0.5
    x[0] = 1
    return x.abs().sum(), torch.fft.ifft(x).real * 2


def places_of_a_spectrum(x: Tensor) -> Any:
    x[torch.tensor([1, 2, 1])] = 0.25
    return x * 2


@pytest.mark.parametrize("program", [a_part_of_a_spectrum, places_of_a_spectrum])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_inputs(program: Callable[..., Any], dtype: torch.dtype) -> None:
    """Kernels can't write to them, so their contents have no versions."""
    compare(program, torch.randn(8, dtype=dtype))


def test_an_error_behind_a_write() -> None:
    """The graph writes nothing before it has found the error; eager runs again and writes what it writes."""

    def program(x: Tensor, i: Tensor, j: Tensor) -> Tensor:
        x[:, i] += 1
        return x[j].sum()

    fast = capture.compile(program)
    fast(torch.randn(4, 5), torch.tensor([1]), torch.tensor([2]))
    for i, j in (([1], [4]), ([5], [1]), ([5], [4])):
        x = torch.randn(4, 5)
        own = x.clone()
        for run, tensor in ((program, x), (fast, own)):
            with pytest.raises(IndexError):
                run(tensor, torch.tensor(i), torch.tensor(j))
        torch.testing.assert_close(own, x)


def test_gradients_of_what_was_read() -> None:
    def program(state: Tensor, x: Tensor) -> Tensor:
        state[0] = x.detach() * 2
        return (state * x).sum()

    for function in (program, capture.compile(program)):
        state, x = torch.ones(3, 4), torch.arange(4.0).requires_grad_()
        function(state, x).backward()
        torch.testing.assert_close(x.grad, torch.arange(4.0) * 2 + 2)


def scaled(x: Tensor, y: Tensor) -> Tensor:
    x.mul_(2).add_(1)
    return x @ y


def scaled_and_shifted(x: Tensor, y: Tensor) -> Any:
    x.mul_(0.5)
    return torch.sort(x, 0)[0], x / y, x.t() @ y


def filled_diagonal(x: Tensor, y: Tensor) -> Tensor:
    x.fill_diagonal_(3)
    return x.sum()


@pytest.mark.parametrize("program", [scaled, scaled_and_shifted, filled_diagonal], ids=lambda f: f.__name__)
def test_operators_take_the_input_itself(
    program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = programs_of(monkeypatch, program, torch.randn(8, 8), torch.randn(8))[-1]
    assert not any(name.startswith(("add", "mul", "fill")) for s in found.steps for name in made_by(s))


def test_steps_of_an_optimizer_reach_the_weights_that_operators_read() -> None:
    weights = []
    for captured in (False, True):
        weight = torch.nn.Parameter(torch.eye(8))
        optimizer = torch.optim.SGD([weight], lr=0.1)

        def step(weight: Tensor = weight, optimizer: Any = optimizer) -> Tensor:
            optimizer.step()
            with torch.no_grad():
                return torch.ones(8, 8) @ weight

        run = capture.compile(step) if captured else step
        for _ in range(3):
            weight.grad = torch.ones(8, 8)
            run()
        weights.append((weight.detach(), weight._version))
    torch.testing.assert_close(weights[1], weights[0])


def many_operators(x: Tensor, y: Tensor) -> None:
    x.mul_(2).add_(y).clamp_(-1, 1)
    torch._foreach_add_([x, y], 1)
    x.data.mul_(2)
    y.index_fill_(0, torch.tensor([1]), 2.0)
    F.relu(x, inplace=True)
    x[0, 1:3].masked_fill_(y[1:3] > 0, 1)


VERSIONED = [several_writes, part_and_whole, overlapping, scaled, filled_diagonal, many_operators]


@pytest.mark.parametrize("program", VERSIONED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dynamic", [False, True])
def test_versions_are_those_of_eager(program: Callable[..., Any], dynamic: bool) -> None:
    versions = []
    for run in (program, capture.compile(program, dynamic=dynamic)):
        x, y = torch.ones(8, 8), torch.ones(8)
        run(x, y)
        versions.append((x._version, y._version))
    assert versions[1] == versions[0]


def test_old_contents_beside_an_operator_on_the_new_ones() -> None:
    def program(x: Tensor, y: Tensor) -> Any:
        old = x + 1
        x.mul_(2)
        return old * (x @ y), x

    compare(program, torch.randn(8, 8), torch.randn(8))


def empty_slice(a: Tensor, i: Tensor) -> tuple[Tensor, ...]:
    a[1:] += 1.5
    y = a @ a.t()
    a[0] += 1
    return y, a @ a.t()


def empty_slice_last(a: Tensor, i: Tensor) -> tuple[Tensor, ...]:
    a[0:] += 1
    y = a.sum()
    a[1:] += 1.5
    return y, a @ a.t()


def empty_indices(a: Tensor, i: Tensor) -> tuple[Tensor, ...]:
    a[i] = 1.5
    y = a @ a.t()
    a.mul_(2)
    a.index_add_(0, i, torch.ones(len(i), 3))
    return y, a @ a.t()


@pytest.mark.parametrize("program", [empty_slice, empty_slice_last, empty_indices], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_version_that_nothing_writes(program: Callable[..., Any], dynamic: bool) -> None:
    """The written part is empty, so it has no kernel."""
    check(program, torch.randn(1, 3), torch.zeros(0, dtype=torch.long), dynamic=dynamic)


# --- the order is looked at -------------------------------------------------------------------------------

VERSIONS = {"x_1": MemoryVersion("x", "x"), "x_2": MemoryVersion("x", "x_1")}
READS, WRITES = [{"x"}, set(), {"x_1"}, set()], [set(), {"x_1"}, set(), {"x_2"}]


def test_an_order_that_is_right() -> None:
    check_order(VERSIONS, [[0], [1], [2], [3]], READS, WRITES, {})


@pytest.mark.parametrize(
    "order", [[1, 0, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2], [0, 3, 1, 2], [0, 3, 2, 1]], ids=str
)
def test_an_order_that_is_wrong(order: list[int]) -> None:
    with pytest.raises(AssertionError, match="contains"):
        check_order(VERSIONS, [[number] for number in order], READS, WRITES, {})


def test_what_runs_together_needs_an_order_too() -> None:
    with pytest.raises(AssertionError, match="contains"):
        check_order(VERSIONS, [[0, 1], [2], [3]], READS, WRITES, {})


def test_reads_through_views_count() -> None:
    with pytest.raises(AssertionError, match="contains"):
        check_order(VERSIONS, [[0], [2], [1], [3]], [{"x"}, set(), {"v"}, set()], WRITES, {"v": "x_1"})


# --- random programs --------------------------------------------------------------------------------------

PARTS = [
    "[1]", "[:, p]", "[:, :, 2]", "[:, p:p+2]", "[1:3]", "[:, ::2]", "[-1]", "[p - 1, p]", "[...]",
    "[0, 2, 1]", ".transpose(0, 2)[1]",
    ".view(-1)[3:17]", ".diagonal(0, 0, 2)", "[:, i[0]]", ".unbind(0)[1]", ".narrow(1, p, 2)",
]  # fmt: skip
SHIFTS = [("[1]", "[2]"), ("[1:3]", "[0:2]"), ("[:, 1:]", "[:, :-1]"), ("[:, p]", "[:, 0]")]
WRITES_OF_PARTS = ["mul_(0.5)", "add_(1)", "fill_(3)", "zero_()", "neg_()"]
WRITES_OF_ALL = [
    "{t}.index_copy_(1, i, ({s})[:, :2])", "{t}[:, i] = ({s})[:, 1:3]", "{t}.index_add_(1, i, ({s})[:, :2])",
    "{t}.index_put_((i,), ({s})[:2], accumulate=True)", "{t}.mul_(0.9)", "{t}.copy_({s})", "{t}.zero_()",
    "{t}.mul_(0.5).add_({s})",
    "{t}.scatter_(1, i[None, :, None].expand(4, 2, 4), ({s})[:, :2])",
    "{t}[1].index_copy_(0, i, ({s})[1, :2])",
    "{t}.index_fill_(1, i, 2.0)", "{t}.masked_fill_(y > 0.5, 1.5)", "{t}[:, p] += ({s})[:, 0]",
]  # fmt: skip
SOURCES = [
    "y", "a.clone()", "b.clone()", "y * 2", "a + b",
    "(a @ b.transpose(1, 2)).sum(-1, keepdim=True).expand(4, 6, 4)", "b.softmax(-1)",
    "a.sum() * y", "a.roll(1, 1)", "a.cumsum(1)",
]  # fmt: skip
READS_OF_ALL = [
    "{t} * 2", "{t}.clone()", "{t} + y", "{t}.softmax(1)", "{t} - {t}.mean(1, keepdim=True)",
    "{t}[:, :p].sum(1, keepdim=True) + y",
    "torch.sort({t}, 1)[0]", "torch.bmm({t}, {t}.transpose(1, 2))[:, :, :4]",
    "{t}[:, i].sum(1, keepdim=True) * y",
    "torch.cat([{t}[:, :3], y[:, 3:]], 1)",
]  # fmt: skip
RESULTS = [
    "a",
    "b",
    "a[1]",
    "a.sum()",
    "b[:, :p].sum(1)",
    "a @ b.transpose(1, 2)",
    "a.clone()",
    "(a * y).sum(1)",
    "b.view(-1)",
    "a[:, p]",
]


def random_program(rng: random.Random) -> str:
    lines: list[str] = []
    values: list[str] = []
    for _ in range(rng.randint(2, 7)):
        tensor, source, part = rng.choice("ab"), rng.choice(SOURCES + values * 2), rng.choice(PARTS)
        kind = rng.randrange(10)
        if kind < 4:
            values.append(f"v{len(values)}")
            lines.append(f"{values[-1]} = {rng.choice(READS_OF_ALL).format(t=tensor)}")
        elif kind == 4:
            lines.append(f"{tensor}{part}.{rng.choice(WRITES_OF_PARTS)}")
        elif kind == 5:
            lines.append(f"{tensor}{part}.copy_(({source}){part})")
        elif kind == 6:
            to, of = rng.choice(SHIFTS)
            lines.append(f"{tensor}{to}.copy_(({source}){of})")
        else:
            lines.append(rng.choice(WRITES_OF_ALL).format(t=tensor, s=source))
    results = [rng.choice(values + RESULTS) for _ in range(rng.randint(1, 3))]
    return "".join(f"    {line}\n" for line in [*lines, f"return {', '.join(results)},"])


def answer(function: Callable[..., Any], a: Tensor, b: Tensor, y: Tensor, i: Tensor, p: int) -> Any:
    a, b, y = a.clone(), b.clone(), y.clone().requires_grad_(y.requires_grad)
    with config.patch(raise_on_error=True):
        results = function(a, b, y, i, p)
    loss = sum(result.sum() for result in results if result.requires_grad)
    if isinstance(loss, Tensor):
        loss.backward()
    shared = [
        result.untyped_storage()._cdata == other.untyped_storage()._cdata
        for result in results
        for other in (a, b)
    ]
    return [result.detach() for result in results], a.detach(), b.detach(), y.grad, shared


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    text = random_program(rng)
    scope: dict[str, Any] = {"torch": torch}
    exec(f"def program(a, b, y, i, p):\n{text}", scope)
    dynamic, train = rng.random() < 0.25, rng.random() < 0.25
    fast = capture.compile(scope["program"], dynamic=dynamic)
    torch.manual_seed(seed)
    for p in (2, 3) if dynamic else (2, 2):
        a, b, y = (torch.randn(4, 6, 4, dtype=torch.double) for _ in range(3))
        inputs = a, b, y.requires_grad_(train), torch.tensor(rng.sample(range(4), 2)), p
        expected = answer(scope["program"], *inputs)
        found = answer(fast, *inputs)
        torch.testing.assert_close(found, expected, msg=lambda message: f"{message}\n{text}")
