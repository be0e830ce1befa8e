"""`options={"freeze": True}`: results, changes that cause a new capture, parameters that are not touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import capture
from capture.report.errors import ConfigError

FREEZE = {"freeze": True}


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    capture.reset()
    with capture.config.patch(raise_on_error=True):
        yield
    capture.reset()


def network() -> nn.Module:
    torch.manual_seed(0)
    layers = (
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3),
        nn.BatchNorm2d(8),
        nn.Flatten(),
        nn.Linear(800, 40),
    )
    return nn.Sequential(*layers)


def recompiles() -> int:
    return sum(capture.counters["recompiles"].values())


def agree(fast: Callable[..., Any], model: Callable[..., Any], *args: Any) -> None:
    torch.testing.assert_close(fast(*args), model(*args), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inference(mode: Any) -> None:
    model = network().eval()
    fast = capture.compile(model, options=FREEZE, fullgraph=True)
    with mode():
        for _ in range(3):
            agree(fast, model, torch.randn(2, 3, 12, 12))
    assert recompiles() == 0


CHANGES: dict[str, Callable[[Any], Any]] = {
    "in place": lambda model: model[0].weight.mul_(2),
    "a part": lambda model: model[6].bias[3].fill_(7),
    "a buffer": lambda model: model[1].running_mean.add_(1),
    "state dict": lambda model: model.load_state_dict({name: value + 0.5 for name,
                                                       value in model.state_dict().items()}),
    "another parameter": lambda model: setattr(model[3], "weight", nn.Parameter(torch.randn(8, 8, 3, 3))),
    "another memory": lambda model: setattr(model[3].weight, "data", torch.randn(8, 8, 3, 3)),
    "an optimizer": lambda model: (setattr(model[0].weight, "grad", torch.ones(8, 3, 3, 3)),
                                   torch.optim.SGD(model.parameters(), 0.1).step()),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_changed_weights_are_captured_anew(name: str) -> None:
    model = network().eval()
    fast, x = capture.compile(model, options=FREEZE), torch.randn(2, 3, 12, 12)
    with torch.no_grad():
        agree(fast, model, x)
        before = fast(x)
        CHANGES[name](model)
        agree(fast, model, x)
        assert not torch.equal(fast(x), before)
        agree(fast, model, torch.randn(2, 3, 12, 12))


def test_what_the_graph_writes_to_is_no_constant() -> None:
    model, twin = network().train(), network().train()
    fast = capture.compile(model, options=FREEZE)
    with torch.no_grad():
        for _ in range(4):
            agree(fast, twin, torch.randn(2, 3, 12, 12))
    assert recompiles() <= 1  # num_batches_tracked and the like
    torch.testing.assert_close(model[1].running_mean, twin[1].running_mean)


def test_training_freezes_nothing() -> None:
    model, twin = nn.Linear(4, 4), nn.Linear(4, 4)
    twin.load_state_dict(model.state_dict())
    fast = capture.compile(model, options=FREEZE)
    for one, net in ((model, fast), (twin, twin)):
        optimizer = torch.optim.SGD(one.parameters(), 0.1)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(3, 4)).square().sum().backward()
            optimizer.step()
    assert recompiles() == 0
    torch.testing.assert_close(model.weight, twin.weight)


def test_parameters_without_gradients_are_frozen_in_grad_mode_too() -> None:
    model = network().eval().requires_grad_(False)
    fast, x = capture.compile(model, options=FREEZE), torch.randn(2, 3, 12, 12, requires_grad=True)
    agree(fast, model, x)
    model[0].weight.mul_(2)
    agree(fast, model, x)
    gradients = [torch.autograd.grad(net(x).sum(), x)[0] for net in (fast, model)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_with_breaks_and_changing_sizes() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.first(x)
            capture.graph_break()
            return self.second(y).relu()

    model = Broken()
    fast = capture.compile(model, options=FREEZE)
    with torch.no_grad():
        for rows in (3, 5, 4, 7):
            agree(fast, model, torch.randn(rows, 8))
        model.second.weight.zero_()
        agree(fast, model, torch.randn(9, 8))


def test_other_backends_have_no_such_option() -> None:
    with pytest.raises(ConfigError, match="no option 'freeze'"):
        capture.compile(network(), backend="aot_eager", options=FREEZE)
