"""Wrong use of the API, faulty backends, programs that raise.

Each gives a clear error, the hook is off afterwards, and nothing is lost.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import warnings

import pytest
import torch

import capture
from capture.backends import registry
from capture.frame import entry
from capture.hooks.switch import OFF, switch
from tests.differential import Program, assert_same


def plus_one(x):
    return x + 1


@pytest.fixture(autouse=True)
def _fresh():
    capture.reset()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: capture.compile(3), capture.UsageError, "not 3 of type int"),
        (lambda: capture.compile(torch.nn.Linear), capture.UsageError, "Linear is a class"),
        (lambda: capture.explain(3), capture.UsageError, "not 3 of type int"),
        (lambda: capture.disable(3), capture.UsageError, "not 3"),
        (
            lambda: capture.enable("lvm"),
            capture.UnknownBackend,
            "did you mean 'llvm'? Known: aot_eager, eager, llvm",
        ),
        (lambda: capture.enable(3), capture.UsageError, "a name or a function, not 3"),
        (lambda: capture.enable("eager", options={"x": 1}), capture.ConfigError, "'eager' has no option 'x'"),
        (lambda: capture.enable("eager", options=3), capture.UsageError, "options must be a dict"),
        (lambda: capture.enable(fullgraph=1), capture.UsageError, "fullgraph must be True or False, not 1"),
        (
            lambda: capture.enable(dynamic="yes"),
            capture.UsageError,
            "dynamic must be True, False or None, not 'yes'",
        ),
        (lambda: capture.enable(hook="pep524"), capture.UsageError, "did you mean 'pep523'"),
        (lambda: capture.enable(mode="max"), TypeError, "mode"),
        (lambda: capture.backends.lookup("x"), LookupError, "Known: aot_eager, eager, llvm"),
        (lambda: capture.backends.register(3), capture.UsageError, "takes a name"),
        (lambda: capture.backends.register("eager")(plus_one), capture.UsageError, "registered already"),
        (lambda: capture.log.set_logs("grap"), capture.ConfigError, "did you mean 'graph'"),
        (
            lambda: setattr(capture.config, "recompile_limits", 3),
            capture.ConfigError,
            "did you mean 'recompile_limit'",
        ),
        (lambda: setattr(capture.config, "recompile_limit", "3"), capture.ConfigError, "is int, not '3'"),
        (lambda: setattr(capture.config, "recompile_limit", -1), capture.ConfigError, "can't be negative"),
        (lambda: capture.mark_dynamic(3, 0), capture.UsageError, "takes a tensor, not 3"),
        (lambda: capture.allow_in_graph(3), capture.UsageError, "takes a callable, not 3"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        (
            {"CAPTURE_LOGS": "graph_breaks,recompile"},
            "no log is named 'recompile': did you mean 'recompiles'",
        ),
        ({"CAPTURE_RAISE_ON_ERROR": "maybe"}, "CAPTURE_RAISE_ON_ERROR='maybe': expected bool"),
    ],
)
def test_wrong_environment(variables, text, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", "import capture"], capture_output=True, text=True)
    assert done.returncode == 1 and text in done.stderr


def test_a_module_that_shadows_one_of_ours(tmp_path):
    (tmp_path / "cache.py").write_text("")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import capture"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        "capture needs its own package 'cache'" in done.stderr and str(tmp_path / "cache.py") in done.stderr
    )


BEHIND = """
import importlib.machinery, os, sys

