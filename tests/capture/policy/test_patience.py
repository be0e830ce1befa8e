"""What a block captures, and when."""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import subprocess
import sys
import types
from typing import NamedTuple

import _capture
import pytest
import torch

import cache
import capture
from capture.policy import foresight, gains, patience
from capture.policy.patience import Compared, Kind, kind
from capture.report.counters import counters
from capture.report.errors import ConfigError


@pytest.fixture(autouse=True)
def hot(monkeypatch):
    """Frames that have run are hot: no test waits for the clock."""
    capture.reset()
    monkeypatch.setattr(patience, "UNIT_NS", 0)
    monkeypatch.setattr(patience, "LEAST_NS", 0)
    monkeypatch.setattr(patience, "FIRST_NS", 0)
    monkeypatch.setattr(foresight, "share_done", lambda frame: None)  # pytest has loops, too
    with capture.config.patch(when="hot"):
        yield


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = torch.nn.Linear(size, size)

    def forward(self, x):
        return x + torch.relu(self.linear(x))


class Model(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(size) for _ in range(4)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def step(model, x):
    return model(x).pow(2).sum()


def train(model, steps, x):
    return [step(model, x) for _ in range(steps)]


def captured(code):
    return [entry for entry in _capture.entries(code) if entry.code is not None or entry.graph is not None]


def test_the_step_that_repeats_is_captured_as_a_whole():
    """Not what runs once around it, and not the parts that it repeats."""
    torch.manual_seed(0)
    x = torch.randn(256, 256)
    model = Model(256)
    expected = train(model, 10, x)
    with capture.enable():
        torch.testing.assert_close(train(model, 10, x), expected)
    assert captured(step.__code__)
    for cold in (train, Model.forward, Block.forward, Model.__init__, Block.__init__):
        assert not captured(cold.__code__), cold
    assert counters["graphs"]["compiled"] == 1


@pytest.mark.parametrize(
    "arguments_of",
    [
        lambda n: (torch.ones(2, n),),
        lambda n: ({"input": torch.ones(n)},),
        lambda n: (torch.ones(2), n),
        lambda n: (torch.ones(2), [n / 3, 0.5]),
    ],
    ids=["size", "size in a dict", "int", "float in a list"],
)
def test_what_changes_before_the_capture_is_a_symbol_in_it(arguments_of, monkeypatch):
    def f(x, factor=2):
        x = x["input"] if isinstance(x, dict) else x
        return x * (factor[0] if isinstance(factor, list) else factor)

    monkeypatch.setattr(patience, "LEAST_NS", 5_000_000)
    with capture.enable():
        numbers = itertools.count(3)
        while not captured(f.__code__):
            f(*arguments_of(next(numbers)))
        results = [f(*arguments_of(next(numbers))) for _ in range(3)]
    last = next(numbers)
    expected = [f(*arguments_of(n)) for n in range(last - 3, last)]
    torch.testing.assert_close(results, expected)
    assert captured(f.__code__) and not counters["recompiles"]


def test_what_makes_a_distribution_again_and_again_is_captured():
    """Its tensors are normalized and checked each time. What makes modules never gets hot."""
    makes = torch.distributions.Categorical.__init__

    def sample(turns, probs):
        return [torch.distributions.Categorical(probs).sample() for _ in range(turns)]

    torch.manual_seed(0)
    expected = sample(20, torch.tensor([0.3, 0.7]))
    torch.manual_seed(0)
    with capture.enable():
        assert sample(20, torch.tensor([0.3, 0.7])) == expected
        with pytest.raises(ValueError, match="Simplex"):
            torch.distributions.Categorical(torch.tensor([-0.3, 0.7]), validate_args=True)
    assert captured(makes.__code__)


def test_what_runs_once_is_not_captured():
    def once(x):
        return torch.sin(x) * 2

    with capture.enable():
        once(torch.ones(3))
    assert not counters["graphs"] and not counters["frames"]


@pytest.mark.parametrize("settings", [{"backend": "eager"}, {"fullgraph": True}])
def test_the_first_call_where_the_user_asks_for_it(settings):
    def f(x):
        return torch.sin(x) * 2

    with capture.enable(**settings):
        f(torch.ones(3))
    assert counters["graphs"]["compiled"] == 1


def test_compile_and_explain_take_the_first_call():
    def f(x):
        return torch.sin(x) * 2

    with capture.enable():
        assert capture.explain(f)(torch.ones(3)).graph_count == 1
        capture.compile(f)(torch.ones(3))
    assert counters["graphs"]["compiled"] == 2


def test_first():
    def f(x):
        return torch.sin(x) * 2

    with capture.config.patch(when="first"), capture.enable():
        f(torch.ones(3))
    assert counters["graphs"]["compiled"] == 1


def test_reset_makes_everything_cold():
    def f(x):
        return torch.sin(x) * 2

    with capture.enable():
        f(torch.ones(3))
        capture.reset()
        f(torch.ones(3))
    assert not counters["graphs"]


def test_kinds():
    def straight(x):
        return x if x else -x

    def loop(x):
        while x:
            x -= 1

    assert kind(straight.__code__) is Kind.STRAIGHT
    assert kind(loop.__code__) is Kind.LOOP
    assert kind(train.__code__) is Kind.LOOP  # in a comprehension
    assert kind(Model.forward.__code__) is Kind.FORWARD
    assert all(
        kind(layer.forward.__code__) is Kind.BRIEF for layer in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)
    )
    assert kind(Model.__init__.__code__) is Kind.NEVER
    assert kind(inspect.unwrap(torch.optim.Optimizer.zero_grad).__code__) is Kind.NEVER
    assert kind(torch.distributions.Categorical.__init__.__code__) is Kind.STRAIGHT
    assert kind(torch.nn.Module._call_impl.__code__) is Kind.ASK
    assert kind(importlib._bootstrap._find_and_load.__code__) is Kind.IMPORT


