"""Numbers and sizes that exist only when the graph runs: every case, eager against captured, call by call.

Checked: graphs, operations, refusals.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any

import pytest
import torch

import capture
from capture.backends import llvm
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.cases.sizes.unbacked_registry import CASES, UnbackedCase, masks, rows
from tests.capture.test_cases import outcome, same

for _name in ("unbacked_numbers", "unbacked_sizes"):
    importlib.import_module(f"tests.capture.cases.sizes.{_name}")

BOTH = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}


def name(case: UnbackedCase) -> str:
    return f"{case.function.__module__.rsplit('.', 1)[-1]}.{case.function.__name__}"


class Counting:
    """The backend `eager`, with a record of its inputs."""

    def __init__(self) -> None:
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        gm.graph.lint()
        self.graphs.append(gm)
        return gm.forward

    def operations(self) -> int:
        return sum(node.op.startswith("call_") for gm in self.graphs for node in gm.graph.nodes)


def alike(left: Any, right: Any) -> bool:
    """As `same`, but allows rounding."""
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return (left.dtype, left.stride()) == (right.dtype, right.stride()) and torch.allclose(
            left, right, atol=1e-5
        )
    if isinstance(left, (tuple, list)) and type(left) is type(right) and len(left) == len(right):
        return all(map(alike, left, right))
    return same(left, right)


def check_calls(case: UnbackedCase, fast: Any, equal: Any = same) -> None:
    for call in case.calls():
        theirs, ours = copy.deepcopy(call), copy.deepcopy(call)
        expected = outcome(case.function, theirs)
        drawn = torch.get_rng_state()
        got = outcome(fast, ours)
        assert got[1:] == expected[1:] and equal(got[0], expected[0]), (call[1], expected, got)
        assert same(ours, theirs) and torch.equal(drawn, torch.get_rng_state())


@pytest.mark.parametrize("case", CASES, ids=name)
def test_counts(case: UnbackedCase) -> None:
    backend = Counting()
    call = case.calls()[0]
    if case.refused is None:
        fast = capture.compile(case.function, backend=backend, fullgraph=True)
        outcome(fast, copy.deepcopy(call))
    else:
        with pytest.raises(capture.Unsupported) as refused:
            capture.compile(case.function, backend=backend, fullgraph=True)(*copy.deepcopy(call))
        assert refused.value.reason.id == case.refused
        capture.reset()
        with config.patch(**BOTH):
            outcome(capture.compile(case.function, backend=backend), copy.deepcopy(call))
    assert (len(backend.graphs), backend.operations()) == (case.graphs, case.ops)


@pytest.mark.parametrize("fullgraph", [True, False])
@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("case", CASES, ids=name)
def test_results(case: UnbackedCase, backend: str, fullgraph: bool) -> None:
    if fullgraph and case.refused is not None:
        pytest.skip("refused")
    counters.clear()
    with config.patch(raise_on_error=True, **BOTH):
        fast = capture.compile(case.function, backend=backend, fullgraph=fullgraph)
        check_calls(case, fast, alike if backend == "llvm" else same)
    if backend == "eager" and case.refused is None:
        assert counters["graphs"]["failed_calls"] == case.reruns
        assert counters["graphs"]["compiled"] == case.graphs


@pytest.mark.parametrize("case", CASES, ids=name)
def test_switched_off(case: UnbackedCase) -> None:
    """By default such operations break the graph."""
    with config.patch(raise_on_error=True):
        check_calls(case, capture.compile(case.function, backend="eager"))


# --- settings ---------------------------------------------------------------------------------------------


def reads_both(x: torch.Tensor, mask: torch.Tensor) -> Any:
    y = x * 2
    return y[mask], torch.full((2,), y.sum().long().item())


@pytest.mark.parametrize(
    ("settings", "broken"),
    [
        ({}, "data_dependent_shape"),
        ({"capture_scalar_outputs": True}, "data_dependent_shape"),
        ({"capture_dynamic_output_shape_ops": True}, "data_dependent_value"),
        (BOTH, None),
    ],
)
def test_each_setting_is_for_its_own(settings: dict[str, bool], broken: str | None) -> None:
    call = masks()[0]
    with config.patch(**settings):
        explained = capture.explain(reads_both)(*call)
    assert [reason.id for reason in explained.break_reasons[:1]] == ([] if broken is None else [broken])


def test_from_the_environment() -> None:
    with config.patch(capture_scalar_outputs=False):
        config.load_environment({"CAPTURE_CAPTURE_SCALAR_OUTPUTS": "1"})
        assert config.capture_scalar_outputs


# --- gradients --------------------------------------------------------------------------------------------


def loss_of_rows(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    y = x[mask]
    return (y * y.shape[0]).exp().sum() + x.sum() * mask.sum().item()


@pytest.mark.parametrize("backend", ["eager", "llvm", "aot_eager"])
def test_gradients(backend: str) -> None:
    fast = capture.compile(loss_of_rows, backend=backend, fullgraph=True)
    for _, mask in masks():
        gradients = []
        for function in (loss_of_rows, fast):
            x = rows().requires_grad_()
            function(x, mask).backward()
            gradients.append(x.grad)
        assert torch.allclose(*gradients, atol=1e-5)


# --- parts as native code ---------------------------------------------------------------------------------


def in_parts(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    y = ((x * 2).relu() + 1)[mask]
    return (y.tanh() * y.shape[0] - y).sum(1)


@pytest.mark.parametrize("gradients", [False, True])
def test_parts(gradients: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part before the read is compiled with its gradients; the part after it is compiled once for all
    sizes.
    """
    compiled: list[tuple[list[str], Any]] = []
    original = llvm._compile_part

    def compile_part(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        made = original(gm, inputs)
        compiled.append(([type(value).__name__ for value in inputs], made))
        return made

    monkeypatch.setattr(llvm, "_compile_part", compile_part)
    fast = capture.compile(in_parts, fullgraph=True)
    for _, mask in masks():
        x, again = (rows().requires_grad_(gradients) for _ in range(2))
        got, expected = fast(x, mask), in_parts(again, mask)
        assert torch.allclose(got, expected)
        if gradients:
            got.sum().backward()
            expected.sum().backward()
            assert torch.allclose(x.grad, again.grad, atol=1e-5)
    kinds = [(inputs, type(made).__name__) for inputs, made in compiled]
    before = "TrainingGraph" if gradients else "CompiledGraph"
    assert kinds == [(["Tensor"], before), (["Tensor", "int"], "SizedGraph")]


def test_a_part_that_refuses_runs_by_its_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise TypeError("another layout")

    monkeypatch.setattr(llvm, "_compile_part", lambda gm, inputs: refuse)
    call = masks()[0]
    assert torch.equal(capture.compile(in_parts, fullgraph=True)(*call), in_parts(*call))


def drawing_parts(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    y = x[mask]
    return (y + torch.rand_like(y)) * torch.rand(4) + torch.nn.functional.dropout(y, 0.5)


def writing_parts(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    y = (x * 2)[mask]
    z = y[:, :2]
    z.mul_(3)
    return (y + 1) * 2 + z.sum()


@pytest.mark.parametrize("program", [drawing_parts, writing_parts])
def test_parts_keep_order_and_memory(program: Any) -> None:
    fast = capture.compile(program, fullgraph=True)
    for call in masks():
        results = []
        for function in (program, fast):
            torch.manual_seed(3)
            results.append((function(*copy.deepcopy(call)), torch.get_rng_state()))
        assert all(torch.allclose(a.double(), b.double()) for a, b in zip(*results))


# --- what backends get ------------------------------------------------------------------------------------


def test_the_graph() -> None:
    backend = Counting()
    capture.compile(lambda x, mask: x[mask] * 2, backend=backend, fullgraph=True)(*masks()[0])
    (gm,) = backend.graphs
    names = [
        getattr(node.target, "__name__", str(node.target))
        for node in gm.graph.nodes
        if node.op.startswith("call_")
    ]
    assert names == [
        "getitem",
        "sym_size.int",
        "ge",
        "_assert_scalar.default",
        "le",
        "_assert_scalar.default",
        "mul",
    ]
    made = next(node for node in gm.graph.nodes if node.name == "getitem").meta["example_value"]
    assert isinstance(made.shape[0], torch.SymInt) and made.shape[1] == 4


def test_a_check_that_fails_is_the_programs_own_error() -> None:
    def checked(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        n = t.item()
        torch._check(n > 5, lambda: f"{n} is too small")
        return x * n

    fast = capture.compile(checked, backend="eager", fullgraph=True)
    assert torch.equal(fast(rows(), torch.tensor([6])), rows() * 6)
    with pytest.raises(RuntimeError, match="^3 is too small$"):
        fast(rows(), torch.tensor([3]))


class Inner(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.squeeze(0) if x.shape[0] != 1 or x.sum() != 0 else x


def test_python_runs_all_of_a_frame_that_the_graph_gives_back() -> None:
    """Its callees are not captured separately: under fullgraph=True they would be refused."""
    inner = Inner()

    def outer(x: torch.Tensor, mask: torch.Tensor) -> Any:
        torch._check(x[mask].shape[0] != 1)
        return helper(x[mask])

    def helper(y: torch.Tensor) -> Any:
        return (y * 2).squeeze(0)

    assert inner is not None
    fast = capture.compile(outer, backend="eager", fullgraph=True)
    for call in masks():
        assert outcome(fast, call)[1:] == outcome(outer, call)[1:]


def test_lists_of_as_many_numbers_as_a_symbol_says() -> None:
    captured = capture.compile(lambda x: (x.sum(), x.long().tolist()), dynamic=True, fullgraph=True)
    with config.patch(raise_on_error=True):
        for n in (3, 4, 3, 0, 1):
            x = torch.arange(2.0 * n).reshape(n, 2)
            total, numbers = captured(x)
            assert numbers == x.long().tolist() and total == x.sum()
