"""What is known of a frame's arguments before its first capture."""

from __future__ import annotations

import collections
import gc
import sys
from types import SimpleNamespace

import pytest
import torch

import capture
from capture.backends.settings import make_settings
from capture.frame.attempts import Attempts
from capture.hooks.converters import converter_for
from capture.policy import foresight, patience
from capture.sizes import glances
from capture.sizes.policy import DYNAMIC, Seen, SizeHistory
from tests.capture.cases.torch.function_modes import Recording


def function(owner, x, count=1, factor=1.0, rest=None):
    return owner, x, count, factor, rest


def frame(*values, method=function):
    return SimpleNamespace(code=method.__code__, locals=values, function=method)


def told(history, *values):
    glances.tell(history, frame(*values))
    return history.of(frame(*values))


def test_what_differs_between_glances_is_known_to_change():
    history = SizeHistory()
    for n in (3, 4):
        glances.note(history, frame(None, torch.ones(2, n), n, n / 3), None)
    seen = told(history, None)
    assert seen.sizes == {"x": [2, DYNAMIC]} and seen.strides == {"x": [DYNAMIC, 1]}
    assert seen.ints == {"count": {3, 4}} and seen.floats == {"factor": {3 / 3, 4 / 3}}


def test_items_of_containers():
    history = SizeHistory()
    for n in (3, 4):
        glances.note(history, frame(None, [torch.ones(n), n], {"a": n / 2, 5: n}, (n, "text"), True), None)
    seen = told(history, None)
    assert seen.sizes == {"x[0]": [DYNAMIC]} and seen.floats == {"count['a']": {1.5, 2.0}}
    assert seen.ints == {"x[1]": {3, 4}, "factor[0]": {3, 4}}


class Layer(SimpleNamespace):
    """An object with attributes."""


def test_tensors_that_containers_and_objects_hold():
    """The cache of a decoder: a class with a list of layers, or a dict."""
    history, module = SizeHistory(), torch.nn.Module()
    for n in (3, 4):
        module.buffer = torch.ones(n)
        cache = Layer(layers=[Layer(keys=torch.ones(1, n), seen=n, owner=module)], size=n)
        cache.itself = cache
        numbered = {7: (torch.ones(n, 2), n), None: [torch.ones(5)], module: torch.ones(n)}
        owner = Layer(weight=torch.ones(n))
        glances.note(history, frame(owner, {"cache": cache}, numbered, module), None)
    seen = told(history, None)
    assert seen.sizes == {
        "x['cache'].layers[0].keys": [1, DYNAMIC],
        "count[7][0]": [DYNAMIC, 2],
        "count[None][0]": [5],
    }
    assert not seen.ints and not seen.floats  # numbers in objects are counters more often than sizes


def test_what_the_arguments_hold_is_looked_at_up_to_a_limit(monkeypatch):
    history, deep = SizeHistory(), torch.ones(3)
    monkeypatch.setattr(glances, "MOST_HOLDERS", 4)
    glances.note(history, frame(None, [[deep], torch.ones(2), torch.ones(4)], deep), None)
    assert told(history, None).sizes == {"count": [3], "x[1]": [2]}


def test_a_decoder_is_captured_in_one_attempt(monkeypatch):
    attempts = []

    class Decoder:
        def __init__(self):
            self.layers = [Layer(keys=torch.ones(1, 3)) for _ in range(2)]

    def decode(x, cache):
        for layer in cache.layers:
            layer.keys = torch.cat([layer.keys, x[:, None]], 1)
            x = x + layer.keys.mean(1)
        return x

    def generate(steps):
        cache, x = Decoder(), torch.ones(1)
        for _ in range(steps):
            x = decode(x, cache)
        return x

    expected = generate(200)
    capture.reset()
    for name, value in (("UNIT_NS", 0), ("LEAST_NS", 2_000_000), ("FIRST_NS", 0)):
        monkeypatch.setattr(patience, name, value)
    monkeypatch.setattr(glances, "SYMBOLS_NS", 0)
    monkeypatch.setattr(foresight, "share_done", lambda frame: None)
    follow = Attempts.follow
    monkeypatch.setattr(Attempts, "follow", lambda *given: (attempts.append(type(given[1])), follow(*given)))
    with capture.config.patch(when="hot"), capture.enable():
        assert torch.allclose(generate(200), expected)
    assert attempts == [] and capture.counters["frames"]["captured"] > 0


