"""Frames that leave a loop that got hot: the results are those of eager, whatever the loop does."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _capture
import pytest
import torch
from torch.utils import _pytree as pytree

import capture
from capture.policy import patience
from capture.report.counters import counters
from capture.stored.learned import Learned

pytestmark = pytest.mark.usefixtures("captures_cost_nothing")


def plain(n):
    x = torch.ones(3)
    for i in range(n):
        x = torch.sin(x) * 1.5 + i * 0.01
    return x


def over_a_list(n):
    total = torch.zeros(3)
    for item in [torch.full((3,), float(k)) for k in range(n)]:
        total = total * 0.5 + item
    return total


def enumerated(n):
    x = torch.ones(3)
    for i, (a, b) in enumerate(zip(range(n), range(n, 2 * n))):
        x = x * 0.9 + a - b * 0.5 + i
    return x, i, a, b


def nested(n):
    x = torch.ones(2)
    for i in range(n):
        for j in range(3):
            x = x * 0.9 + i - j
        x = x.cos()
    return x, i, j


def long_inside(n):
    x = torch.ones(2)
    for epoch in range(2):
        for step in range(40 * n):
            x = x * 0.99 + step % 3
        x = x + epoch
    return x


def leaves_early(n):
    x = torch.ones(2)
    for i in range(n):
        x = x + 1
        if i == n - 3:
            break
        if i % 4 == 1:
            continue
        x = x * 0.5
    else:
        x = x * 100
    return x, i


def with_else(n):
    x = torch.ones(2)
    for i in range(n):
        x = x * 1.01
    else:
        x = x + 100
    return x


def returns_inside(n):
    x = torch.ones(2)
    for i in range(n):
        x = x + i
        if i == n - 2:
            return x, "inside"
    return x, "behind"


def catches(n):
    x, errors = torch.ones(2), []
    for i in range(n):
        try:
            x = x + 1
            if i % 3 == 2:
                raise ValueError(i)
        except ValueError as error:
            errors.append(error.args)
        finally:
            x = x * 0.9
    return x, errors


def with_cells(n):
    x, count = torch.ones(2), 0

    def add(y):
        nonlocal count
        count += 1
        return x + y

    for i in range(n):
        x = add(i) * 0.5
    return x, count


def with_free_variable():
    factor = torch.tensor([2.0, 3.0])

    def f(n):
        x = torch.ones(2)
        for i in range(n):
            x = (x * factor).tanh() + i
        return x

    return f


def with_a_parameter_in_a_cell(n, scale=0.5):
    x = torch.ones(2)

    def scaled(y):
        return y * scale + n

    for i in range(n):
        x = scaled(x) + i
    return x


class Base:
    def moved(self, x):
        return x * 0.5 + self.bias


class Derived(Base):
    def __init__(self):
        self.bias = torch.tensor([1.0, 2.0])

    def moved(self, n):
        x = torch.ones(2)
        for i in range(n):
            x = super().moved(x) + i
        return x


def of_a_method(n):
    return Derived().moved(n)


def keyword_only(n, *rest, scale=2.0, **options):
    x = torch.ones(2)
    for i in range(n):
        x = x * scale * 0.4 + len(rest) + len(options)
    return x, rest, options


def unbound_at_first(n):
    x = torch.ones(2)
    for i in range(n):
        if i > n // 2:
            late = x * 2
        x = x + 1
        if i == n - 1:
            x = x + late
    del i
    try:
        return x, i
    except UnboundLocalError as error:
        return x, str(error)


def trains(n):
    torch.manual_seed(0)
    w = torch.randn(4, 4, requires_grad=True)
    x, losses = torch.randn(8, 4), []
    for _ in range(n):
        loss = ((x @ w).tanh() - x).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
        losses.append(loss.item())
    return w.detach(), losses


def over_a_loader(n):
    data = torch.arange(4.0 * n).reshape(n, 4)
    total = torch.zeros(4)
    for (batch,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=2):
        total = total * 0.5 + batch.sum(0)
    return total


def iterator_outlives(n):
    numbers = iter(range(n))
    x = torch.ones(2)
    for i in numbers:
        x = x + i
        if i == n - 4:
            break
    return x, list(numbers)


def under_no_grad(n):
    w = torch.ones(2, 2, requires_grad=True)
    x = torch.ones(2)
    with torch.no_grad():
        for i in range(n):
            x = (w @ x).tanh() + i
    return x, x.requires_grad, (w @ x).requires_grad


def blocks_in_loops(n):
    x, modes = torch.ones(2), []
    for i in range(n):
        with torch.set_grad_enabled(i % 2 == 0):
            x = x * 0.5 + i
            modes.append(torch.is_grad_enabled())
    return x, modes


class Manager:
    def __init__(self):
        self.seen = []

    def __enter__(self):
        self.seen.append("in")
        return self

    def __exit__(self, *error):
        self.seen.append(error[0] is None)
        return True


def under_a_manager(n):
    x = torch.ones(2)
    with Manager() as manager:
        for i in range(n):
            x = x + i
            if i == n - 2:
                raise ValueError
    return x, i, manager.seen


def in_a_handler(n):
    x = torch.ones(2)
    try:
        raise ValueError(n)
    except ValueError as error:
        for i in range(n):
            x = x + i
        text = str(error)
    return x, text


def with_while(n):
    x, i = torch.ones(2), 0
    while i < n:
        x = x * 0.5 + i
        i += 1
    else:
        x = x + 100
    return x, i


def for_ever(n):
    x, i = torch.ones(2), 0
    while True:
        i += 1
        if i % 3 == 0:
            continue
        x = (x + i).sin()
        if i > n:
            break
    return x, i


def while_it_is_small(n):
    x = torch.ones(2)
    while x.sum() < n:
        for k in range(2):
            x = x + 0.25 * k
    return x


def episodes(n):
    x, taken, log = torch.zeros(2), 0, []
    while taken < 3 * n:
        length = 0
        x = x * 0.5
        while True:
            x = x + 1
            taken += 1
            length += 1
            for key in ("a", "b", "c"):
                log.append((key, taken))
            if length == 3 or taken == 3 * n:
                break
    return x, taken, log


def another_type_late(n):
    x = torch.ones(2)
    for i in range(n):
        x = x + 1
        if i == n - 4:
            x = x.double()
        if i == n - 3:
            x = torch.cat([x, x])
    return x


FUNCTIONS = [
    plain,
    over_a_list,
    enumerated,
    nested,
    long_inside,
    leaves_early,
    with_else,
    returns_inside,
    catches,
    with_cells,
    with_free_variable(),
    with_a_parameter_in_a_cell,
    of_a_method,
    keyword_only,
    unbound_at_first,
    trains,
    over_a_loader,
    iterator_outlives,
    with_while,
    for_ever,
    while_it_is_small,
    episodes,
    under_no_grad,
    blocks_in_loops,
    under_a_manager,
    another_type_late,
]


def same(found: Any, expected: Any) -> None:
    found, expected = pytree.tree_leaves(found), pytree.tree_leaves(expected)
    assert list(map(type, found)) == list(map(type, expected))
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(one, other)
        else:
            assert one == other or one == pytest.approx(other)


def turns() -> int:
    return counters["graph_breaks"]["turn"]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_results_are_those_of_eager(f: Callable[[int], Any]) -> None:
    expected, longer = f(16), f(17)
    with capture.enable():
        found = f(16)
    same(found, expected)
    assert counters["frames"]["captured"] > 0
    with capture.enable():
        same(f(17), longer)


def test_a_loop_in_a_handler_stays_in_python() -> None:
    expected = in_a_handler(16)
    with capture.enable():
        same(in_a_handler(16), expected)
    assert turns() == 0


def fails(n):
    x = torch.ones(2)
    for i in range(n):
        x = x + 1
        if i == n - 2:
            x = x @ torch.ones(3)
    return x


def test_an_error_has_the_place_of_eager() -> None:
    def places() -> list[tuple[str, int | None]]:
        with pytest.raises(RuntimeError) as caught:
            fails(16)
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(frame.name, frame.lineno) for frame in frames if frame.filename == __file__][1:]

    expected = places()
    with capture.enable():
        assert places() == expected
    assert turns() > 0


class Node:
    pass


def holds(n, ends):
    node = Node()
    weakref.finalize(node, ends.append, "node")
    node.value = torch.ones(2)
    x = node.value
    for i in range(n):
        x = x + 1
        if i == n - 3:
            ends.append("before")
            node = None
            ends.append("after")
    return x


def test_objects_live_as_long_as_in_eager() -> None:
    expected: list[str] = []
    holds(16, expected)
    found: list[str] = []
    with capture.enable():
        holds(16, found)
    assert found == expected
    assert turns() > 0


def variable_of_the_caller(name):
    return sys._getframe(1).f_locals[name]


def is_read_from_outside(n):
    only_read_there, x = torch.ones(2), torch.ones(2)
    for i in range(n):
        x = x + variable_of_the_caller("only_read_there")
    return x


def test_a_loop_whose_variables_are_read_by_callees_stays_in_python() -> None:
    expected = is_read_from_outside(16)
    with capture.enable():
        same(is_read_from_outside(16), expected)
        same(is_read_from_outside(16), expected)
    assert turns() == 0


def test_no_reference_stays() -> None:
    alive = weakref.WeakSet()

    def f(n):
        node = Node()
        alive.add(node)
        x = torch.ones(2)
        for i in range(n):
            x = x + i
        return x

    with capture.enable():
        f(16)
    gc.collect()
    assert turns() > 0
    assert not alive


def test_a_trace_function_sees_the_loop() -> None:
    lines: list[int] = []

    def trace(frame, event, _):
        if frame.f_code.co_name == "plain" and event == "line":
            lines.append(frame.f_lineno)
        return trace

    with capture.enable():
        sys.settrace(trace)
        try:
            plain(16)
        finally:
            sys.settrace(None)
    assert len(lines) > 30


def sets_a_trace_function(n, trace):
    x = torch.ones(2)
    for i in range(n):
        x = x + i
        if i == 2:
            sys.settrace(trace)
            sys._getframe().f_trace = trace
    return x


def test_a_debugger_that_comes_later_sees_the_frame_go_on() -> None:
    ends: list[str] = []

    def trace(frame, event, _):
        if event == "return" and frame.f_code.co_name == "sets_a_trace_function":
            ends.append(event)
        return trace

    expected = sets_a_trace_function(16, None)
    with capture.enable():
        try:
            found = sets_a_trace_function(16, trace)
        finally:
            sys.settrace(None)
    same(found, expected)
    assert ends == ["return"] and turns() == 0


def counts(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def test_a_loop_without_tensors_stays_in_python() -> None:
    with capture.enable():
        plain(16)
        before = turns()
        assert counts(1000) == sum(i * i for i in range(1000))
    assert turns() == before > 0


def test_a_loop_whose_turns_do_not_pay_goes_back_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAYS", 0.0)
    expected = plain(64)
    with capture.enable():
        same(plain(64), expected)
    assert turns() > 0
    (resumed,) = [
        code for code in _capture.all_codes() if _capture.is_resume(code) and _capture.entries(code)
    ]
    assert _capture.is_skipped(resumed)


def test_the_function_leaves_its_loop_again() -> None:
    expected = plain(12)
    with capture.enable():
        plain(16)
        before = dict(counters["frames"])
        same(plain(12), expected)
    assert counters["frames"] == before  # neither the loop nor the function was captured anew


def test_loops_of_functions_that_run_again_are_not_left() -> None:
    expected = nested(16)
    with capture.enable():
        nested(2)
        for _ in range(2):
            same(nested(16), expected)
    assert turns() == 0


def works_ahead(ahead, in_a_turn):
    x, total = torch.ones(3), sum(range(ahead))
    for i in range(16):
        x = torch.sin(x) + i
        total += sum(range(in_a_turn))
    return x


def test_a_loop_with_short_turns_stays_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the function has done before counts for no turn."""
    monkeypatch.setattr(patience, "TURN_NS", 1_000_000)
    with capture.enable():
        works_ahead(3_000_000, 10)
    assert turns() == 0
    capture.reset()
    with capture.enable():
        works_ahead(10, 300_000)
    assert turns() > 0


