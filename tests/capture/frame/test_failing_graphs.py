"""Graphs that raise in the middle: the thread gets back the modes of the call."""

from __future__ import annotations

import contextlib

import pytest
import torch

import capture
from capture.process.thread_state import read_modes


def without_gradients(x, i):
    with torch.no_grad():
        y = x[i] * 2
    return y + x


def under_autocast(x, i):
    with torch.autocast("cpu"):
        return (x @ x)[i]


def in_inference_mode(x, i):
    with torch.inference_mode():
        return x[i] * 2


def writes_in_inference_mode(x, i):
    with torch.inference_mode():
        x.mul_(1.0)
        return x[i] * 2


def in_two(x, i):
    with torch.no_grad(), torch.autocast("cpu"):
        return (x @ x)[i]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(
    "function", [without_gradients, under_autocast, in_inference_mode, in_two, writes_in_inference_mode]
)
def test_modes_after_an_error(function, backend):
    capture.reset()
    compiled = capture.compile(function, backend=backend)
    x, before = torch.randn(4, 4), read_modes()
    compiled(x, torch.tensor([1]))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        compiled(x, torch.tensor([9]))
    assert read_modes() == before


def without_autocast(x, i):
    return (x + 1)[i]


def in_nested_autocast(x, i):
    with torch.autocast("cpu"):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            return y[i]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("function", [without_autocast, under_autocast, in_nested_autocast])
def test_regions_of_autocast_around_the_call_stay_open(function, backend):
    capture.reset()
    compiled = capture.compile(function, backend=backend)
    x = torch.randn(4, 4)
    compiled(x, torch.tensor([1]))
    with torch.autocast("cpu", enabled=False), torch.autocast("cpu", enabled=False):
        before = read_modes()
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            compiled(x, torch.tensor([9]))
        assert read_modes() == before
    assert capture.counters["graphs"]["compiled"] == 1


def checked_write(x, i, log):
    log.append("before")
    y = x[i] * 2
    log.append("behind")
    x.add_(1)
    return y


def refused_write(x, i, log):
    y = x * 2
    log.append("before")
    x.add_(i)
    log.append("behind")
    return y


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
@pytest.mark.parametrize("function", [checked_write, refused_write])
def test_changes_of_objects_before_an_error(function, backend):
    """A graph that would write to an input raises before it has: Python makes the frame's other changes."""
    capture.reset()
    compiled = capture.compile(function, backend=backend)
    for _ in range(2):
        x, log = torch.zeros(4, requires_grad=function is refused_write), []
        with pytest.raises((IndexError, RuntimeError), match="out of bounds|a leaf Variable"):
            compiled(x, torch.tensor([9]), log)
        assert log == ["before"]
        assert torch.equal(x, torch.zeros(4))


def caught(x, i):
    try:
        x.add_(1)
        y = x[i] + 1
    except IndexError:
        y = x * 2
    return y


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
def test_the_program_catches_an_error_behind_a_write(backend):
    x = torch.zeros(4)
    result = capture.compile(caught, backend=backend)(x, torch.tensor([9]))
    assert torch.equal(x, torch.ones(4)) and torch.equal(result, torch.full((4,), 2.0))


class Counter:
    total = 0


COUNTER = Counter()
TOTAL = 0


def change_list(x, i, held):
    held.append(1)
    x.add_(1)
    held.append(2)


def change_dict(x, i, held):
    x.mul_(2)
    held[0] = {"i": x * 2}


def change_attribute(x, i, held):
    COUNTER.total += 1
    x[0] = 3
    held.append(COUNTER.total)


def change_global(x, i, held):
    global TOTAL
    x.zero_()
    TOTAL += 1
    held.append(TOTAL)


def change_cell(x, i, held):
    count = 0

    def more():
        nonlocal count
        count += 1
        held.append(count)

    more()
    x.sub_(1)
    more()