def test_lengths_of_lists():
    """A loop over such a list is left to Python from the first capture on."""
    history = SizeHistory()
    for n in (3, 40, 50):
        glances.note(history, frame(None, [0.5] * n, (1,) * n), None)
    assert told(history, None).lengths == {"x": {3, 40, 50}}
    again = Seen(lengths={"x": {4}})
    again.learn(history.of(frame(None)).as_data())
    assert again.lengths == {"x": {3, 4, 40, 50}}


#: recompiles of a capture that came before a glance, on a machine that is busy. Each length would be eight.
FEW = 2


def test_lengths_of_lists_behind_names_and_attributes():
    class Agent:
        def __init__(self):
            self.rewards, self.buffer, self.name = [], collections.deque(maxlen=4), "a"

    def turns():
        return agent.rewards, losses

    agent, losses, history = Agent(), [], SizeHistory()
    for n in range(6):
        glances.note(history, frame(agent, (agent,)), None)
        glances.note(history, frame(method=turns), None)
        agent.rewards.append(n)
        agent.buffer.append(n)
        losses.append(n)
    lists = {id(agent.rewards): set(range(6)), id(agent.buffer): set(range(5))}
    assert told(history, agent).objects == lists
    glances.tell(history, frame(method=turns))
    assert history.of(frame(method=turns)).objects == {**lists, id(losses): set(range(6))}
    assert not history.of(frame(method=turns)).as_data()["lengths"]  # an address says nothing later


def test_an_empty_cell_has_no_length():
    def late():
        return later

    glances.note(SizeHistory(), frame(method=late), None)
    later = []
    assert late() is later


class Memory:
    def __init__(self):
        self.items = collections.deque(maxlen=300)

    def __len__(self):
        return len(self.items)


def test_a_buffer_that_fills_is_hardly_captured_anew():
    """Its length is a symbol, which is asked whether there are enough items."""
    start = torch.ones(2)

    def learn():
        if len(memory) < 64:
            return torch.zeros(())
        x = start
        for _ in range(20):
            x = (x * 1.5 + 1).sin().exp()
        return x.sum() * (2 if len(memory) > 2000 else 1)

    eager, memory = capture.disable(learn), Memory()
    before, frames = sum(capture.counters["recompiles"].values()), capture.counters["frames"]["captured"]
    with capture.config.patch(when="hot"), capture.enable():
        for turn in range(2000):
            memory.items.append(turn)
            torch.testing.assert_close(learn(), eager())
    assert sum(capture.counters["recompiles"].values()) <= before + FEW
    assert capture.counters["frames"]["captured"] > frames
    memory.items = collections.deque(memory.items, maxlen=3000)  # another one, which fills in turn
    with capture.config.patch(when="hot"), capture.enable():
        for turn in range(2500):
            memory.items.append(turn)
            torch.testing.assert_close(learn(), eager())
    capture.reset()


def test_a_loop_over_a_list_whose_length_changes_is_hardly_captured_anew():
    def mean_of_squares(values):
        total = torch.zeros(1)
        for value in values:
            total = total + torch.tensor(value).square().sin()
        return total / len(values)

    before = sum(capture.counters["recompiles"].values())
    frames = capture.counters["frames"]["captured"]
    with capture.config.patch(when="hot"), capture.enable():
        for turn in range(1000):
            values = [0.5, 0.25] * (3 + turn % 9)
            expected = sum(torch.tensor(value).square().sin() for value in values) / len(values)
            torch.testing.assert_close(mean_of_squares(values), expected.view(1))
    assert sum(capture.counters["recompiles"].values()) <= before + FEW
    assert capture.counters["frames"]["captured"] > frames
    capture.reset()


