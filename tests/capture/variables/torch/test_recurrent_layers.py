"""Recurrent layers over padded batches: values and gradients are eager's, and how many graphs there are."""

from __future__ import annotations

import copy
from typing import Any

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
