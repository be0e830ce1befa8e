"""Graphs for all sizes that come from the store do what the compiled ones do, without a compilation."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import capture
from cache.store import KernelStore
from capture.backends.sized_graph import SizedGraph
from capture.report.config import config
from codegen.dynamic.symbolic_graph import SymbolicGraph
from codegen.launch import kernel_versions
from codegen.launch.compiled import CompiledGraph
from codegen.stored import sizes as stored_sizes
from codegen.stored.compile_graph import compile_graph, compile_sizes, restore
from codegen.stored.layouts import number
from codegen.stored.names import Malformed
from codegen.stored.sizes import KeptSizes, StoredSizes
from codegen.trace.autocast import SizedWithoutAutocast
from tests.codegen.dynamic import test_symbolic_graph, test_symbolic_training
from tests.codegen.stored.test_graphs import bits

TRAINING = test_symbolic_training.PROGRAMS
NAMES = (
    "linear", "layer_norm", "cross_entropy", "numbers", "embedding", "views", "padded", "dropout",
    "several_results", "a_written_input", "a_write_that_autograd_sees", "half_precision", "attention",
    "batch_norm",
)  # fmt: skip
SIZES = (9, 12, 40)


@pytest.fixture(autouse=True)
def uses_the_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    capture.reset()
    with config.patch(raise_on_error=True):
        yield
    capture.reset()


def as_in_a_process(function: Any, folder: Path, made: list[Any]) -> Any:
    """The captured function; `made` gets what has its sizes."""
    store = KernelStore(folder)

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        if not any(type(value) is int for value in inputs):
            return compile_graph(module, inputs, store=store)
        made.append(compile_sizes(module, inputs, store=store))
        compiler = functools.partial(compile_graph, store=store)
        return SizedGraph(lambda: module, inputs, compiler, made[-1])

    capture.reset()
    return capture.compile(function, backend=backend, dynamic=True)


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("compiled again")


def results(run: Any) -> list[Any]:
    found = []
    for size in SIZES:
        torch.manual_seed(size)
        found.append(bits(run(size)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_training(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function, make, parameters = TRAINING[name]
    kinds: list[Any] = []
    found = []
    for kind in (KeptSizes, StoredSizes):
        made: list[Any] = []
        fast = as_in_a_process(function, tmp_path, made)
        run = lambda n: test_symbolic_training.gradients(fast, make(n), parameters)  # noqa: B023, E731
        found.append(results(run))
        kinds += [type(each) is kind for each in made]
        monkeypatch.setattr(sys.modules["codegen.compile_fx"], "compile_for_sizes", refuse)
    assert found[0] == found[1]
    assert kinds and all(kinds)


@pytest.mark.parametrize("name", ["chain", "extremes", "views", "numbers", "joined", "an_input_and_its_view"])
def test_inference(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function, make = test_symbolic_graph.PROGRAMS[name]
    found = []
    for _ in range(2):
        fast = as_in_a_process(function, tmp_path, [])
        found.append(results(lambda n: fast(*make(n))))  # noqa: B023
        monkeypatch.setattr(sys.modules["codegen.compile_fx"], "compile_for_sizes", refuse)
    assert found[0] == found[1]


def weights() -> Any:
    torch.manual_seed(3)
    return torch.randn(24, 16, requires_grad=True)


W = weights()


def test_a_backward_without_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For these sizes the graph is compiled alone. The forward keeps its plan, and so does the store."""
    plan, asked = SymbolicGraph.plan, []

    def plan_but_the_second(self: SymbolicGraph, ints: Any) -> Any:
        asked.append(self)
        return None if len(asked) == 2 else plan(self, ints)

    monkeypatch.setattr(SymbolicGraph, "plan", plan_but_the_second)
    function, make, parameters = TRAINING["linear"]
    for _ in range(2):
        fast = as_in_a_process(function, tmp_path, [])
        for size in SIZES:
            args = make(size)
            found, expected = (
                test_symbolic_training.gradients(f, args, parameters) for f in (fast, function)
            )
            test_symbolic_training.check(found, expected)
    assert asked[0] is not asked[1] and len(asked) > 2