class Episodes:
    """It keeps what a loop turns over, and forgets it at the end."""

    def __init__(self):
        self.rewards, self.probabilities = [], []


def test_lists_of_another_length_in_each_call_are_never_unrolled(monkeypatch):
    """Neither an attribute of what the closure holds, nor what is made of it behind the break."""
    for name, price in (("UNIT_NS", 0), ("LEAST_NS", 2_000_000), ("FIRST_NS", 0)):
        monkeypatch.setattr(patience, name, price)
    monkeypatch.setattr(glances, "SYMBOLS_NS", 0)
    monkeypatch.setattr(foresight, "share_done", lambda frame: None)  # pytest has loops, too

    def discounted(rewards):
        returns, total = [], 0.0
        for reward in rewards[::-1]:
            total = reward + 0.5 * total
            returns.insert(0, total)
        return torch.tensor(returns)

    def learn():
        goals = discounted(agent.rewards)
        goals = goals - goals.mean()
        losses = [-p * goal for p, goal in zip(agent.probabilities, goals)]
        return torch.stack(losses).sum() * scale

    agent, scale, eager, recompiles = Episodes(), torch.full((), 0.5), capture.disable(learn), []
    frames = capture.counters["frames"]
    before = frames["captured"]
    with capture.config.patch(when="hot"), capture.enable():
        for turn in range(200):
            agent.rewards[:] = [0.5 * k for k in range(3 + turn % 9)]
            agent.probabilities[:] = [torch.tensor(0.1 * k) for k in range(3 + turn % 9)]
            torch.testing.assert_close(learn(), eager())
            recompiles.append(sum(capture.counters["recompiles"].values()))
    assert frames["captured"] > before and recompiles[-1] == recompiles[0]
    capture.reset()


def test_a_capture_learns_from_the_frames_of_its_own_module():
    history = SizeHistory()
    narrow, wide = torch.nn.Linear(2, 2), torch.nn.Linear(8, 8)
    for module, size in ((narrow, 2), (wide, 8)):
        glances.note(history, frame(module, torch.ones(4, size)), None)
    assert told(history, wide).sizes == {"x": [4, 8]}


def test_sizes_of_an_evaluation_are_no_changes_of_the_training():
    history = SizeHistory()
    for n in (3, 4):
        glances.note(history, frame(None, torch.ones(8, 6)), None)
        with torch.no_grad():
            glances.note(history, frame(None, torch.ones(8, n)), None)
    assert not glances.surcharge(history, function.__code__, None) or "sympy" in sys.modules
    assert told(history, None).sizes == {"x": [8, 6]}
    with torch.no_grad():
        assert told(history, None).sizes == {"x": [8, DYNAMIC]}


def wrapper(*args):
    return args


@pytest.mark.parametrize("method", [function, wrapper])
def test_each_owner_has_sizes_of_its_own(method):
    narrow = torch.nn.Linear(2, 2)
    wide = torch.optim.SGD(torch.nn.Linear(8, 8).parameters())
    history, arguments = SizeHistory(), (lambda *args: (args,)) if method is wrapper else (lambda *args: args)

    def seen(owner):
        return history.of(frame(*arguments(owner, torch.ones(2)), method=method))

    seen(narrow).sizes["x"] = [DYNAMIC, 2]
    seen(narrow).sizes["y"] = [4, 2]  # another module has other ones
    seen(narrow).ints["n"] = {1}
    assert seen(narrow).as_data()["sizes"] == {"x": [DYNAMIC, 2]}
    assert seen(wide).sizes == {} and seen(narrow).sizes["x"] == [DYNAMIC, 2]
    assert seen(None).sizes == {} and seen(wide).ints == {"n": {1}}
    assert not seen(narrow).as_data()["sizes"]
    del wide
    gc.collect()
    assert len(history._owned(method.__code__).by_owner) == 1


