"""Kernels divided between torch's threads: the bits of one thread, errors, and cases with one thread only."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx

import capture
from codegen.compile_fx import compile_fx
from codegen.kernel import grain
from codegen.kernel.grain import work_of
from codegen.kernel.ir import Const

_capture = pytest.importorskip("_capture")
ROWS, COLUMNS = 601, 1003  # no multiples of vectors


@pytest.fixture(autouse=True)
def threads_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes parts small, so that kernels are divided in as many ways as there are threads."""
    before = torch.get_num_threads()
    monkeypatch.setattr(grain, "PART", 10_000)
    monkeypatch.setattr(grain, "ASLEEP", 0)
    yield
    torch.set_num_threads(before)


def compile_function(function: Any, *args: Any) -> Any:
    return compile_fx(fx.symbolic_trace(function), args)


def grains(graph: Any) -> list[int]:
    """The iterations of the shortest part for each kernel of a plan; 0 if the kernel is not divided."""
    words = memoryview(graph.plan).cast("q")
    ninputs, noutputs, nspecs = words[1], words[3], words[5]
    position = 7 + 2 * ninputs + 2 * noutputs
    for _ in range(nspecs):
        position += 4 + 2 * words[position + 1]
    found = []
    while position < len(words):
        if words[position] == _capture.plan_instructions["KERNEL"][0]:
            found.append(words[position + 4])
        position += 2 + words[position + 1]
    return found


def matrix() -> torch.Tensor:
    return torch.randn(ROWS, COLUMNS)