def is_busy(x):
    return torch.linalg.svd(x)[1].sum()


def mostly_calls(n):
    x, matrix = torch.ones(3), torch.eye(400) + 1  # a turn takes much longer than the clock may err: 1 ms
    for i in range(n):
        x = torch.sin(x) + is_busy(matrix)
    return x


def test_a_loop_that_mostly_calls_stays_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its callees are captured alone: a turn could only save what the frame itself does."""
    monkeypatch.setattr(patience, "TURN_NS", 1)
    expected = mostly_calls(12)
    with capture.enable():
        same(mostly_calls(12), expected)
    assert turns() == 0
    monkeypatch.setattr(patience, "TURN_NS", 0)
    capture.reset()
    with capture.enable():
        same(mostly_calls(12), expected)
    assert turns() > 0


def calls_backward(n):
    w = torch.ones(400, 400, requires_grad=True)  # the first backward takes 1 ms more, which is little here
    for i in range(n):
        (w @ w).sum().backward()
    return w.grad


def test_backward_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its functions call each other: counted twice, they would take more than the loop itself."""
    monkeypatch.setattr(patience, "TURN_NS", 10_000)
    expected = calls_backward(16)
    with capture.enable():
        same(calls_backward(16), expected)
    assert turns() > 0


PROGRAM = """
import sys, torch, capture
from capture.policy import foresight, patience

patience.UNIT_NS = patience.FIRST_NS = patience.TURN_NS = 0
patience.LEAST_NS = int(sys.argv[1])
foresight.share_done = lambda frame: None

def main(n):
    x = torch.ones(3)
    for i in range(n):
        x = torch.sin(x) * 1.5 + i
    return x

expected = main(20)
with capture.enable():
    found = main(20)
assert torch.allclose(found, expected)
print(capture.counters["graph_breaks"]["turn"], capture.counters["entries"]["loaded"])
"""


