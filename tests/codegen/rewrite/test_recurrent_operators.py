"""LSTM, GRU and RNN by native loops: each form has eager's values, gradients, layouts and random numbers."""

from __future__ import annotations

import copy
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import _capture
import pytest
import torch
from torch import nn

import capture
from codegen.fake.fake import mode_of_a_trace
from codegen.trace.trace import trace

ROOT = Path(__file__).parents[3]
KINDS = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *args, **options: nn.RNN(*args, nonlinearity="relu", **options),
}
FLAGS = ("bias", "batch_first", "bidirectional")
FORMS = [dict(zip(FLAGS, flags)) for flags in itertools.product((True, False), repeat=3)]


@pytest.fixture(autouse=True)
def no_entries() -> None:
    capture.reset()


def outcome(
    model: nn.Module, function: Any, x: torch.Tensor, *first: torch.Tensor
) -> tuple[list[torch.Tensor], Any]:
    torch.manual_seed(3)
    model.zero_grad()
    for arg in (x, *first):
        arg.grad = None
    output, given = function(x, *before(first))
    states = given if isinstance(given, tuple) else (given,)
    (output.square().sum() + sum(state.sin().sum() for state in states)).backward()
    found = [output, *states, *(p.grad.clone() for p in model.parameters()), x.grad.clone()]
    found += [state.grad.clone() for state in first]
    layout = output.stride(), output.storage_offset(), [state.stride() for state in states]
    return [*found, torch.rand(1)], layout


def before(first: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
    """The states before the first step as an argument: an LSTM has two of them."""
    return (first,) if len(first) == 2 else first


def network(kind: str, *sizes: int, dtype: torch.dtype = torch.float64, **options: Any) -> nn.Module:
    torch.manual_seed(0)
    return KINDS[kind](*sizes, **options).to(dtype)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(filter(form.get, form)) or "none")
@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh"])
def test_forms(kind: str, form: dict[str, bool]) -> None:
    model = network(kind, 3, 5, 2, dropout=0.4, **form)
    twin = copy.deepcopy(model)
    fast = capture.compile(twin, fullgraph=True)
    size = 2 * (2 if form["bidirectional"] else 1), 4 if form["batch_first"] else 6, 5
    first = [torch.randn(*size).double().requires_grad_() for _ in range(2 if kind == "lstm" else 1)]
    x = torch.randn(4, 6, 3).double().requires_grad_()
    for train, args in ((True, (x, *first)), (False, (x,))):
        model.train(train), twin.train(train)
        (expected, layout), (found, own) = outcome(model, model, *args), outcome(twin, fast, *args)
        torch.testing.assert_close(found, expected)
        assert own == layout
    with torch.no_grad():
        torch.testing.assert_close(fast(x, *before((*first,))), model(x, *before((*first,))))


@pytest.mark.parametrize("size", [(1, 1, 1, 1), (1, 3, 2, 7), (9, 1, 2, 1), (3, 2, 20, 40)])
@pytest.mark.parametrize("kind", KINDS)
def test_float32(kind: str, size: tuple[int, int, int, int]) -> None:
    steps, batch, inputs, width = size
    model = network(kind, inputs, width, dtype=torch.float32)
    twin = copy.deepcopy(model)
    x = torch.randn(steps, batch, inputs, requires_grad=True)
    expected, found = outcome(model, model, x)[0], outcome(twin, capture.compile(twin), x)[0]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def operators_of(function: Any, *args: torch.Tensor) -> list[str]:
    seen: list[str] = []

    def backend(gm: Any, inputs: Any) -> Any:
        def run(*given: Any) -> Any:
            with torch.no_grad(), mode_of_a_trace() as mode:
                seen.extend(str(node.target) for node in trace(gm, given, mode).graph.nodes)
            return gm.forward(*given)

        return run

    capture.compile(function, backend=backend)(*args)
    return seen


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_products_of_all_steps_are_one(kind: str) -> None:
    model = network(kind, 3, 5, 2)
    seen = operators_of(lambda x: model(x)[0], torch.randn(7, 2, 3).double())
    assert seen.count("aten.addmm.default") == seen.count(f"_capture.{kind}_layer.default") == 2


@pytest.mark.parametrize("sizes, ours", [((9, 49, 128), False), ((9, 49, 64), True), ((2, 2, 800), False)])
def test_large_lstms_without_a_backward_are_left_to_onednn(sizes: tuple[int, ...], ours: bool) -> None:
    steps, batch, width = sizes
    model, x = network("lstm", 3, width, dtype=torch.float32), torch.randn(steps, batch, 3)

    def is_ours(learns: bool, model: Any, x: torch.Tensor) -> bool:
        capture.reset()
        with mock.patch.object(_capture, "lstm_forward", wraps=_capture.lstm_forward) as loop:
            with torch.set_grad_enabled(learns):
                torch.testing.assert_close(capture.compile(model)(x), model(x), rtol=1e-4, atol=1e-5)
        return bool(loop.called)

    assert is_ours(False, model, x) == ours
    assert is_ours(True, model, x)
    assert is_ours(False, copy.deepcopy(model).double(), x.double())