@torch.library.custom_op("late_errors::checked", mutates_args=())
def checked(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    if int(i) > 3:
        raise ValueError("too large")
    return x * 2


checked.register_fake(lambda x, i: torch.empty_like(x))

functional = torch.nn.functional
MAY_RAISE = {
    "index": lambda x, i: x[i],
    "gather": lambda x, i: x.gather(0, i),
    "embedding": lambda x, i: functional.embedding(i, x.view(4, 1)),
    "nll_loss": lambda x, i: functional.nll_loss(x.view(1, 4).log_softmax(1), i),
    "one_hot": lambda x, i: functional.one_hot(i, 4),
    "index_add_": lambda x, i: x.index_add_(0, i, torch.ones(1)),
    "masked_scatter": lambda x, i: x.masked_scatter(x < i, torch.ones(3)),
    "cholesky": lambda x, i: torch.linalg.cholesky(torch.eye(4) * (5 - i)),
    "write to its own part": lambda x, i: x[1:].add_(x[:-1]),
    "write to an expanded tensor": lambda x, i: i.clone().expand(3).mul_(2),
    "division": lambda x, i: 7 // (9 - i),
    "custom": checked,
}
CHANGES = [change_list, change_dict, change_attribute, change_global, change_cell]


def with_change(change, operation):
    def function(x, i, held):
        change(x, i, held)
        y = operation(x, i)
        held.clear()
        return y

    return function


def state_after(function, x, i, start):
    """What is changed when the function has raised, with the line that raised."""
    global TOTAL
    TOTAL = COUNTER.total = 0
    held = type(start)(start)
    with pytest.raises(Exception) as error:
        function(x, i, held)
    lines = [entry.lineno for entry in error.traceback if entry.path.name == "test_failing_graphs.py"]
    return type(error.value), str(error.value), lines[1:], str(held), TOTAL, COUNTER.total, x.tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
@pytest.mark.parametrize("name", MAY_RAISE)
def test_changes_and_writes_before_an_error(name, backend):
    """A graph that raises behind its writes: all changes before the error are made, and none behind it."""
    number = [*MAY_RAISE].index(name)
    for change in (CHANGES[number % len(CHANGES)], CHANGES[(number + 2) % len(CHANGES)]):
        capture.reset()
        function = with_change(change, MAY_RAISE[name])
        compiled = capture.compile(function, backend=backend)
        start = {} if change is change_dict else []
        for _ in range(2):
            inputs = (torch.arange(4.0), torch.tensor([9]))
            expected = state_after(function, *map(torch.clone, inputs), start)
            found = state_after(compiled, *map(torch.clone, inputs), start)
            assert found == expected


def training_step(x, i, log):
    log.append("begun")
    y = functional.batch_norm(x, MEAN, VARIANCE, training=True)
    log.append("normed")
    return functional.cross_entropy(y * WEIGHT, i)


def lists_of_floats(x, i, log):
    log.append("begun")
    torch._foreach_mul_([x, x], 2.0)
    torch._foreach_div_([x], [x + 3])
    torch._amp_foreach_non_finite_check_and_unscale_([x], torch.zeros(1), torch.ones(1))
    log.append("divided")
    return x + 1


def lists_of_integers(x, i, log):
    log.append("begun")
    torch._foreach_mul_([i], 2)
    torch._foreach_pow([i], [i])
    return x + 1


def masked_fill(x, i, log):
    log.append("begun")
    x.mul_(2)
    x[x > 1] = 3
    return x + 1


def masked_values(x, i, log):
    log.append("begun")
    x.mul_(2)
    x[x > 1] = torch.ones(4)
    return x + 1


COUNTS = [(lists_of_floats, 1), (lists_of_integers, 2), (masked_fill, 1), (masked_values, 2)]


@pytest.mark.parametrize(("function", "graphs"), COUNTS)
def test_what_raises_for_no_value_does_not_break(function, graphs):
    explained = capture.explain(function, backend="eager")(torch.ones(4), torch.tensor([2]), [])
    assert explained.graph_count == graphs


MEAN, VARIANCE, WEIGHT = torch.zeros(3), torch.ones(3), torch.ones(3, requires_grad=True)


def test_native_code_needs_no_break():
    """Running means and targets that are checked: one graph, as long as native code runs it."""
    explained = capture.explain(training_step)(torch.randn(4, 3), torch.tensor([0, 2, 1, 0]), [])
    assert explained.graph_count == 1 and not explained.break_reasons


def normed_and_fail(x, i, mean, log):
    log.append("begun")
    y = functional.batch_norm(x, mean, torch.ones(3), WEIGHT, training=True)
    log.append("normed")
    return y @ torch.linalg.cholesky(torch.eye(3) * (5 - i))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
def test_running_statistics_are_written_once(backend):
    """No version counts the writes of `batch_norm`. From the second size on, the graph is for all sizes."""
    compiled = capture.compile(normed_and_fail, backend=backend)
    for rows, place in ((4, 1), (5, 1), (6, 9), (4, 9)):
        found = []
        for function in (normed_and_fail, compiled):
            x, mean, log = torch.arange(3.0 * rows).view(rows, 3), torch.zeros(3), []
            with contextlib.suppress(RuntimeError):
                function(x, torch.tensor([place]), mean, log)
            found.append((mean.tolist(), log))
        assert found[0] == found[1]


def write_and_fail(x, i):
    x.add_(1)
    return x[i]


def write_a_part_and_fail(x, i):
    x.mul_(1)  # the same bits, but a write
    return x[i]


@pytest.mark.parametrize("function", [write_and_fail, write_a_part_and_fail])
def test_writes_before_an_error_are_made_once(function):
    compiled = capture.compile(function, backend="eager")
    x = torch.zeros(4)
    version = x._version
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        compiled(x, torch.tensor([9]))
    assert x._version == version + 1


def hooked_and_fail(x, i, log):
    x.register_hook(lambda grad: grad * 2)
    x.data.add_(0)
    return x[i]


def test_hooks_before_an_error_are_registered_once():
    x = torch.zeros(4, requires_grad=True)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        capture.compile(hooked_and_fail, backend="eager")(x, torch.tensor([9]), [])
    x.sum().backward()
    assert torch.equal(x.grad, torch.full((4,), 2.0))