@pytest.mark.parametrize("stored", [True, False])
def test_gradients_of_results_are_seen_before_the_first_capture(stored, tmp_path):
    """The time of the backward counts for the forward, also while nothing is captured yet."""
    program = f"""
import _capture, torch, capture
from capture.report.counters import counters
capture.config.when = "hot"
capture.config.store_entries = {stored}
weight = torch.ones(3, requires_grad=True)
def step():
    return weight.sum()
assert not _capture.is_calibrated()
with capture.enable():
    step()
    assert not _capture.is_calibrated()
    step().backward()
print(_capture.is_calibrated(), counters["frames"]["captured"])
"""
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "CAPTURE_CACHE_DIR": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert found.stdout.split() == ["True", "0"] and not found.stderr


def test_the_setting_is_checked():
    with pytest.raises(ConfigError, match="config.when is 'hot' or 'first', not 'later'"):
        capture.config.when = "later"


def verdict(python, own, compared=Compared.FITTING, steps=0, **facts):
    """What becomes of an entry on the code of a new function, and whether the entry stays."""

    def f():
        return 1

    _capture.clear_entries(f.__code__)  # of the verdict before
    entry = cache.CacheEntry(None, None)
    for name, value in facts.items():
        setattr(entry, name, value)
    cache.install(f.__code__, entry)
    answer = patience.judge(f.__code__, entry, python, own, compared, steps)
    return answer, _capture.entries(f.__code__) == [entry]


def test_an_entry_that_is_faster_stays():
    assert verdict((1000, 900), (500, 400)) == (None, True)
    assert verdict((1000, 900), (1050, 950)) == (None, True)
    assert not counters["frames"]


def test_an_entry_that_is_slower_goes():
    assert verdict((1000, 900), (2000, 1800)) == (Kind.ONCE, False)
    assert verdict((1000, 900), (2000, 1800), breaks=True) == (Kind.LEFT, False)
    assert counters["frames"] == {"did_not_pay": 2}


def test_what_entries_gained_is_expected_of_the_next_ones(monkeypatch):
    monkeypatch.setattr(foresight, "share_done", lambda frame: 0.1)
    assert gains.expected() == gains.GAIN
    for _ in range(gains.TRIALS):
        verdict((1000, 900), (200, 150))
    assert patience.outlook() == (0.1, pytest.approx((gains.GAIN + 0.8) / 2), False)
    for _ in range(100):
        verdict((1000, 900), (2000, 1900))
    assert 0 < gains.expected() < 0.1
    verdict((1000, 900), (200, 150), trains=True)  # its backward is not seen
    assert gains.expected() == pytest.approx((gains.TRIALS * (gains.GAIN + 0.8)) / (2 * gains.TRIALS + 100))
    capture.reset()
    assert gains.expected() == gains.GAIN