def test_sizes_that_no_template_serves(tmp_path: Path) -> None:
    """They are compiled again, once, and the store gets the new plan beside the old ones."""
    program = lambda x: torch.cat([x, x[:5]]).sum(-1)  # noqa: E731
    compiled = []
    for sizes in ((9, 12), (9, 3, 700, 2, 65), (9, 3, 700, 2, 65, 12)):
        made: list[Any] = []
        fast = as_in_a_process(program, tmp_path, made)
        for size in sizes:
            x = torch.randn(size, 24)
            torch.testing.assert_close(fast(x), program(x))
        compiled.append(any(type(each) is KeptSizes or spent(each) for each in made))
    assert compiled == [True, True, False]


@pytest.mark.parametrize("trains", [False, True])
def test_another_form_is_stored_too(trains: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a graph from the store the module makes the second form, and the store has it too."""

    def program(x: torch.Tensor, width: int) -> torch.Tensor:
        y = x * 2
        y[:, :width] = 0
        return y.sum(0)

    x = torch.randn(8, 6, requires_grad=trains)
    made: list[Any] = []
    fast = as_in_a_process(program, tmp_path, made)
    torch.testing.assert_close(fast(x, 3), program(x, 3))
    store = KernelStore(tmp_path)
    stored = restore(made[0].stored_key, store)
    inputs = [x if type(value) is not int else 1 if value == 3 else value for value in stored.inputs]
    ints = [value for value in inputs if type(value) is int]
    assert sorted(ints) == [1, 6, 8]
    assert stored.graph_for(ints, lambda template: None) is None
    kinds = []
    for _ in range(2):
        form = compile_sizes(stored.module_for(inputs), inputs, store=store)
        assert form.graph_for(ints, lambda template: None) is not None
        kinds.append(type(form))
        monkeypatch.setattr(sys.modules["codegen.compile_fx"], "compile_for_sizes", refuse)
    assert kinds == [KeptSizes, StoredSizes]


@pytest.mark.parametrize("trains", [False, True])
def test_more_sizes_than_native_code_keeps_templates(
    trains: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second process has them all. It makes the one that was planned for its sizes, and no other."""
    monkeypatch.setattr(kernel_versions, "VERSIONS", 12)  # each short row has kernels and a template
    read = []
    monkeypatch.setattr(
        stored_sizes,
        "template_of",
        lambda *args, of=stored_sizes.template_of, **kwargs: read.append(0) or of(*args, **kwargs),
    )
    for lengths in (range(2, 13), (2, *range(12, 2, -1))):
        made: list[Any] = []
        fast = as_in_a_process(lambda x: (x * x).sum(-1), tmp_path, made)
        for length in lengths:
            x = torch.randn(5000, length, requires_grad=trains)
            torch.testing.assert_close(fast(x), (x * x).sum(-1))
    assert type(made[-1]) is StoredSizes and not spent(made[-1])
    assert len(read) <= 2 * len(lengths)


def test_a_damaged_plan_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> Any:
        made: list[Any] = []
        fast = as_in_a_process(lambda x: torch.cat([x, x[:5]]).sum(-1), tmp_path, made)
        for size in (9, 12):
            x = torch.randn(size, 24)
            torch.testing.assert_close(fast(x), torch.cat([x, x[:5]]).sum(-1))
        return made[-1]

    run()
    with monkeypatch.context() as patched:
        patched.setattr(stored_sizes, "template_of", lambda *args, **kwargs: {}["no"])
        assert spent(run())
    assert not spent(run())


def spent(stored: StoredSizes) -> bool:
    """Whether it was compiled again."""
    return "again" in vars(stored)


def test_rare_gradients(tmp_path: Path) -> None:
    """Gradients of gradients, and missing ones, need the graph itself."""

    def function(x: torch.Tensor) -> Any:
        return (x @ W).tanh(), (x @ W).exp().sum(0)

    for _ in range(2):
        fast = as_in_a_process(function, tmp_path, [])
        for n in (5, 9, 12):
            x = torch.randn(n, 24) * 0.1
            [first] = torch.autograd.grad(fast(x)[1].sum(), [W])
            torch.testing.assert_close(first, torch.autograd.grad(function(x)[1].sum(), [W])[0])
            second = []
            for each in (fast, function):
                [grad] = torch.autograd.grad(each(x)[0].sum(), [W], create_graph=True)
                second += torch.autograd.grad(grad.pow(2).sum(), [W])
            torch.testing.assert_close(*second, rtol=1e-3, atol=1e-3)


def test_plans_for_sizes_that_never_come_again_go_at_once(tmp_path: Path) -> None:
    """They are part of no cycle, which a collection would have to find: a full one takes 0.2 s."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x @ W).tanh().exp().sum()

    for _ in range(2):
        fast = as_in_a_process(function, tmp_path, [])
        for n in range(5, 45):
            fast(torch.randn(n, 24) * 0.1).backward()
        while gc.collect():  # what dies with the graphs of before may leave a cycle
            pass
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            for n in range(45, 145):
                fast(torch.randn(n, 24) * 0.1).backward()
            gc.collect()
            found = [item for item in gc.garbage if isinstance(item, CompiledGraph)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
        assert not found


def test_autocast(tmp_path: Path) -> None:
    for expected in (KeptSizes, StoredSizes):
        made: list[Any] = []
        fast = as_in_a_process(lambda x: (x @ W).sum(0), tmp_path, made)
        with torch.autocast("cpu", torch.bfloat16):
            for n in (5, 6, 9, 31):
                x = torch.randn(n, 24)
                torch.testing.assert_close(fast(x), (x @ W).sum(0), rtol=2e-2, atol=0.5)
                assert torch.is_autocast_enabled("cpu")
        assert all(type(each) is SizedWithoutAutocast and type(each.graph) is expected for each in made)


def test_by_its_key_alone(tmp_path: Path) -> None:
    made: list[Any] = []
    fast = as_in_a_process(lambda x: x * 2 + x.shape[0], tmp_path, made)
    fast(torch.ones(7))
    found = restore(made[0].stored_key, KernelStore(tmp_path))
    assert type(found) is StoredSizes
    graph = SizedGraph(found.module, found.inputs, refuse, found, ready=False)
    ints = {5: 5}
    given = [ints.get(5) if type(each) is int else torch.ones(5) for each in found.inputs]
    assert torch.equal(graph(*given)[0], torch.full((5,), 7.0))


def test_a_key_has_the_symbols(tmp_path: Path) -> None:
    """Two graphs with the same nodes and present sizes, and other relations between the sizes."""
    x = torch.randn(6, 24)
    for program in (lambda x, y: (x + y).sum(0), lambda x, y: (x[:6] + y).sum(0)):
        fast = as_in_a_process(program, tmp_path, [])
        torch.testing.assert_close(fast(x, x * 2), program(x, x * 2))
        torch.testing.assert_close(fast(torch.cat([x, x])[:6], x), program(x, x))


def test_numbers_of_expressions() -> None:
    sizes = {"s0": 7, "s1": 2}
    assert number(["Add", ["Mul", 4, "s0"], ["FloorDiv", "s0", "s1"]], sizes) == 31
    assert number(["Pow", "s0", 2], sizes) == 49
    assert number(["Max", "s0", ["Mod", "s0", "s1"]], sizes) == 7
    for damaged in (None, "s2", ["exec", 1], {}):
        with pytest.raises(Malformed):
            number(damaged, sizes)
