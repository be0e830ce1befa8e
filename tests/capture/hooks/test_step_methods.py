"""Compiled modules in the loops of libraries: steps in place of `forward`, optimizers, unused modules."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import pytest
import torch
from torch import nn

import capture

X, Y = torch.randn(8, 4), torch.randn(8, 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 2)
        self.seen = []

    def forward(self, x):
        return torch.tanh(self.layer(x))

    def training_step(self, batch, index: int = 0):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.seen.append(loss.detach())
        return loss

    def validation_step(self, batch, index: int = 0):
        return {"accuracy": (self(batch[0]) > batch[1]).float().mean()}

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.1)


class WithScheduler(Net):
    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler}}


class InLists(Net):
    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
        return [optimizer], [{"scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)}]


def parts(made):
    """The optimizer and its scheduler."""
    if isinstance(made, tuple):
        return made[0][0], made[1][0]["scheduler"]
    if isinstance(made, dict):
        return made["optimizer"], made["lr_scheduler"]["scheduler"]
    return made, torch.optim.lr_scheduler.StepLR(made, 2)


def fit(module, steps: int = 5):
    """The loop of a library: `step` gets a closure, nobody calls the module itself."""
    optimizer, scheduler = parts(module.configure_optimizers())
    for index in range(steps):

        def closure():
            optimizer.zero_grad()
            loss = module.training_step((X, Y), index)  # noqa: B023
            loss.backward()
            return loss

        optimizer.step(closure)
        scheduler.step()
    return (
        torch.stack(module.seen),
        module.validation_step((X, Y)),
        optimizer.state_dict(),
        module.state_dict(),
    )


@pytest.mark.parametrize("kind", [Net, WithScheduler, InLists])
@pytest.mark.parametrize("when", ["first", "hot"])
def test_a_fit_agrees_with_eager(kind, when):
    capture.reset()
    expected = fit(kind())
    module = kind()
    with capture.config.patch(when=when):
        given = fit(capture.compile(module))
    torch.testing.assert_close(given, expected)
    torch.testing.assert_close(module.state_dict(), expected[-1])
    assert capture.counters["graphs"]["compiled"] >= (4 if when == "first" else 2)


def test_steps_look_like_those_of_the_module():
    fast = capture.compile(Net())
    assert inspect.signature(fast.training_step) == inspect.signature(Net().training_step)
    assert fast.training_step.__wrapped__ is Net.training_step
    assert not hasattr(fast, "test_step")
    assert fast.configure_optimizers.__wrapped__ is Net.configure_optimizers


def test_copies_run_their_steps_captured():
    for copied in (copy.deepcopy(capture.compile(Net())), pickle.loads(pickle.dumps(capture.compile(Net())))):
        capture.reset()
        torch.testing.assert_close(copied.training_step((X, Y)), Net().training_step((X, Y)))
        assert capture.counters["graphs"]["compiled"] == 1


def test_a_step_in_captured_code_is_a_part_of_its_graph():
    fast = capture.compile(Net())

    def evaluate(x, y):
        return fast.validation_step((x, y))["accuracy"] + 1

    capture.reset()
    given = capture.compile(evaluate, fullgraph=True)(X, Y)
    torch.testing.assert_close(given, Net().validation_step((X, Y))["accuracy"] + 1)
    assert capture.counters["graphs"]["compiled"] == 1


def test_disabled_modules_have_plain_steps():
    capture.reset()
    module = capture.disable(Net())
    fit(module)
    assert not capture.counters["graphs"]


class Opaque(nn.Module):
    def forward(self, x):
        return x


@pytest.mark.parametrize("call", ["__call__", "forward"])
def test_a_module_without_graphs_says_so_once(call):
    capture.reset()
    fast = capture.compile(Opaque())
    with pytest.warns(capture.CaptureWarning, match="Opaque.* has run three times, no part") as caught:
        for _ in range(6):
            getattr(fast, call)(X)
    assert len(caught) == 1


def test_a_module_with_a_graph_says_nothing():
    capture.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):  # the second one finds the entries of the first one
            module = Net()
            fast = capture.compile(module)
            for _ in range(4):
                fast(X)


def test_calls_that_nobody_wants_captured_do_not_count():
    capture.reset()
    fast = capture.compile(Net())
    with warnings.catch_warnings():
        warnings.simplefilter("error", capture.CaptureWarning)
        with capture.set_stance("force_eager"):
            for _ in range(4):
                fast(X)
        for _ in range(4):
            torch.jit.trace(fast, (X,), check_trace=False)
        fast(X)