class Behind:
    def find_spec(name, path=None, target=None):
        return importlib.machinery.PathFinder.find_spec(name, [HOME]) if path is None else None

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != HOME]
sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder) + 1, Behind)
import capture, cache, guards
print(cache.CacheEntry.__module__, guards.__file__)
"""


@pytest.mark.parametrize("file", ["weights.pt", "part.py"])
def test_a_folder_in_front_of_an_editable_install(tmp_path, file):
    """Data of a program hides none of our packages. A folder with modules may be a package of the program."""
    for name in ("cache", "guards"):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("")
    home = os.path.dirname(os.path.dirname(capture.__file__))
    code = f"HOME = {home!r}\n{BEHIND}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    if file == "weights.pt":
        assert done.stdout.split() == ["cache.entries", os.path.join(home, "guards", "__init__.py")]
    else:
        assert "capture needs its own package 'cache'" in done.stderr


# --- backends -----------------------------------------------------------------------------------------------


def raising(gm, example_inputs):
    raise ValueError("no such luck")


def returns_number(gm, example_inputs):
    return 3


def one_too_many(gm, example_inputs):
    return lambda *args: (*gm.forward(*args), 1)


def no_tuple(gm, example_inputs):
    return lambda *args: gm.forward(*args)[0]


@pytest.mark.parametrize("backend", [raising, returns_number])
def test_a_backend_that_fails_leaves_the_graph_to_eager(backend):
    with pytest.warns(capture.CaptureWarning, match=f"backend '{backend.__name__}' failed") as warned:
        found = assert_same(plus_one, (torch.ones(2),), calls=3, backend=backend)
    assert found.graph_count == 1 and len(warned) == 1


def test_the_results_of_a_backend_are_checked_unseen():
    def joined(x):
        return torch.cat([x, x]).reshape(-1)

    fast = capture.compile(joined, backend=lambda gm, inputs: gm.forward, dynamic=True, fullgraph=True)
    assert fast(torch.ones(3, 2)).shape == (12,)  # computed with sympy


@pytest.mark.parametrize("backend", [raising, returns_number])
def test_a_backend_that_fails_under_raise_on_error(backend):
    fast = capture.compile(plus_one, backend=backend)
    with (
        capture.config.patch(raise_on_error=True),
        pytest.raises(capture.BackendError, match=backend.__name__) as raised,
    ):
        fast(torch.ones(2))
    assert raised.value.backend == backend.__name__ and raised.value.__cause__ is not None
    assert switch(OFF) == OFF


@pytest.mark.parametrize(
    ("backend", "text"),
    [(one_too_many, "returned 2 outputs, the graph has 1"), (no_tuple, "returned Tensor, not a tuple")],
)
@pytest.mark.parametrize("program", [plus_one, lambda x: [x + 1, capture.graph_break()][0]])
def test_a_backend_that_returns_something_else(backend, text, program):
    fast = capture.compile(program, backend=backend)
    for _ in range(2):
        with pytest.raises(capture.BackendError, match=text):
            fast(torch.ones(2))
    assert switch(OFF) == OFF


def fails_at_run_time(gm, example_inputs):
    def run(*args):
        raise ValueError("no such luck")

    return run


def writes(x):
    x.add_(1)
    return x * 2


@pytest.mark.parametrize("hook", ["pep523", "settrace"])
@pytest.mark.parametrize("settings", [{}, {"raise_on_error": True}])
@pytest.mark.parametrize("program", [plus_one, writes, lambda x: [x + 1, capture.graph_break()][0]])
def test_a_foreign_callable_that_raises(program, settings, hook):
    fast = capture.compile(program, backend=fails_at_run_time, hook=hook)
    with capture.config.patch(**settings):
        with contextlib.suppress(capture.BackendError):  # under settrace, Python may run the first call
            fast(torch.ones(2))
        for _ in range(2):
            with pytest.raises(capture.BackendError, match="its callable raised .*no such luck") as raised:
                fast(torch.ones(2))
            assert isinstance(raised.value.__cause__, ValueError)
    assert switch(OFF) == OFF


def test_the_random_numbers_of_a_foreign_callable_that_raises():
    fast = capture.compile(lambda x: torch.rand_like(x) + x, backend=fails_at_run_time)
    torch.manual_seed(3)
    with pytest.raises(capture.BackendError):
        fast(torch.ones(2))
    found = torch.rand(2)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(2), found)


def take_row(x, i):
    return x[i] * 2


def take_row_or_none(x, i):
    try:
        return x[i] * 2
    except IndexError:
        return x * 0


@pytest.mark.parametrize("backend", [lambda gm, inputs: lambda *args: gm.forward(*args), "eager", "llvm"])
@pytest.mark.parametrize("program", [take_row, take_row_or_none])
def test_an_error_of_the_program_is_none_of_the_backend(backend, program):
    fast = capture.compile(program, backend=backend)
    x = torch.ones(3)
    assert fast(x, torch.tensor([1])).tolist() == [2.0]
    with warnings.catch_warnings(), capture.config.patch(raise_on_error=True):
        warnings.simplefilter("error", capture.CaptureWarning)
        for _ in range(2):
            if program is take_row:
                with pytest.raises(IndexError, match="index 7 is out of bounds"):
                    fast(x, torch.tensor([7]))
            else:
                assert fast(x, torch.tensor([7])).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda x: x.double(),
            r"result 0 of its callable is torch.float64\[2, 3\], the graph has torch.float32",
        ),
        (lambda x: x[None], r"is torch.float32\[1, 2, 3\], the graph has torch.float32\[2, 3\]"),
        (lambda x: x[:, :2], r"is torch.float32\[2, 2\], the graph has torch.float32\[2, 3\]"),
        (lambda x: None, "is of type NoneType, the graph has torch.float32"),
    ],
)
def test_a_foreign_callable_with_other_results(change, text, dynamic):
    def backend(gm, example_inputs):
        return lambda *args: tuple(map(change, gm.forward(*args)))

    fast = capture.compile(plus_one, backend=backend, dynamic=dynamic)
    for _ in range(2):  # what failed once is checked again
        with pytest.raises(capture.BackendError, match=text):
            fast(torch.ones(2, 3))


def test_results_of_a_foreign_callable_with_symbolic_sizes():
    calls = []

    def backend(gm, example_inputs):
        calls.append(gm)
        return gm.forward

    fast = capture.compile(lambda x: (torch.cat([x, x]), x.flatten()), backend=backend, dynamic=True)
    for size in (2, 3, 5):
        both, flat = fast(torch.ones(size, 4))
        assert both.shape == (2 * size, 4) and flat.shape == (4 * size,)
    assert len(calls) == 1


@registry.own
def ours(gm, example_inputs):
    return fails_at_run_time(gm, example_inputs)


@pytest.mark.parametrize("program", [plus_one, lambda x: [x + 1, capture.graph_break()][0]])
def test_a_callable_of_ours_that_raises(program):
    fast = capture.compile(program, backend=ours)
    with pytest.warns(capture.CaptureWarning, match="failed in backend 'ours'.*no such luck") as warned:
        for _ in range(3):
            assert fast(torch.ones(2)).tolist() == [2.0, 2.0]
    assert len(warned) == 1
    with capture.config.patch(raise_on_error=True):
        with pytest.raises(capture.InternalError, match="no such luck") as raised:
            fast(torch.ones(2))
        assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_failure_of_our_own(monkeypatch, fullgraph):
    """Eager runs the frame, with one warning; it is an error if a whole graph was requested."""

    def fails(*args):
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr(entry, "assemble", fails)
    fast = capture.compile(plus_one, backend="eager", fullgraph=fullgraph)
    if fullgraph:
        with pytest.raises(capture.InternalError, match="no such luck"):
            fast(torch.ones(2))
    else:
        with pytest.warns(capture.CaptureWarning, match="no such luck"):
            assert fast(torch.ones(2)).tolist() == [2, 2]


def test_options_of_a_backend():
    seen = []

    def named(gm, example_inputs, *, level=0):
        seen.append(level)
        return gm.forward

    def as_dict(gm, example_inputs, options):
        seen.append(options)
        return gm.forward

    for backend in (named, as_dict):
        capture.reset()
        for _ in range(2):
            capture.compile(plus_one, backend=backend, options={"level": 2})(torch.ones(2))
    assert seen == [2, {"level": 2}], "each is compiled once: equal options share entries"
    with pytest.raises(capture.ConfigError, match="did you mean 'level'"):
        capture.compile(plus_one, backend=named, options={"levels": 2})


def test_options_that_are_not_hashable():
    def as_dict(gm, example_inputs, options):
        return gm.forward

    fast = capture.compile(plus_one, backend=as_dict, options={"sizes": [1, 2]})
    assert torch.equal(fast(torch.ones(2)), torch.full((2,), 2.0))


# --- programs -----------------------------------------------------------------------------------------------


class Raises(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = self.linear(x)
        if self.calls > 1:
            raise RuntimeError(f"call {self.calls}")
        return y


@pytest.mark.parametrize("hook", ["pep523", "settrace"])
@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_a_model_that_raises_in_its_forward(hook, backend):
    assert_same(Raises(), (torch.ones(1, 2),), calls=3, hook=hook, backend=backend, tolerance=(1e-6, 1e-6))
    assert switch(OFF) == OFF


def wrong_shapes(x, y):
    z = x * 2
    return z @ y


@pytest.mark.parametrize("hook", ["pep523", "settrace"])
def test_an_error_of_torch_is_eagers_own(hook):
    assert_same(wrong_shapes, (torch.ones(2, 3), torch.ones(2, 3)), hook=hook)


def test_an_index_out_of_range_found_at_run_time():
    def look_up(table, index):
        return torch.nn.functional.embedding(index, table) * 2

    table = torch.randn(4, 2)
    for index in (torch.tensor([0, 3]), torch.tensor([0, 4])):
        assert_same(look_up, (table, index), backend="llvm", tolerance=(1e-6, 1e-6))


def test_printed_text_and_mutations_before_an_error():
    def program():
        log = []

        def f(x):
            log.append(1)
            print("got", x.shape)
            log.append(x.sum().item())
            raise KeyError(str(log))

        return Program(f, (torch.ones(3),))

    assert_same(factory=program)


def test_entries_that_never_live_long_are_given_up():
    with (
        capture.config.patch(accumulated_recompile_limit=3),
        pytest.warns(
            capture.CaptureWarning,
            match="apply .* captured 3 times, config.accumulated.*entries. Raise the limit",
        ) as warned,
        capture.enable("eager"),
    ):
        for k in range(6):  # each entry dies with the function that it guards
            assert torch.equal(apply(eval(f"lambda x: x + {k}"), torch.ones(2)), torch.full((2,), k + 1.0))
    assert len(warned) == 1


@pytest.mark.parametrize("calls, captures", [(1, 17), (6, 20)])
def test_entries_that_die_soon_are_given_up_sooner(calls, captures):
    """A quarter of the limit is enough where each has served next to nothing."""
    capture.reset()
    made = []

    def counting(gm, example_inputs):
        made.append(type(gm).__name__)
        return gm.forward

    with (
        capture.config.patch(accumulated_recompile_limit=64),
        warnings.catch_warnings(),
        capture.enable(counting),
    ):
        warnings.simplefilter("ignore")
        for k in range(20):
            function = eval(f"lambda x: x + {k}")
            for _ in range(calls):
                assert torch.equal(apply(function, torch.ones(2)), torch.full((2,), k + 1.0))
    assert made.count("Captured_apply") == captures


def apply(fn, x):
    return fn(x) * 1


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (str, r"Keep it constant, or raise the limit\."),
        (int, r"Pass the changing number as a tensor, keep it constant, or raise the limit\."),
    ],
)
def test_past_the_recompile_limit_it_runs_eagerly_with_one_warning(kind, advice):
    with (
        capture.config.patch(recompile_limit=2, dynamic=False),
        pytest.warns(
            capture.CaptureWarning,
            match=rf"config.recompile_limit.*What kept changing: k: was \[.*\], now \[.*\]\. {advice}",
        ) as warned,
        capture.enable("eager"),
    ):
        for k in range(5):
            assert torch.equal(times(torch.ones(2), kind(k)), torch.full((2,), float(k)))
    assert len(warned) == 1


def test_past_the_recompile_limit_under_fullgraph():
    fast = capture.compile(times, backend="eager", fullgraph=True)
    with capture.config.patch(recompile_limit=2), pytest.raises(capture.RecompileLimitExceeded):
        for k in range(5):
            fast(torch.ones(2), str(k))


def times(x, k):
    return x * float(k)