def test_many_layers_share_what_they_saw():
    history = SizeHistory()
    layers = [torch.nn.Linear(2, 2) for _ in range(6)]
    seen = [history.of(frame(layer)) for layer in layers]
    assert len({id(one.sizes) for one in seen}) == 4 and seen[4].sizes is seen[5].sizes


def test_an_earlier_capture_knows_better():
    history = SizeHistory()
    history.of(frame(None)).sizes["x"] = [DYNAMIC, 2]
    glances.note(history, frame(None, torch.ones(4, 2)), None)
    assert told(history, None).sizes == {"x": [DYNAMIC, 2]}


@pytest.mark.parametrize(
    ("second", "costs"),
    [((torch.ones(4, 2), 1), False), ((torch.ones(5, 2), 1), True), ((torch.ones(4, 2), 2), True)],
)
def test_the_first_symbols_cost_more(second, costs, monkeypatch):
    monkeypatch.delitem(sys.modules, "sympy", raising=False)
    history = SizeHistory()
    assert not glances.surcharge(history, function.__code__, None)
    for arguments in ((torch.ones(4, 2), 1), second):
        glances.note(history, frame(None, *arguments), None)
    assert bool(glances.surcharge(history, function.__code__, None)) == costs
    assert glances.surcharge(history, function.__code__, True)
    assert not glances.surcharge(history, function.__code__, False)
    monkeypatch.setitem(sys.modules, "sympy", object())
    assert not glances.surcharge(history, function.__code__, None)


def test_reset_forgets_glances():
    history = SizeHistory()
    glances.note(history, frame(None, torch.ones(4, 2)), None)
    history.clear()
    assert told(history, None) == Seen()


def test_static_sizes_stay():
    history = SizeHistory()
    for n in (3, 4):
        glances.note(history, frame(None, torch.ones(n), n, n / 3), False)
    assert told(history, None) == Seen()


UNUSUAL = {
    "csr": lambda: torch.eye(4).to_sparse_csr(),
    "coo": lambda: torch.eye(4).to_sparse(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "mkldnn": lambda: torch.ones(3, 4).to_mkldnn(),
    "meta": lambda: torch.ones(3, device="meta"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNUSUAL)
def test_tensors_without_sizes_or_strides_are_passed_over(name):
    history, x = SizeHistory(), UNUSUAL[name]()
    for count in (1, 2):
        glances.note(history, frame(None, x, count, 1.0, [x]), None)
    assert "count" in str(told(history, None, x, 2).ints)


def test_a_failure_does_not_reach_the_program(monkeypatch):
    def fails(*args):
        raise RuntimeError("of ours")

    monkeypatch.setattr(glances, "note", fails)
    converter, _ = converter_for(make_settings("llvm"))
    with pytest.warns(capture.CaptureWarning, match="capture failed on .*function.*of ours"):
        assert converter.glance(frame(None, torch.ones(2))) is None
    capture.reset()


def test_modes_of_the_program_see_no_glance():
    (converter, _), x = converter_for(make_settings("llvm")), torch.ones(2)
    with Recording() as mode:
        converter.glance(frame(None, x))
    assert not mode.seen


@pytest.mark.parametrize("method", [function, wrapper])
def test_settings_of_an_optimizer(method):
    """Schedules change them from step to step."""
    optimizer = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1, momentum=0.8)
    history = SizeHistory()
    values = (optimizer, None) if method is function else ((optimizer,),)
    of_method = frame(*values, method=method)
    for momentum in (0.8, 0.9):
        optimizer.param_groups[0]["momentum"] = momentum
        glances.note(history, of_method, None)
    glances.tell(history, of_method)
    place = "owner" if method is function else "args[0]"
    floats = history.of(of_method).floats
    assert floats[f"{place}.param_groups[0]['momentum']"] == {0.8, 0.9}
    assert history.of(of_method).ints[f"{place}.param_groups[0]['dampening']"] == {0}