def test_projections_of_states_are_left_to_torch() -> None:
    model = network("lstm", 3, 5, proj_size=2)
    x = torch.randn(4, 2, 3).double()
    assert not any("_layer" in name for name in operators_of(lambda x: model(x)[0], x))
    torch.testing.assert_close(capture.compile(model)(x), model(x))


def test_a_sequence_without_a_batch() -> None:
    model = network("lstm", 3, 5)
    twin = copy.deepcopy(model)
    x = torch.randn(4, 3).double().requires_grad_()
    first = [torch.randn(1, 5).double().requires_grad_() for _ in range(2)]
    for args in ((x,), (x, *first)):
        expected, found = outcome(model, model, *args), outcome(twin, capture.compile(twin), *args)
        torch.testing.assert_close(found[0], expected[0])
        assert found[1] == expected[1]


@pytest.mark.parametrize("result", ["output", "state", "cell"])
def test_gradients_of_one_result_alone(result: str) -> None:
    """The others have none: the last state is also a part of the output, the last cell is not."""
    model = network("lstm", 3, 5, 2)
    twin = copy.deepcopy(model)

    def loss(model: Any) -> Any:
        def run(x: torch.Tensor) -> torch.Tensor:
            output, (state, cell) = model(x)
            return {"output": output, "state": state, "cell": cell}[result].sin().sum()

        return run

    x = torch.randn(4, 2, 3).double().requires_grad_()
    expected, found = loss(model)(x), capture.compile(loss(twin), fullgraph=True)(x)
    expected_grads = torch.autograd.grad(expected, [x, *model.parameters()])
    torch.testing.assert_close(torch.autograd.grad(found, [x, *twin.parameters()]), expected_grads)


def test_weights_that_layers_share_and_inputs_of_another_layout() -> None:
    model = network("lstm", 5, 5, 2)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        setattr(model, f"{name}_l1", getattr(model, f"{name}_l0"))
    model.weight_hh_l0.data = model.weight_hh_l0.data.t().contiguous().t()
    twin = copy.deepcopy(model)
    x = torch.randn(5, 2, 8).double().permute(2, 1, 0)[::2].requires_grad_()

    def run(model: Any, function: Any) -> list[torch.Tensor]:
        output, states = function(x)
        loss = output.square().sum() + sum(state.sum() for state in states)
        return [output, *torch.autograd.grad(loss, [x, *model.parameters()])]

    torch.testing.assert_close(run(twin, capture.compile(twin)), run(model, model))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("how", ["half", "autocast", "packed"])
