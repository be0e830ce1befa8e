"""Methods of compiled modules: steps in place of `forward`, optimizers, those of the program, unused ones."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import _capture
import pytest
import torch
from torch import nn

import capture
from capture.policy import patience

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


class Policy(nn.Module):
    """It is used through methods that are no `forward`."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        return torch.tanh(self.layer(x))

    def squashed(self, x):
        return torch.sigmoid(x) * 2 - 1

    def get_action(self, x, *, scale=1.0):
        self.calls += 1
        return self.squashed(self.layer(x)) * scale

    def generate(self, x, n: int):
        for _ in range(n):
            x = x + self(x)
        return x

    @torch.no_grad()
    def evaluate(self, x):
        return self.squashed(self.layer(x)) > 0

    def frozen(self):
        return self.requires_grad_(False)

    def each(self, xs):
        for x in xs:
            yield self.get_action(x)

    @classmethod
    def made(cls):
        return cls()

    @property
    def width(self):
        return self.layer.in_features


@pytest.fixture
def at_no_cost(monkeypatch):
    capture.reset()
    for name in ("UNIT_NS", "LEAST_NS", "FIRST_NS"):
        monkeypatch.setattr(patience, name, 0)


def captured_codes():
    return {code.co_name for code in _capture.all_codes() if _capture.entries(code)}


def test_methods_of_the_program_are_captured_where_they_are_hot(at_no_cost):
    module = Policy()
    fast = capture.compile(module)
    expected = [Policy().get_action(X, scale=0.5 + i) for i in range(8)]
    given = [fast.get_action(X, scale=0.5 + i) for i in range(8)]
    torch.testing.assert_close(given, expected)
    assert "get_action" in captured_codes()
    for _ in range(8):
        torch.testing.assert_close(fast.evaluate(X), Policy().evaluate(X))
    assert "evaluate" in captured_codes()
    assert module.calls == fast.calls == 8
    assert _capture.get_callback() == (None, None)


def test_a_call_of_the_module_in_such_a_method_is_captured_at_once():
    capture.reset()
    torch.testing.assert_close(capture.compile(Policy()).generate(X, 2), Policy().generate(X, 2))
    assert capture.counters["graphs"]["compiled"] == 1


def test_such_methods_look_like_those_of_the_module(at_no_cost):
    fast = capture.compile(Policy())
    assert inspect.signature(fast.get_action) == inspect.signature(Policy().get_action)
    assert fast.get_action.__wrapped__ is Policy.get_action
    assert fast.frozen() is fast
    assert fast.width == 4 and type(fast.made()) is Policy
    torch.testing.assert_close([*fast.each([X, X])], [Policy().get_action(X)] * 2)
    fast.generate = lambda x, n: n  # the program's own
    assert fast.generate(X, 3) == 3


def test_a_method_that_the_program_replaces_later_is_the_one_that_runs(at_no_cost, monkeypatch):
    fast = capture.compile(Policy())
    fast.squashed(X)
    monkeypatch.setattr(Policy, "squashed", lambda self, x: x * 3)
    torch.testing.assert_close(fast.squashed(X), X * 3)


def test_such_a_method_in_captured_code_is_a_part_of_its_graph():
    fast = capture.compile(Policy())

    def act(x):
        return fast.get_action(x) + 1

    capture.reset()
    given = capture.compile(act, fullgraph=True)(X)
    torch.testing.assert_close(given, Policy().get_action(X) + 1)
    assert fast.calls == 1


class Renamed(Policy):
    """`act` is the method of the base class under another name, whatever `get_action` is here."""

    act = Policy.get_action

    def get_action(self, x, *, scale=1.0):
        return super().get_action(x, scale=scale) * 100


def test_a_method_under_another_name_is_that_method_in_captured_code():
    fast = capture.compile(Renamed())

    def act(x):
        return fast.act(x) + 1

    given = capture.compile(act, fullgraph=True)(X)
    torch.testing.assert_close(given, Renamed().act(X) + 1)
    torch.testing.assert_close(fast.act(X), Renamed().act(X))


@pytest.mark.parametrize(
    "compiled", [lambda m: capture.compile(m, fullgraph=True), capture.disable], ids=["fullgraph", "disabled"]
)
def test_where_nothing_waits_such_methods_run_as_they_are(compiled, at_no_cost):
    fast = compiled(Policy())
    for _ in range(8):
        torch.testing.assert_close(fast.get_action(X), Policy().get_action(X))
    assert not captured_codes()


def test_an_error_in_such_a_method_leaves_the_hook_off(at_no_cost):
    fast = capture.compile(Policy())
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        fast.get_action(torch.randn(2, 3))
    assert _capture.get_callback() == (None, None)


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
