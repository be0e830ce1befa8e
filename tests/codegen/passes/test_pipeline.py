"""Each pass leaves a state as the next one wants it, for all graph programs; a log tells of each pass."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
import torch

from codegen.compile_fx import compile_fx
from codegen.kernel.verifier import VerificationError
from codegen.launch import assembly
from codegen.passes import pipeline
from codegen.passes.pipeline import PASSES, lower_graph
from codegen.passes.state import State
from tests.codegen.aten_graphs import record
from tests.codegen.graph_programs import PROGRAMS
from tests.codegen.test_compile_fx import graph_of


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    monkeypatch.setattr(assembly, "strict", True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_states_are_well_formed_after_each_pass(name: str) -> None:
    """The forward, and the backward where there is one."""
    function, make_inputs = PROGRAMS[name]
    inputs = make_inputs()
    results = compile_fx(graph_of(function, make_inputs()), inputs)(*inputs)
    learned = [value for value in results if isinstance(value, torch.Tensor) and value.requires_grad]
    torch.autograd.backward(learned, [torch.ones_like(value) for value in learned])


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, 1)


def twice_in_a_group(state: State) -> None:
    if len(state.groups) == 1 and not state.drafts:
        state.groups.append(state.groups[0])
        state.groups[0] = type(state.groups[0])(7, members=dict(state.groups[0].members))


def without_a_buffer(state: State) -> None:
    if not state.roots:
        del state.program.buffers[state.lowering.stores[0].target.buffer]


def used_too_early(state: State) -> None:
    if state.drafts and not state.kernels:
        state.drafts[0].body.reverse()


DEFECTS = {
    "fuse": (twice_in_a_group, "is in the groups"),
    "split pads": (without_a_buffer, "which is no buffer"),
    "draft": (used_too_early, "which are not computed here"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found_after_the_pass_that_made_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil, text = DEFECTS[name]

    def spoilt(run: Callable[[State], None]) -> Callable[[State], None]:
        def run_and_spoil(state: State) -> None:
            run(state)
            spoil(state)

        return run_and_spoil

    passes = tuple((own, spoilt(run) if own == name else run) for own, run in PASSES)
    monkeypatch.setattr(pipeline, "PASSES", passes)
    graph, _ = record(softmax, [torch.randn(4, 8)])
    with pytest.raises(VerificationError, match=f"^after {name}: .*{text}"):
        lower_graph(graph)


def test_a_line_for_each_pass(caplog: pytest.LogCaptureFixture) -> None:
    graph, _ = record(softmax, [torch.randn(4, 8)])
    with caplog.at_level(logging.DEBUG, "capture.passes"):
        lower_graph(graph)
    lines = [record.getMessage() for record in caplog.records if record.name == "capture.passes"]
    assert [line.partition(":")[0] for line in lines] == [name for name, _ in PASSES]
    assert lines[-1].startswith("name inputs: 1 stores, 4 roots, 1 groups, 1 drafts, 1 kernels, 1 steps (")