def test_the_next_process_leaves_the_loop_without_a_price(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def run(least_ns: int) -> str:
        settings = {"CACHE_DIR": str(tmp_path / "store"), "STORE_ENTRIES": "1", "WHEN": "hot"}
        environment = {**os.environ, **{f"CAPTURE_{name}": value for name, value in settings.items()}}
        done = subprocess.run(
            [sys.executable, str(program), str(least_ns)],
            capture_output=True, text=True, env=environment, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    never = 10**12
    assert run(never) == "0 0"
    assert run(0) == "1 0"
    assert run(never) == "1 2"  # a turn, and what is behind the loop


def test_turns_check_their_arguments() -> None:
    with pytest.raises(ValueError, match="no loop 99"):
        _capture.Turns(99, -1, 5)
    with pytest.raises(ValueError, match="in a loop 3"):
        _capture.Turns(2, 3, 5)
    assert not _capture.Turns(0, -1, 5)  # no frame of a twin asks
    with pytest.raises(TypeError, match="expected a Turns and a code object"):
        _capture.turns_begin(_capture.Turns(0, -1, 5), 3)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_that_run_again_leave_their_loops_as_those_of_earlier_processes(
    f: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the second run on, in the first turn."""
    monkeypatch.setattr(patience, "UNIT_NS", 10**9)  # no function gets hot as a whole
    monkeypatch.setattr(
        Learned, "left_loops", lambda self, code: range(16) if code.co_filename == __file__ else []
    )
    monkeypatch.setattr(Learned, "note_left", lambda self, code, number: None)
    expected, longer = f(16), f(19)
    with capture.enable():
        for _ in range(3):
            same(f(16), expected)
        same(f(19), longer)
    assert counters["frames"]["captured"] > 0


class Recurrent(torch.nn.Module):
    """A cell that a forward function calls for each item: a graph of all its turns would cost too much."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell = torch.nn.RNNCell(2, 3)
        self.head = torch.nn.Linear(3, 1)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        outputs, state = [], torch.zeros(values.shape[1], 3)
        for value in values:
            state = self.cell(value, state)
            outputs += [self.head(state).tanh()]
        return torch.stack(outputs)


def loss_of(model: Recurrent, values: torch.Tensor) -> torch.Tensor:
    return model(values).square().sum()


def trains_a_recurrent_network(steps: int, length: int) -> tuple[Any, Any]:
    model, values, losses = Recurrent(), torch.sin(torch.arange(4.0 * length)).reshape(length, 2, 2), []
    for _ in range(steps):
        loss = loss_of(model, values)
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.001 * parameter.grad
                parameter.grad = None
        losses.append(loss.item())
    return list(model.parameters()), losses


def test_a_forward_function_leaves_its_long_loop_where_the_whole_is_far_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "UNIT_NS", 20_000)
    expected, after = trains_a_recurrent_network(40, 200), trains_a_recurrent_network(3, 30)
    with capture.enable():
        same(trains_a_recurrent_network(40, 200), expected)
        assert turns() > 0 and counters["graphs"]["calls_captured"] < 200
        graphs = counters["graphs"]["compiled"]
        same(trains_a_recurrent_network(3, 30), after)  # another length has the same turns
    assert counters["graphs"]["compiled"] == graphs


def test_a_forward_function_that_is_not_far_is_captured_as_a_whole() -> None:
    expected = trains_a_recurrent_network(12, 20)
    with capture.enable():
        same(trains_a_recurrent_network(12, 20), expected)
    assert counters["graphs"]["calls_captured"] > 20 * 3