@pytest.mark.parametrize("own, wasted", [(500, 0), (800, 1), (2000, 2)])
def test_what_a_capture_without_a_graph_does_not_save_is_wasted(monkeypatch, own, wasted):
    counted = []
    monkeypatch.setattr(_capture, "count_waste", counted.append)
    verdict((1000, 900), (own, own), compile_time=2.0, has_graph=False)
    assert sum(counted) == pytest.approx(wasted * 1e9, rel=1e-6)
    verdict((1000, 900), (own, own), compile_time=2.0)
    assert len(counted) == 1


def test_a_capture_that_finds_nothing_is_wasted(monkeypatch):
    counted = []
    monkeypatch.setattr(_capture, "count_waste", counted.append)

    def plain(n):
        return n + 1

    def double(x):
        return x * 2

    with capture.enable():
        for n in range(4):
            double(torch.ones(3))
        assert counted == []
        for n in range(4):
            plain(n)
    assert len(counted) == 1 and counted[0] > 0


@pytest.mark.parametrize("kept", [False, True])
def test_another_run_counts_where_entries_stay(monkeypatch, kept):
    monkeypatch.setattr(foresight, "share_done", lambda frame: 0.25)
    learned = types.SimpleNamespace(is_kept=lambda: kept)
    assert patience.outlook(learned) == (0.25, gains.GAIN, kept)
    monkeypatch.setattr(foresight, "share_done", lambda frame: None)
    assert patience.outlook(learned) is None


def test_python_runs_frames_that_fit_an_entry_before_it_goes():
    earlier = Compared.EARLIER
    assert verdict((1000, 900), (2000, 1800), earlier) == (Compared.FITTING, True)
    assert verdict((1000, 900), (500, 400), earlier) == (None, True)
    assert not counters["frames"]


def test_the_first_frames_of_a_process_are_slow():
    """What is faster than these, but not by far, is compared once more."""
    assert verdict((1000, 300), (500, 400), Compared.EARLIER) == (Compared.FITTING, True)


def test_what_trains_is_compared_by_steps():
    earlier, steps = Compared.EARLIER, Compared.STEPS
    assert verdict((1000, 900), (500, 400), earlier, trains=True) == (None, True)  # no backward comes
    assert verdict((1000, 900), (900, 800), earlier, 7, trains=True) == (steps, True)
    assert verdict((1000, 900), (1100, 1000), Compared.FITTING, 7, trains=True) == (steps, True)
    assert verdict((1000, 900), (2000, 1800), earlier, 7, trains=True) == (Compared.FITTING, True)
    assert verdict((1000, 900), (500, 400), earlier, 7) == (None, True)
    assert verdict((1000, 900), (1010, 990), steps, 7, trains=True) == (None, True)
    assert verdict((1000, 900), (1100, 950), steps, 7, trains=True) == (Kind.ONCE, False)