# the computation, its arguments, and whether some kernel of it is divided
DIVIDED: dict[str, Any] = {
    "chain": (lambda x, y: (torch.tanh(x * y + 1).exp() * x,), lambda: (matrix(), matrix())),
    "one axis": (lambda x: (x.sigmoid(),), lambda: (torch.randn(100_001),)),
    "broadcast": (lambda x, y: (x * y + 1,), lambda: (matrix(), torch.randn(COLUMNS))),
    "transposed": (lambda x: (x.t() + 1,), lambda: (matrix(),)),
    "sum and its row": (lambda x: (x.softmax(-1), x.sum(-1)), lambda: (matrix(),)),
    "layer norm": (lambda x, w: (F.layer_norm(x, (COLUMNS,), w),), lambda: (matrix(), torch.randn(COLUMNS))),
    "columns": (lambda x: (x.sum(0), x.amax(0)), lambda: (matrix(),)),
    "row blocks": (lambda x: (x.sum(0),), lambda: (torch.randn(1024, 1024),)),
    "row blocks of many rows": (lambda x, y: ((x * y).sum(0),),
                                lambda: (torch.randn(4096, 300), torch.randn(4096, 300))),
    "argmax": (lambda x: x.max(1), lambda: (matrix(),)),
    "half": (lambda x: (F.gelu(x),), lambda: (matrix().bfloat16(),)),
    "bool": (lambda x: (x > 0.5,), lambda: (matrix(),)),
    "int": (lambda x: (x // 3 + x % 7,), lambda: (torch.randint(-99, 99, (ROWS, COLUMNS)),)),
    "gather": (lambda x, i: (x[i] * 2,), lambda: (matrix(), torch.randint(-ROWS, ROWS, (700,)))),
    "join": (lambda x, y: (torch.cat([x, y]) + 1,), lambda: (matrix(), matrix())),
    "cumulative": (lambda x: (x.double().cos(),), lambda: (matrix(),)),
    "products": (lambda x, y: (torch.bmm(x, y),), lambda: (torch.randn(40, 64, 64), torch.randn(40, 64, 64))),
}  # fmt: skip


def same_bits(actual: Any, expected: Any) -> None:
    for a, b in zip(actual, expected, strict=True):
        assert a.dtype == b.dtype and a.stride() == b.stride()
        assert torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


@pytest.mark.parametrize("name", DIVIDED)
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    torch.manual_seed(0)
    function, make = DIVIDED[name]
    args = make()
    graph = compile_function(function, *args)
    assert name == "products" or any(grains(graph)), graph.loops
    torch.set_num_threads(1)
    expected = graph(*args)
    for number in (2, 3, 4, 1, 4, 2):
        torch.set_num_threads(number)
        same_bits(graph(*args), expected)


def test_writes_in_place() -> None:
    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        x.mul_(2).add_(y)

    x, y = matrix(), matrix()
    expected, compiled = x.clone(), capture.compile(step)
    for number in (2, 3, 4):
        torch.set_num_threads(number)
        compiled(x, y)
        step(expected, y)
        assert torch.equal(x, expected)


def test_a_table_is_divided_by_rows() -> None:
    def step(*tensors: torch.Tensor) -> None:
        for x, y in zip(tensors[::2], tensors[1::2]):
            x.mul_(0.5).add_(y.tanh())

    sizes = [3, 999, 64, 2000] * 20
    tensors = [torch.randn(size) for size in sizes for _ in range(2)]
    expected, compiled = [t.clone() for t in tensors], capture.compile(step)
    for number in (2, 3, 4, 1):
        torch.set_num_threads(number)
        compiled(*tensors)
        step(*expected)
        for have, want in zip(tensors, expected):
            torch.testing.assert_close(have, want)
    graph = compile_function(lambda x: tuple(x[i].exp() for i in range(50)), torch.randn(50, 60))
    (grain,) = grains(graph)
    assert 0 < grain < 25, graph.loops


def test_symbolic_sizes() -> None:
    with capture.config.patch(dynamic=True):
        compiled = capture.compile(lambda x: (x * 2 + 1).softmax(-1))
        for rows in (300, 512, 701):
            x = torch.randn(rows, 400)
            torch.set_num_threads(1)
            expected = compiled(x)
            for number in (2, 4):
                torch.set_num_threads(number)
                same_bits([compiled(x)], [expected])


def test_an_index_out_of_range_is_found_by_any_thread() -> None:
    x = torch.randn(1000, 500)
    compiled = capture.compile(lambda x, i: x[i] * 2)
    torch.set_num_threads(4)
    good = torch.randint(0, 1000, (800,))
    assert torch.equal(compiled(x, good), x[good] * 2)
    for place in (0, 300, 799):
        bad = good.clone()
        bad[place] = 1000
        with pytest.raises(IndexError, match="1000 is out of bounds"):
            compiled(x, bad)
    assert torch.equal(compiled(x, good), x[good] * 2)


def test_several_python_threads() -> None:
    torch.set_num_threads(2)
    compiled = capture.compile(lambda x: torch.tanh(x).sum(0).exp() + x)
    inputs = [torch.randn(512, 512) for _ in range(4)]
    expected = [compiled(x) for x in inputs]
    wrong: list[Any] = []

    def work(number: int) -> None:
        inner = capture.compile(compiled)
        for _ in range(5):
            try:
                same_bits([inner(inputs[number])], [expected[number]])
            except BaseException as error:
                wrong.append(error)
                raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_backward_pass_in_another_thread() -> None:
    layer = capture.compile(lambda x, w: F.gelu(x * w).sum(0))
    x, w = torch.randn(512, 512), torch.randn(512, 512, requires_grad=True)
    torch.set_num_threads(1)
    layer(x, w).sum().backward()
    expected, w.grad = w.grad, None
    torch.set_num_threads(3)
    loss = layer(x, w).sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    same_bits([w.grad], [expected])


def test_flushing_denormals_holds_for_all_threads() -> None:
    x = torch.full((200_000,), 1e-39)
    graph = compile_function(lambda x: (x * 0.5,), x)
    torch.set_num_threads(3)
    assert graph(x)[0].all()
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor has no such mode")
    try:
        assert not graph(x)[0].any()
    finally:
        torch.set_flush_denormal(False)
    assert graph(x)[0].all()


def child(connection: Any, graph: Any, x: torch.Tensor) -> None:
    torch.set_num_threads(2)  # from here on eager's own large operations hang
    connection.send(graph(x)[0].tolist())
    os._exit(0)


def test_a_forked_child_works_alone() -> None:
    x = torch.ones(100, 1000)
    graph = compile_function(lambda x: (x * 2,), x)
    torch.set_num_threads(2)
    graph(x)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=child, args=(there, graph, x), daemon=True)
    process.start()
    assert here.poll(60), "the child hangs"
    assert here.recv() == [[2.0] * 1000] * 100
    process.join(10)
    graph(x)  # the parent's threads are as before


class Rows(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.make = capture.compile(lambda x: (x * 2 + 1).exp())

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.make(torch.full((200, 1000), float(index)))


def test_workers_of_a_data_loader() -> None:
    torch.set_num_threads(2)
    data = Rows()
    data[0]
    loader = torch.utils.data.DataLoader(data, num_workers=2, timeout=60)
    for index, batch in enumerate(loader):
        assert torch.allclose(batch, torch.full((1, 200, 1000), index * 2.0 + 1).exp())


# --- when it pays -----------------------------------------------------------------------------------------


def test_small_work_is_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    small = compile_function(lambda x: (x + 1,), torch.randn(30, 1000))
    large = compile_function(lambda x: (x.exp() + 1,), torch.randn(1000, 1000))
    assert grains(small) == [0] and small.kernels[0].split is None
    (grain,) = grains(large)
    assert 10_000 < grain < 50_000 and large.kernels[0].split is not None


def test_on_few_elements_more_work_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager would use one thread."""
    monkeypatch.undo()

    def long_chain(x: torch.Tensor) -> tuple[torch.Tensor]:
        return (x.exp().sin().tanh().cos().exp(),)

    few, many = (grains(compile_function(long_chain, torch.randn(n)))[0] for n in (30_000, 40_000))
    assert 0 < many < 20_000 and (few == 0 or few > 4 * many)


def test_eager_and_ours_are_divided_at_about_the_same_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """This includes sums of all elements; a graph with open sizes is divided by its sizes."""
    monkeypatch.undo()
    for function in (lambda x: (x * 2 + 1,), lambda x: (F.gelu(x).mean(),)):
        assert any(grains(compile_function(function, torch.randn(100_000))))
        assert not any(grains(compile_function(function, torch.randn(10_000))))


def test_the_estimate_counts_what_the_loops_do() -> None:
    def work(function: Any, *args: torch.Tensor) -> float:
        (kernel,) = compile_function(function, *args).kernels
        return work_of(kernel, lambda size: size.value if isinstance(size, Const) else 0) / args[0].numel()

    x = torch.randn(300, 300)
    assert work(lambda x: (x + 1,), x) == 3 * 4 + 2 * 4  # three vector operations, two elements of memory
    assert work(lambda x: (x.double() + 1,), x.double()) == 3 * 4 + 2 * 8
    assert work(lambda x: (x.sum(1),), x) == pytest.approx(2 * 4 + 4, rel=0.3)
