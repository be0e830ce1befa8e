"""Recurrent networks of two layers with dropout between them, with symbolic sizes.

Values, gradients and random numbers are eager's.
"""

from __future__ import annotations

import copy
from typing import Any
from unittest import mock

import pytest
import torch
from torch import nn
from torch._decomp import decompositions
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

import capture
from codegen.rewrite import recurrent_operators

KINDS = {
    "lstm": lambda **options: nn.LSTM(3, 4, 2, dropout=0.5, **options),
    "projected lstm": lambda **options: nn.LSTM(3, 4, 2, dropout=0.5, proj_size=2, **options),
    "gru": lambda **options: nn.GRU(3, 4, 2, dropout=0.5, **options),
    "tanh": lambda **options: nn.RNN(3, 4, 2, dropout=0.5, **options),
    "relu": lambda **options: nn.RNN(3, 4, 2, dropout=0.5, nonlinearity="relu", bias=False, **options),
}
FORMS: dict[str, dict[str, bool]] = {
    "plain": {},
    "batch first": {"batch_first": True},
    "both directions": {"bidirectional": True, "batch_first": True},
}


def outcome(model: Any, function: Any, *args: Any) -> list[torch.Tensor]:
    torch.manual_seed(3)
    model.zero_grad()
    output, states = function(*args)
    output = output.data if isinstance(output, PackedSequence) else output
    states = [states] if isinstance(states, torch.Tensor) else states
    (output.square().sum() + sum(state.sum() for state in states)).backward()
    return [output, *states, *(p.grad.clone() for p in model.parameters()), torch.rand(1)]


def compare(model: nn.Module, arguments: list[tuple[Any, ...]]) -> None:
    capture.reset()  # all cases have one code object, which has a limit of recompiles
    twin = copy.deepcopy(model)
    fast = capture.compile(twin, dynamic=True)
    for args in arguments:
        expected, given = outcome(model, model, *args), outcome(twin, fast, *args)
        for one, other in zip(given, expected, strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_padded(kind: str, form: str, train: bool) -> None:
    torch.manual_seed(0)
    model = KINDS[kind](**FORMS[form]).double().train(train)
    compare(model, [(torch.randn(*sizes, 3).double(),) for sizes in ((2, 3), (5, 3), (5, 4))])


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_packed(kind: str) -> None:
    torch.manual_seed(0)
    model = KINDS[kind]().double()
    packed = [
        pack_padded_sequence(torch.randn(5, batch, 3).double(), lengths)
        for batch, lengths in ((2, [5, 3]), (3, [5, 4, 2]))
    ]
    compare(model, [(one,) for one in packed])


@pytest.mark.parametrize("form", FORMS)
def test_an_lstm_in_float32_is_left_to_onednn(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our operators do not compute it. Its steps are not unrolled; random numbers are the same."""
    steps = mock.Mock(side_effect=decompositions.one_layer_lstm)
    monkeypatch.setattr(decompositions, "one_layer_lstm", steps)
    torch.manual_seed(0)
    model = KINDS["lstm"](**FORMS[form])
    sizes = ((2, 3), (5, 3), (5, 4), (1, 1))
    with capture.config.patch(store_entries=False), recurrent_operators.unrolled():
        compare(model, [(torch.randn(*size, 3, requires_grad=True),) for size in sizes])
        assert not steps.called
        compare(copy.deepcopy(model).double(), [(torch.randn(2, 3, 3, requires_grad=True).double(),)])
    assert steps.called


@pytest.mark.parametrize("sizes", [(3,), (0, 2, 3), (2, 2, 5)])
def test_lstms_of_wrong_sizes_fail_as_in_eager(sizes: tuple[int, ...]) -> None:
    model = nn.LSTM(3, 4, 2, dropout=0.5)
    x = torch.randn(sizes)
    with pytest.raises((RuntimeError, ValueError)) as expected:
        model(x)
    with pytest.raises(expected.type) as found:
        capture.compile(model, dynamic=True)(x)
    assert str(found.value) == str(expected.value)
