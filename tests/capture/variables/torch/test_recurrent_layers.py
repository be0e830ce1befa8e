"""Recurrent layers over padded batches: values and gradients are eager's, and how many graphs there are."""

from __future__ import annotations

import contextlib
import copy
from typing import Any
from unittest import mock

import _capture
import pytest
import torch
from torch import nn

import capture


class Model(nn.Module):
    """A recurrent layer between operations that stay in graphs."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.before, self.layer, self.after = nn.Linear(3, 4), kind(4, 5, **options), nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out, states = self.layer(self.before(x).relu())
        states = states if isinstance(states, tuple) else (states,)
        return self.after(out).tanh().sum() + sum(state.square().sum() for state in states)


def compare(model: nn.Module, sizes: list[tuple[int, int]]) -> None:
    capture.reset()
    model.zero_grad()
    twin = copy.deepcopy(model)
    fast = capture.compile(twin)
    for size in sizes:
        x = torch.randn(*size, 3).double()
        losses = model(x), fast(x)
        torch.testing.assert_close(*losses)
        for loss in losses:
            loss.backward()
        for own, other in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(own.grad, other.grad)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_length_that_changes_is_one_graph(kind: Any, batch_first: bool) -> None:
    def size(length: int) -> tuple[int, int]:
        return (2, length) if batch_first else (length, 2)

    compare(Model(kind, batch_first=batch_first).double(), [size(length) for length in (5, 6, 7, 8, 30)])
    assert not capture.counters["graph_breaks"]
    assert capture.counters["graphs"]["compiled"] == 2  # for the first length, and for all


@pytest.mark.parametrize("kind", [nn.GRU, nn.RNN])
def test_length_of_an_unrolled_network_is_left_to_python(kind: Any) -> None:
    """A graph for each length would cost what the first one did."""

    def compiled(*lengths: int) -> int:
        capture.reset()
        torch.manual_seed(0)
        layer = kind(4, 5).bfloat16()
        fast = capture.compile(lambda x: layer(x * 2)[0].tanh())
        for length in lengths:
            x = torch.randn(length, 2, 4).bfloat16()
            torch.testing.assert_close(fast(x), layer(x * 2)[0].tanh())
        assert capture.counters["graph_breaks"]["recurrent_length"] > 0
        return int(capture.counters["graphs"]["compiled"])

    assert compiled(5, 6, 7) == compiled(5, 6, 7, 8, 9, 10, 11)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_graph_does_not_grow_with_the_number_of_steps(kind: Any) -> None:
    layer, counts = kind(3, 4), []
    for steps in (4, 60):
        capture.reset()
        x = torch.randn(steps, 2, 3)
        explained = capture.explain(lambda x: layer(x)[0] * 2)(x)
        counts.append(explained.op_count)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_batch_that_changes_stays_in_one_graph(kind: Any) -> None:
    compare(Model(kind, batch_first=True).double(), [(batch, 5) for batch in (2, 3, 4, 5)])
    assert not capture.counters["graph_breaks"]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_packed_sequences(kind: Any) -> None:
    """What is around them is captured once for all lengths."""

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.layer, self.after = (
                nn.Linear(3, 4),
                kind(4, 5, batch_first=True),
                nn.Linear(5, 2),
            )

        def encode(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            h = self.before(x).relu()
            packed = nn.utils.rnn.pack_padded_sequence(h, lengths, batch_first=True, enforce_sorted=False)
            out, _ = self.layer(packed)
            return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]

        def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            mask = torch.arange(x.shape[1]) < lengths[:, None]
            return (self.after(self.encode(x, lengths)).tanh() * mask[..., None]).sum(1)

    capture.reset()
    model = Tagger()
    twin = copy.deepcopy(model)
    fast = capture.compile(twin)
    for longest in (5, 6, 7, 9, 8, 11):
        x, lengths = torch.randn(3, longest, 3), torch.tensor([2, longest, 3])
        found, expected = fast(x, lengths), model(x, lengths)
        torch.testing.assert_close(found, expected)
        found.square().sum().backward()
        expected.square().sum().backward()
        for own, other in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(own.grad, other.grad)
    assert "torch_op_failed" not in capture.counters["graph_breaks"]
    assert max(capture.counters["recompiles"].values()) <= 2


KINDS = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *args, **options: nn.RNN(*args, nonlinearity="relu", **options),
}


class Packed(nn.Module):
    """The data and batch sizes are arguments: the graph is whole behind the size of the first batch."""

    def __init__(self, kind: str, dtype: torch.dtype, **options: Any) -> None:
        super().__init__()
        self.layer = KINDS[kind](3, 5, **options).to(dtype)

    def forward(self, data: torch.Tensor, batch_sizes: torch.Tensor, *first: torch.Tensor) -> Any:
        packed = nn.utils.rnn.PackedSequence(data * 2, batch_sizes)
        out, states = self.layer(packed, *([first if len(first) == 2 else first[0]] if first else []))
        return out.data.sin(), *(states if isinstance(states, tuple) else (states,))


def outcome(model: nn.Module, function: Any, args: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    torch.manual_seed(3)
    model.zero_grad()
    args = tuple(arg.detach().requires_grad_(arg.is_floating_point()) for arg in args)
    found = [*function(*args)]
    if found[0].requires_grad:
        sum(result.square().sum() for result in found).backward()
        found += [p.grad.clone() for p in model.parameters()]
        found += [arg.grad for arg in args if arg.grad is not None]
    return [*found, torch.rand(1)]


@pytest.mark.parametrize("options", [
    {}, {"num_layers": 2, "dropout": 0.4, "bidirectional": True}, {"bias": False},
])  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_are_native_loops(kind: str, options: dict[str, Any]) -> None:
    capture.reset()
    torch.manual_seed(0)
    model = Packed(kind, torch.float64, **options)
    twin = copy.deepcopy(model)
    fast = capture.compile(twin)
    states = model.layer.num_layers * (2 if model.layer.bidirectional else 1)
    for sizes in ([3, 2, 2, 1], [4, 3, 1], [2, 2, 1, 1, 1]):
        data = torch.randn(sum(sizes), 3).double(), torch.tensor(sizes)
        first = [torch.randn(states, sizes[0], 5).double() for _ in range(2 if kind == "lstm" else 1)]
        for args in (data, (*data, *first)):
            expected, found = outcome(model, model, args), outcome(twin, fast, args)
            torch.testing.assert_close(found, expected)
        with torch.no_grad():
            torch.testing.assert_close(outcome(twin, fast, data), outcome(model, model, data))
    assert "data_dependent_shape" not in capture.counters["graph_breaks"]
    assert set(capture.counters["frames"]) <= {"captured", "skipped"}


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_of_other_lengths_stay_native(kind: str) -> None:
    capture.reset()
    fast = capture.compile(Packed(kind, torch.float32, num_layers=2))
    for sizes in ([3, 2, 2, 1], [4, 2, 1], [3, 2, 1, 1, 1], [5, 2, 2, 2, 2, 1]):
        assert_native(fast, (torch.randn(sum(sizes), 3), torch.tensor(sizes)))
    assert max(capture.counters["recompiles"].values()) == 1


def assert_native(fast: Any, args: tuple[torch.Tensor, ...]) -> None:
    """A layer is computed by the native loop."""
    names = ("lstm_forward", "gru_forward", "rnn_forward")
    with contextlib.ExitStack() as stack:
        loops = [
            stack.enter_context(mock.patch.object(_capture, name, wraps=getattr(_capture, name)))
            for name in names
        ]
        fast(*args)
    assert any(loop.called for loop in loops)


@pytest.mark.parametrize("sizes", [[2, 3, 1], [3, 2], [3, 3, 3]])
def test_batch_sizes_that_fit_no_data_are_eagers_error(sizes: list[int]) -> None:
    capture.reset()
    model = Packed("gru", torch.float32)
    fast, first = capture.compile(model), torch.zeros(1, 3, 5)
    fast(torch.randn(6, 3), torch.tensor([3, 2, 1]), first)
    args = torch.randn(6, 3), torch.tensor(sizes), first
    errors = []
    for function in (model, fast):
        try:
            errors.append([result.shape for result in function(*args)])
        except (RuntimeError, ValueError) as error:
            errors.append((type(error), str(error)))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("options, orders", [({"bidirectional": True}, 3), ({"bias": False}, 4)])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_packed_sequences_have_derivatives(
    kind: str, options: dict[str, Any], orders: int
) -> None:
    capture.reset()
    torch.manual_seed(0)
    model = Packed(kind, torch.float64, **options)
    fast, found = capture.compile(model), []
    for function in (model, fast, fast):
        data = torch.linspace(-1, 1, 18, dtype=torch.float64).view(6, 3).requires_grad_()
        first = torch.linspace(1, -1, 30, dtype=torch.float64).view(2, 3, 5)[: 1 + model.layer.bidirectional]
        first.requires_grad_()
        states = (first, first.sin()) if kind == "lstm" else (first,)
        results = function(data, torch.tensor([3, 2, 1]), *states)
        total, made = sum(result.square().sum() for result in results), []
        for order in range(orders):
            goes_on = order < orders - 1
            grads = torch.autograd.grad(total, [data, first, *model.parameters()], create_graph=goes_on)
            total = sum(grad.sin().sum() for grad in grads)
            made += grads
        found.append(made)
    torch.testing.assert_close(found[1], found[0])
    torch.testing.assert_close(found[2], found[0])
    assert_native(fast, (data, torch.tensor([3, 2, 1]), *states))


def test_packed_sequences_in_half_precision_are_left_to_torch() -> None:
    capture.reset()
    model = Packed("gru", torch.bfloat16)
    args = torch.randn(6, 3).bfloat16(), torch.tensor([3, 2, 1])
    torch.testing.assert_close([*capture.compile(model)(*args)], [*model(*args)])
    assert "torch_op_failed" not in capture.counters["graph_breaks"]