def test_a_backward_that_is_slower_than_that_of_eager_goes(monkeypatch):
    """By its forward alone the entry pays."""
    seen = []

    def judge(code, entry, python, own, compared, steps, learned=None):
        seen.append(compared)
        own = tuple(2 * ns if compared == Compared.STEPS else ns // 2 for ns in python)
        return real(code, entry, python, own, compared, steps, learned)

    real = patience.judge
    monkeypatch.setattr(patience, "judge", judge)
    model, x = Model(4), torch.ones(2, 4)
    grads = []
    with capture.enable():
        for _ in range(40):
            model.zero_grad()
            model(x).pow(2).sum().backward()
            grads.append(model.blocks[0].linear.weight.grad.clone())
    assert seen == [Compared.EARLIER, Compared.STEPS]
    assert counters["frames"]["did_not_pay"] == 1
    assert all(torch.allclose(grad, grads[0]) for grad in grads)


def test_frames_that_return_at_once_are_no_measure(monkeypatch):
    """A learner that has nothing to learn from yet: its entry is compared with its later frames."""
    monkeypatch.setattr(patience, "LEAST_NS", 0)
    verdicts = []

    def judge(code, entry, python, own, compared, steps, learned=None):
        answer = real(code, entry, python, own, compared, steps, learned)
        verdicts.append((compared, answer))
        return answer

    real = patience.judge
    monkeypatch.setattr(patience, "judge", judge)

    def learn(x, ready):
        if not ready:
            return None
        for _ in range(200):
            x = torch.sin(x)
        return x

    x = torch.ones(2000)
    with capture.enable():
        for i in range(40):
            learn(x, i > 3)
    earlier, fitting = Compared.EARLIER, Compared.FITTING
    assert verdicts in ([(earlier, fitting), (fitting, None)], [(earlier, None)])  # or it was captured later
    assert "did_not_pay" not in counters["frames"]


def test_both_the_mean_and_the_least_time_have_to_be_worse():
    assert verdict((1000, 900), (5000, 950)) == (None, True)
    assert verdict((1000, 200), (1000, 950)) == (None, True)


def test_the_backward_of_an_entry_may_gain_what_the_forward_loses():
    assert verdict((1000, 900), (1300, 1200), trains=True) == (None, True)
    assert verdict((1000, 900), (2000, 1800), trains=True) == (Kind.ONCE, False)


def facts(f, *args):
    capture.compile(f, backend="eager")(*args)
    (entry,) = captured(f.__code__)
    return entry.breaks, entry.trains


def test_what_an_entry_says_of_its_frame():
    def whole(x):
        return torch.sin(x) * 2

    def broken(x):
        y = torch.sin(x)
        capture.graph_break()
        return y * 2

    plain, leaf = torch.ones(3), torch.ones(3, requires_grad=True)
    assert facts(whole, plain) == (False, False)
    assert facts(broken, plain) == (True, True)  # what follows behind the break is not known
    capture.reset()
    assert facts(whole, leaf) == (False, True)
    with torch.no_grad():
        capture.reset()
        assert facts(broken, plain) == (True, False)


def test_a_frame_whose_captures_never_pay_ends_as_python(monkeypatch):
    """A break between tiny graphs: nothing is gained."""
    monkeypatch.setattr(patience, "PAYS", -1.0)
    monkeypatch.setattr(patience, "PAYS_WITH_BACKWARD", -1.0)
    monkeypatch.setattr(patience, "CLEARLY_PAYS", -1.0)

    def f(x):
        y = x + 1
        return y.tolist()[0] + 1

    with capture.enable():
        assert {f(torch.ones(3)) for _ in range(30)} == {3.0}
    assert counters["frames"]["did_not_pay"] >= 1
    assert not captured(f.__code__)


def inner(x):
    return torch.relu(x) * 2


def outer(x):
    return inner(x) + 1


def test_what_a_frame_inlines_waits_anew_when_it_is_captured():
    """Its time was a part of the frame's."""
    x = torch.randn(64, 64)
    with capture.enable():
        outer(x)
        assert not captured(outer.__code__)
        inner(x)  # for the first time alone
        outer(x)
        outer(x)
        assert captured(outer.__code__)
        assert _capture.cold_runs(inner.__code__)[1] == 0


class Pair(NamedTuple):
    state: torch.Tensor
    following: torch.Tensor | None


class Memory:
    """Keeps what it is given: there is nothing to capture."""

    def __init__(self):
        self.items = []

    def push(self, *items):
        self.items.append(Pair(*items))
        sum(range(500))  # 5 us


@pytest.mark.parametrize("late", [torch.ones(2), 3.5], ids=["tensor", "number"])
def test_what_had_nothing_to_capture_is_not_asked_again_for_other_arguments(late):
    memory, x = Memory(), torch.ones(2)
    with capture.enable():
        step(Model(2), x), step(Model(2), x)  # the first capture imports what captures need
        for _ in range(8):
            memory.push(x, None)
        left = len(_capture.entries(Memory.push.__code__))
        _, _, _, _, paid = _capture.cold_runs(Memory.push.__code__)
        for _ in range(10_000):
            memory.push(x, late)
            if _capture.cold_runs(Memory.push.__code__)[2] > 2 * paid:
                break
    assert left == len(_capture.entries(Memory.push.__code__)) == 1
    assert not counters["recompiles"]


def test_long_frames_of_such_code_are():
    def f(x, again):
        return torch.linalg.svd(x @ x)[1].sum() if again else x

    with capture.enable():
        for again in (*[False] * 8, *[True] * 8):
            f(torch.randn(60, 60), again)
    assert captured(f.__code__)


def test_an_optimizer_whose_step_breaks_is_tried_once():
    """The numbers of steps in its state are guarded: each step would be tried again."""
    torch.manual_seed(0)
    x, y = torch.randn(64, 8), torch.randn(64, 8)
    layer = torch.nn.Linear(8, 8)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        return loss

    with capture.enable():
        for _ in range(12):
            optimizer.step(closure)
    code = torch.optim.LBFGS.step.__wrapped__.__wrapped__.__code__
    assert _capture.added_entries(code) <= 1
