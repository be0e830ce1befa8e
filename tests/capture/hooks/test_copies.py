"""Compiled functions are copied and pickled as the program's own are, and come back compiled."""

from __future__ import annotations

import contextlib
import copy
import functools
import multiprocessing
import pickle
import traceback

import pytest
import torch

import capture
from capture.report.counters import counters


def doubled(x):
    return x * 2 + 1


def scaled(x, factor):
    return x * factor


@capture.compile(backend="eager")
def decorated(x):
    return x * 3


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).relu()

    def scores(self, x):
        return self.linear(x) + 1


def pickled(value):
    return pickle.loads(pickle.dumps(value))


TARGETS = {
    "function": lambda: doubled,
    "method": lambda: Net().scores,
    "forward": lambda: Net().forward,
    "partial": lambda: functools.partial(scaled, factor=torch.tensor(2.0)),
    "builtin": lambda: torch.sin,
}


@pytest.mark.parametrize("ran", [False, True])
@pytest.mark.parametrize("copying", [pickled, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", TARGETS)
def test_what_comes_back_is_compiled(name, copying, ran):
    fast, x = capture.compile(TARGETS[name](), backend="eager", dynamic=False), torch.randn(2, 3)
    expected = fast(x) if ran else fast._capture_original(x)
    again = copying(fast)
    capture.reset()
    assert torch.equal(again(x), expected)
    assert counters["graphs"]["compiled"] == 1
    assert (again is fast) == (copying is not pickled and name in ("function", "builtin"))


def test_a_deep_copy_of_a_method_has_an_object_of_its_own():
    net, x = Net(), torch.randn(2, 3)
    fast = capture.compile(net.scores, backend="eager")
    again = copy.deepcopy(fast)
    with torch.no_grad():
        net.linear.weight.zero_()
    assert not torch.equal(again(x), fast(x))


def test_the_settings_come_back():
    strict = pickled(capture.compile(with_branches, backend="eager", fullgraph=True))
    with pytest.raises(capture.Unsupported):
        strict(torch.ones(2))


def with_branches(x):
    return x + 1 if x.sum() > 0 else x - 1


def test_a_decorated_function_is_its_name():
    assert pickled(decorated) is decorated
    assert pickled(capture.compile(decorated, backend="eager"))(torch.ones(1)) == 3


def test_what_pickle_refuses_is_refused():
    nameless = lambda x: x + 1  # noqa: E731
    with pytest.raises((pickle.PicklingError, AttributeError)) as plain:
        pickle.dumps(nameless)
    with pytest.raises(type(plain.value)) as compiled:
        pickle.dumps(capture.compile(nameless))
    assert "<lambda>" in str(compiled.value)


def test_its_parts_can_be_pickled():
    """cloudpickle writes a function of `__main__` by its code, its cells and its attributes."""
    fast = capture.compile(doubled, backend="eager", fullgraph=True)
    for cell in fast.__closure__:
        pickled(cell.cell_contents)
    assert pickled(vars(fast)).keys() == vars(fast).keys()


def row(fast, index):
    return fast(torch.full((3,), float(index))).tolist()


def test_a_spawned_process_gets_it():
    fast = capture.compile(doubled, backend="eager")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(row, (fast, 2)) == [5.0, 5.0, 5.0]


class Rows(torch.utils.data.Dataset):
    def __init__(self, change):
        self.change = change

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self.change(torch.full((3,), float(index)))


def test_spawned_workers_of_a_loader_get_it():
    rows = Rows(capture.compile(doubled, backend="eager"))
    loader = torch.utils.data.DataLoader(rows, num_workers=1, multiprocessing_context="spawn")
    assert [batch.tolist() for batch in loader] == [[[1.0, 1.0, 1.0]], [[3.0, 3.0, 3.0]]]


# --- disabled functions, and functions of the hook in Python ----------------------------------------------


@capture.disable
def left_alone(x):
    return x * 5


@capture.compile(backend="eager", hook="settrace")
def traced(x):
    return x * 7


MAKERS = {
    "disable": capture.disable,
    "settrace": functools.partial(capture.compile, backend="eager", hook="settrace", dynamic=False),
}


@pytest.mark.parametrize("copying", [pickled, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("maker", MAKERS)
def test_what_comes_back_does_the_same(maker, name, copying):
    made, x = MAKERS[maker](TARGETS[name]()), torch.randn(2, 3)
    again, expected = copying(made), made.__wrapped__(x)
    with capture.enable("eager") if maker == "disable" else contextlib.nullcontext():
        capture.reset()
        assert torch.equal(again(x), expected)
        assert torch.equal(again(x), expected)  # the hook in Python may need a second call
        assert counters["graphs"]["compiled"] == (maker == "settrace")
    assert vars(again).get("_capture_disabled") == vars(made).get("_capture_disabled")
    assert (again is made) == (copying is not pickled and name in ("function", "builtin"))


def test_decorated_functions_of_both_kinds_are_their_names():
    assert pickled(left_alone) is left_alone and pickled(traced) is traced


def test_a_disabled_method_gets_an_object_of_its_own():
    net, x = Net(), torch.randn(2, 3)
    again = copy.deepcopy(capture.disable(net.scores))
    expected = net.scores(x)
    with torch.no_grad():
        net.linear.weight.zero_()
    assert torch.equal(again(x), expected)


def fails(x):
    raise ValueError(x)


@capture.disable
class Failing(torch.nn.Module):
    def forward(self, x):
        fails(x)


@pytest.mark.parametrize("make", [lambda: capture.disable(fails), lambda: capture.disable(Failing())])
def test_disabled_code_has_no_frames_of_ours_in_its_traceback(make):
    with pytest.raises(ValueError) as caught:
        make()(1)
    files = {entry.filename for entry in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__} or files == {__file__, torch.nn.modules.module.__file__}


def test_a_disabled_function_is_not_captured_by_the_hook_in_python():
    @capture.disable
    def around(x):
        return doubled(doubled(x))

    with capture.enable("eager", hook="settrace"):
        capture.reset()
        assert [around(torch.ones(1)).item() for _ in range(3)] == [7, 7, 7]
        assert counters["graphs"]["compiled"] == 0
        assert [doubled(torch.ones(1)).item() for _ in range(3)] == [3, 3, 3]
        assert counters["graphs"]["compiled"] == 1


def test_a_new_module_of_the_class_of_a_compiled_one():
    fast = capture.compile(Net(), backend="eager")
    new = type(fast)()
    assert type(new) is Net
    new.load_state_dict(fast.state_dict())
    x = torch.randn(2, 3)
    torch.testing.assert_close(new(x), fast(x))