def test_other_networks_are_unrolled_as_before(how: str, kind: str) -> None:
    model, x = network(kind, 3, 5, dtype=torch.float32), torch.randn(4, 2, 3)
    if how == "half":
        model, x = model.bfloat16(), x.bfloat16()

    def run(x: torch.Tensor) -> Any:
        if how == "packed":
            return model(nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 2])))[1]
        with torch.autocast("cpu", torch.bfloat16, enabled=how == "autocast"):
            return model(x)[0]

    torch.testing.assert_close(capture.compile(run)(x), run(x))


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_only_the_run_knows(kind: str) -> None:
    """The batch may be empty."""
    model = network(kind, 3, 5)
    weights = [*model.parameters()]

    def run(x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        return model(x[:, chosen > 0])[0].sin()

    fast = capture.compile(run, fullgraph=True)
    for chosen in ([1, 0, 1], [0, 1, 0], [0, 0, 0]):
        args = torch.randn(4, 3, 3).double(), torch.tensor(chosen)
        found, expected = fast(*args), run(*args)
        torch.testing.assert_close(found, expected)
        grads = (torch.autograd.grad(result.sum(), weights) for result in (found, expected))
        torch.testing.assert_close(*grads)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_of_another_size_that_changes(kind: str) -> None:
    model = network(kind, 3, 5)
    fast = capture.compile(lambda x, first: model(x, first)[0].sin())
    for steps, batch in ((4, 2), (4, 3), (6, 5), (6, 7)):
        x, first = torch.randn(steps, batch, 3).double(), torch.randn(1, batch, 5).double()
        given = (first, first.cos()) if kind == "lstm" else first
        torch.testing.assert_close(fast(x, given), model(x, given)[0].sin())
    assert not capture.counters["graph_breaks"]
    assert capture.counters["graphs"]["compiled"] <= 3


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_do_not_fit_raise_the_error_of_eager(kind: str) -> None:
    """In float64: oneDNN, which has eager's LSTM in float32, does not check them."""
    weights = [p.detach() for p in network(kind, 3, 5).parameters()]
    functions = {"lstm": torch.lstm, "gru": torch.gru, "tanh": torch.rnn_tanh, "relu": torch.rnn_relu}
    function = functions[kind]

    def run(x: torch.Tensor, first: torch.Tensor) -> Any:
        given = (first, first) if kind == "lstm" else first
        return function(x, given, weights, True, 1, 0.0, False, False, False)[0]

    for x_size, first_size in (((2, 2, 4), (1, 2, 5)), ((2, 2, 3), (1, 3, 5))):
        x, first = torch.ones(x_size).double(), torch.ones(first_size).double()
        with pytest.raises(RuntimeError) as expected:
            run(x, first)
        with pytest.raises(RuntimeError) as found:
            capture.compile(run)(x, first)
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_and_their_derivatives(kind: str, reverse: bool) -> None:
    model = network(kind, 2, 3, bidirectional=reverse, num_layers=2)

    def run(x: torch.Tensor, *first: torch.Tensor) -> tuple[torch.Tensor, ...]:
        output, states = model(x, *before(first))
        return output.sin(), *(states if kind == "lstm" else ())

    fast = capture.compile(run, fullgraph=True)
    args = [torch.randn(3, 2, 2).double().requires_grad_()]
    for _ in range(2 if kind == "lstm" else 1):
        args.append(torch.randn(4 if reverse else 2, 2, 3).double().requires_grad_())
    assert torch.autograd.gradcheck(fast, args)
    if kind != "relu":
        assert torch.autograd.gradgradcheck(fast, args)


@pytest.mark.parametrize("learns", [True, False], ids=["weights learn", "inputs alone"])
@pytest.mark.parametrize("kind", KINDS)
def test_penalties_of_gradients(kind: str, learns: bool) -> None:
    model = network(kind, 3, 4, 2, bidirectional=True).requires_grad_(learns)
    twin = copy.deepcopy(model)
    x = torch.randn(5, 2, 3).double().requires_grad_()

    def penalty(model: nn.Module, function: Any) -> list[torch.Tensor]:
        x.grad = None
        weights = [p for p in model.parameters() if learns]
        grads = torch.autograd.grad(function(x)[0].square().sum(), [x, *weights], create_graph=True)
        sum(grad.square().sum() for grad in grads).backward()
        return [tensor.grad for tensor in (x, *weights)]

    torch.testing.assert_close(penalty(twin, capture.compile(twin)), penalty(model, model))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_state_that_depends_on_a_weight(kind: str) -> None:
    """Its gradient does not count twice in a penalty."""
    cell = network(kind, 3, 3, bias=False)
    x = torch.randn(4, 2, 3).double()

    def run(model: Any, function: Any) -> list[torch.Tensor]:
        weights = [*model.parameters()]
        grads = torch.autograd.grad(function(x).square().sum(), weights, create_graph=True)
        sum(grad.square().sum() for grad in grads).backward()
        return [weight.grad for weight in weights]

    def program(model: Any) -> Any:
        def states() -> Any:
            first = model.weight_hh_l0[None, :2].sin()
            return (first, first.cos()) if kind == "lstm" else first

        return lambda x: model(x, states())[0]

    twin = copy.deepcopy(cell)
    torch.testing.assert_close(run(twin, capture.compile(program(twin))), run(cell, program(cell)))


STORED = """
import torch
import capture
from capture.report.config import config
from capture.report.counters import counters

torch.manual_seed(0)
layer = torch.nn.KIND(3, 4)
def f(x):
    return layer(x * 2)[0].square().sum()
losses = []
with config.patch({"when": "first", "store_entries": True}), capture.enable():
    for length in (4, 6, 9):
        loss = f(torch.ones(length, 2, 3))
        loss.backward()
        losses.append(loss.item())
print(counters["frames"]["captured"], losses, layer.weight_hh_l0.grad.sum().item())
"""


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_second_process_compiles_nothing(kind: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STORED.replace("KIND", kind))
    environment = {**os.environ, "CAPTURE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    environment["CAPTURE_DISK_CACHE"] = "1"
    texts = [
        subprocess.run(
            [sys.executable, str(tmp_path / "program.py")],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout.split(maxsplit=1)
        for _ in range(2)
    ]  # fmt: skip
    assert int(texts[0][0]) > 0
    assert texts[1] == ["0", texts[0][1]]
