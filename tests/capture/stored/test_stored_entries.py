"""Entries on disk: what is found in another process, and what is refused."""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
import traceback
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import capture
from cache.entries import entries
from capture.policy import patience
from capture.policy.settings import CaptureSettings
from capture.report.config import config
from capture.report.counters import counters
from capture.report.errors import RecompileError
from capture.stored import learned
from capture.stored.store import KIND, Shelf, shelf_of
from codegen.launch.compiled import EagerGraph

ROOT = Path(__file__).parents[3]
X = torch.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    settings = {"cache_dir": str(tmp_path), "store_entries": True, "raise_on_error": True, "when": "first"}
    with config.patch(settings):
        capture.reset()
        yield tmp_path
    capture.reset()


def counted(function: Any, *args: Any) -> tuple[Any, int, int]:
    """The result of a call as in a new process, how many entries the store had, and how many frames were
    translated.
    """
    capture.reset()
    with capture.enable():
        value = function(*args)
    return value, counters["entries"]["loaded"], counters["frames"]["captured"]


def made(text: str, name: str = "program", **names: Any) -> Any:
    """The function `f` of a program, as another process would read it from a file."""
    module = types.ModuleType(name)
    vars(module).update(names, torch=torch)
    sys.modules[name] = module
    exec(compile(text, f"/{name}.py", "exec"), vars(module))
    return vars(module)["f"]


GRAPH = "def f(x): return torch.relu(x) * 2"
BREAK = "def f(x, seen):\n  y = x * 2\n  seen.append(1)\n  print('here')\n  return y + len(seen)"
LEFT = "def f(x): return [n + 1 for n in range(3)], x"
SIGNATURE = (
    "import inspect\ndef g(a, *, b=2): pass\n"
    "def f(x): return x * inspect.signature(g).parameters['b'].default"
)


@pytest.mark.parametrize(("text", "args"), [(GRAPH, ()), (BREAK, ([],)), (LEFT, ()), (SIGNATURE, ())])
def test_nothing_is_translated_twice(text: str, args: Any) -> None:
    results = [counted(made(text), X, *[list(a) for a in args]) for _ in range(2)]
    assert results[0][1] == 0
    assert results[1][1] > 0
    assert results[1][2] == 0
    assert str(results[0][0]) == str(results[1][0])


BRANCH = "def f(x): return x.sin() if torch.is_grad_enabled() else x.cos()"


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("text", [GRAPH, BRANCH])
@pytest.mark.parametrize("x", [X, torch.ones(3, requires_grad=True)])
def test_the_other_grad_mode(text: str, x: torch.Tensor, first: bool) -> None:
    for mode in (first, not first, first, not first):
        with torch.set_grad_enabled(mode):
            function = made(text)
            value, loaded, translated = counted(function, x)
            assert loaded + translated == 1
        for again in (mode, not mode):
            with torch.set_grad_enabled(again), capture.enable():
                value, expected = function(x), eager(text, x)
            torch.testing.assert_close(value, expected)
            assert value.requires_grad == expected.requires_grad == (again and x.requires_grad)


def eager(text: str, x: torch.Tensor) -> Any:
    with capture.disable():
        return made(text, "eager")(x)


BODIES = {
    "vmap": "torch.vmap(lambda row: (row * 2).sum(), in_dims=1, chunk_size=2)(x)",
    "grad of each row": "torch.vmap(torch.func.grad(lambda row: row.sin().sum()))(x)",
    "jacrev": "torch.func.jacrev(torch.sin)(x[0])",
    "vjp": "torch.func.vjp(lambda x: {'a': x.sin(), 'b': 3}['a'], x)[1](x)",
    "jvp": "torch.func.jvp(torch.sin, (x,), (x,))",
    "linearize": "torch.func.linearize(torch.sin, x)[1](x)",
    "cond": "torch.cond(x.sum() > 0, lambda x: (x.sin(), [x + 1]), lambda x: (x.cos(), [x * 2]), (x,))",
    "while_loop": "torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))",
    "scan": "scan(lambda c, row: (c + row, c * row), torch.zeros(3), x)",
    "associative_scan": "associative_scan(torch.add, x, 0, combine_mode='generic')",
    "map": "map_slices(lambda row: row * 2, x)",
    "checkpoint": "checkpoint(lambda x, *, scale: {'y': x.sin() * scale}, x, scale=2, use_reentrant=False)",
}
BODY_IMPORTS = """
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_slices
from torch._higher_order_ops.scan import scan
from torch.utils.checkpoint import checkpoint
"""


@pytest.mark.parametrize("call", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "call by call"])
def test_graphs_with_bodies(compiled: bool, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(
            "codegen.stored.compile_graph.compile_anew", lambda gm, *_, **__: EagerGraph(gm, "a test")
        )
    program = made(f"{BODY_IMPORTS}\ndef f(x):\n  return {call}")
    program(X)  # torch imports modules at its first call in a process: their frames would count
    results = [counted(program, X) for _ in range(2)]
    assert results[0][1] == 0 and results[1][2] == 0
    assert str(results[0][0]) == str(results[1][0])


def test_gradients_through_a_stored_body() -> None:
    program = made(f"{BODY_IMPORTS}\ndef f(x): return {BODIES['checkpoint']}['y'].sum()")
    expected = (2 * X.cos()).tolist()
    for loaded in (0, 1):
        x = X.clone().requires_grad_()
        value, found, _ = counted(program, x)
        value.backward()
        assert x.grad is not None and found == loaded
        torch.testing.assert_close(x.grad.tolist(), expected)


def test_constants_in_inference_mode() -> None:
    """They are tensors of that mode again, and those of other graphs are not."""
    program = made("def f(x): return torch.tensor([1., 2, 3]) + x.sort().values, torch.tensor([4., 5])")
    for mode in (True, False):
        for loaded in (0, 1):
            with torch.inference_mode(mode):
                value, found, _ = counted(program, X)
                expected = program(X)
            assert found == loaded
            for got, known in zip(value, expected):
                assert torch.equal(got, known) and got.is_inference() is known.is_inference() is mode


LBFGS = """
def f(x):
    weight = torch.nn.Parameter(x.clone())
    optimizer = torch.optim.LBFGS([weight], max_iter=3)
    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (weight * weight + weight).sum()
        loss.backward()
        return loss
    for _ in range(2):
        optimizer.step(closure)
    return weight.detach()
"""


def test_steps_that_decorate_a_function_of_the_program() -> None:
    """The decorator hands on the annotations of the closure of this process."""
    expected = made(LBFGS)(X)
    results = [counted(made(LBFGS), X) for _ in range(2)]
    assert results[0][1] == 0 and results[1][1] > 0 and results[1][2] == 0
    assert not counters["not_stored"]
    for value, _, _ in results:
        torch.testing.assert_close(value, expected)


def test_numbers_that_a_failing_graph_has_drawn() -> None:
    """Python draws them again: also for a graph of the store, the generator is where it was."""
    program = made(
        "def f(x): return torch.rand(2) + torch.distributions.Exponential(x, validate_args=True).sample()"
    )
    for loaded in (0, 1):
        capture.reset()
        with capture.enable():
            program(X[0, 1:])
            assert bool(counters["entries"]["loaded"]) is bool(loaded)
            torch.manual_seed(0)
            with pytest.raises(ValueError):
                program(-X[0, 1:])
        found = torch.rand(3)
        torch.manual_seed(0)
        torch.rand(2)
        assert torch.equal(found, torch.rand(3))


#: by name: the imports and globals of a program, and what it returns
CONSTANTS = {
    "number of NumPy": ("import numpy as np\nrate = np.float64(0.1)", "x * rate, rate"),
    "result of NumPy": (
        "import numpy as np",
        "x * 2, np.float32(0.1) + np.float64(0.2), np.int8(3), np.True_",
    ),
    "NaN of NumPy": ("import numpy as np\nnothing = np.float64('nan')", "x + 1, nothing"),
    "set of one text": ("names = {'a'}", "x * len([name for name in {*names} - {'b'}]), {*names}.pop()"),
    "other parameters": (
        "net = torch.nn.Linear(3, 3)\nother = {'weight': torch.ones(3, 3), 'bias': torch.ones(3)}",
        "torch.func.functional_call(net, other, (x,))",
    ),
    "first vmap": ("", "torch.vmap(lambda row: row * 2)(x)"),
}


@pytest.mark.parametrize("names, result", CONSTANTS.values(), ids=CONSTANTS)
def test_constants_of_another_process(names: str, result: str) -> None:
    text = f"import torch\n{names}\ndef f(x): return {result}"
    results = [counted(made(text), X) for _ in range(2)]
    assert not counters["not_stored"]
    assert results[0][1] == 0 and results[1][1] > 0 and results[1][2] == 0
    assert repr(results[0][0]) == repr(results[1][0]) == repr(made(text)(X))


NAMED = """
import collections
Step = collections.namedtuple("Step", "x reward", defaults={defaults})
class Memory:
    def __init__(self): self.steps = []
    def push(self, *args): self.steps.append(Step(*args))
def f(x):
    memory = Memory()
    memory.push(x + 1)
    return memory.steps[0].x * memory.steps[0].reward
"""


def test_named_tuples_are_made_in_stored_frames() -> None:
    """Their `__new__` has globals of its own, in a module that nobody can import."""
    for defaults, loaded in ((3, 0), (3, 1), (4, 0), (4, 1)):
        value, found, captured = counted(made(NAMED.format(defaults=f"({defaults},)")), X)
        assert torch.equal(value, (X + 1) * defaults)
        assert (found, captured) == (loaded, 1 - loaded)


DERIVED = """
import collections
Step_ = collections.namedtuple("Step_", "x reward{more}")
class Step(Step_):
    def __new__(cls, x): return super().__new__(cls, x, {values})
def f(x):
    step = Step(x + 1)
    return step.x * step[-1], len(step)
"""


def test_classes_above_named_tuples_are_made_in_stored_frames() -> None:
    """As `PackedSequence` is: the globals are those of the `__new__` of its base."""
    for more, values, reward in (("", "3", 3), ("", "3", 3), (" more", "3, 4", 4), (" more", "3, 4", 4)):
        (value, length), found, captured = counted(made(DERIVED.format(more=more, values=values)), X)
        assert torch.equal(value, (X + 1) * reward) and length == 2 + bool(more)
        assert found + captured == 1
    assert (found, captured) == (1, 0)


PACKED = """
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
torch.manual_seed(0)
layer = torch.nn.LSTM(3, 4, batch_first=True)
def f(x):
    packed = pack_padded_sequence(x[None].expand(2, -1, -1), torch.tensor([2, 1]), batch_first=True)
    return pad_packed_sequence(layer(packed)[0], batch_first=True)[0]
"""


def test_recurrent_layers_over_packed_data_are_stored() -> None:
    x = torch.rand(2, 3)
    with torch.no_grad():
        results = [counted(made(PACKED), x) for _ in range(2)]
        expected = made(PACKED)(x)
    assert not counters["not_stored"]
    assert results[1][1] > 0 and results[1][2] == 0
    for value, _, _ in results:
        torch.testing.assert_close(value, expected)


def test_another_body_is_another_graph() -> None:
    """What the store has under the same name and lines must not answer for it."""
    for body, expected in (("row + 1", X + 1), ("row + 2", X + 2)):
        value, found, _ = counted(made(f"def f(x): return torch.vmap(lambda row: {body})(x)"), X)
        assert found == 0 and torch.equal(value, expected)


def test_a_body_with_a_function_of_the_program_is_not_stored() -> None:
    """torch calls the function that makes the contexts, and only this process has it."""
    text = f"""
{BODY_IMPORTS}
import contextlib
def contexts(): return contextlib.nullcontext(), contextlib.nullcontext()
def f(x): return checkpoint(torch.neg, x, use_reentrant=False, context_fn=contexts)
"""
    for _ in range(2):
        value, found, captured = counted(made(text), X)
        assert (found, captured) == (0, 1) and torch.equal(value, X.neg())


def test_calls_in_other_functions_have_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A print, and a warning with the line of the function that is warned of."""
    text = """
import warnings
def inner(x):
    print("inner", end=" ")
    warnings.warn("careful", stacklevel=1)
    return x * 2
def f(x): return inner(x) + 1
"""
    results, lines = [], []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            results.append(counted(made(text), X))
        lines.append([(warning.filename, warning.lineno) for warning in found])
    assert [result[1:] for result in results] == [(0, 1), (1, 0)]
    assert lines == [[("/program.py", 5)]] * 2
    assert capsys.readouterr().out == "inner " * 2


def shown(message: Any) -> None:
    """As `warnings` shows a warning; under pytest it is a method of a list."""


@pytest.mark.parametrize(("text", "loaded"), [("some text", 1), ("other text", 0)])
def test_filters_of_warnings_with_patterns(text: str, loaded: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "_showwarnmsg_impl", shown)
    program = """
import warnings
def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x * 2
"""
    for filtered in ("some text", text):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", filtered)
            result = counted(made(program), X)
    assert result[1:] == (loaded, 1 - loaded), dict(counters["not_stored"])


@pytest.mark.parametrize(("second", "graphs"), [("/first.py", 1), ("/second.py", 2)])
def test_sizes_that_differ_between_programs_do_not_change(
    second: str, graphs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a second run of one program they do: the graph is compiled for all sizes."""
    for program, sizes in (("/first.py", [3]), (second, [4, 5])):
        monkeypatch.setattr(sys.modules["__main__"], "__file__", program, raising=False)
        function = made(GRAPH)
        capture.reset()
        for size in sizes:
            with capture.enable():
                function(torch.ones(size))
    assert counters["graphs"]["compiled"] == graphs


def test_objects_that_torch_makes_anew_or_hides() -> None:
    """A lazy property read from its class; the class of a module that stands in the place of another one."""
    for text in (
        "d = torch.distributions\ndef f(x): return d.Categorical(logits=x).entropy()",
        "import torch.nn as nn\nm = nn.LSTM(3, 4)\ndef f(x): return m(x)[0].detach() * 0",
        "import torch.nn as nn\nm = nn.GRUCell(3, 4)\ndef f(x): return m(x).detach() * 0",
    ):
        results = [counted(made(text), X) for _ in range(2)]
        assert results[1][1:] == (1, 0), text
        assert torch.equal(results[0][0], results[1][0])


@pytest.mark.parametrize("trains", [False, True])
def test_graphs_for_all_sizes(trains: bool) -> None:
    """The entry serves sizes that the first process has not seen; the second one translates none of them."""
    text = "W = torch.ones(3, 2, requires_grad={})\ndef f(x): return (x @ W).tanh() * x.shape[0]"
    for sizes in ((4, 5, 9), (6, 17, 4)):
        f = made(text.format(trains))
        capture.reset()
        for size in sizes:
            x = torch.randn(size, 3)
            with capture.enable(dynamic=True):
                value = f(x)
            torch.testing.assert_close(value, f(x))
            assert value.requires_grad == trains
    assert counters["frames"]["captured"] == 0
    assert counters["entries"]["loaded"] == 1


def test_a_graph_without_a_form_for_all_sizes() -> None:
    text = "def f(x, n): return torch.copysign(x, max(0.1, 0.9 ** n)) * n"

    def runs() -> list[Any]:
        function = made(text)
        return [function(X - 3, n) for n in (3, 5, 4, 9)]

    results = [counted(runs) for _ in range(2)]
    assert [captured for _, _, captured in results] == [2, 0]
    assert all(map(torch.equal, results[0][0], results[1][0]))


def test_a_graph_for_each_value_of_a_float(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that the first process has not seen are compiled; others come from the store."""
    text = "def f(x, s): return torch.copysign(x, s) * 2 + s"
    compiled: list[int] = []
    anew = vars(sys.modules["codegen.stored.compile_graph"])["compile_anew"]
    monkeypatch.setattr(
        "codegen.stored.compile_graph.compile_anew", lambda *args: (compiled.append(1), anew(*args))[1]
    )
    for slopes, expected in (((0.1, 0.2, 0.3, -0.0), 4), ((0.2, 0.3, 0.0, -0.0), 1)):
        f = made(text)
        capture.reset()
        compiled.clear()
        for slope in slopes:
            with capture.enable():
                value = f(X - 2, slope)
            torch.testing.assert_close(value, f(X - 2, slope), rtol=0, atol=0)
        assert len(compiled) == expected
    assert (counters["entries"]["loaded"], counters["frames"]["captured"]) == (1, 0)


def test_an_edited_lazy_property_is_translated() -> None:
    text = (
        "from torch.distributions.utils import lazy_property\n"
        "class A:\n  @lazy_property\n  def k(self): return {}\n"
        "def f(x): return x * (2 if isinstance(A.k, lazy_property) else 3) * A().k"
    )
    counted(made(text.format(5)), X)
    assert torch.equal(counted(made(text.format(5)), X)[0], X * 10)
    value, found, _ = counted(made(text.format(7)), X)
    assert torch.equal(value, X * 14)
    assert found == 0


def test_counts_are_those_of_the_program() -> None:
    def counts() -> Any:
        counted(made(BREAK), X, [])
        groups = {name: dict(counters[name]) for name in ("graphs", "graph_breaks", "recompiles")}
        return groups["graphs"].pop("loaded", 0), groups

    (none, first), (loaded, second) = counts(), counts()
    assert first == second
    assert (none, loaded) == (0, 1)


def test_an_error_behind_a_write_names_the_lines_of_the_program() -> None:
    """The places of the nodes are read where the graph fails: Python can't run the frame again."""
    text = "def g(x, i):\n  return x[i]\ndef f(x, i):\n  x.add_(1)\n  y = x * 2\n  return g(y, i)"
    inside, outside = torch.tensor([1]), torch.tensor([7])
    for found in (0, 1):
        f, x = made(text), X.clone()
        assert counted(f, x, inside)[1] == found
        with capture.enable(), pytest.raises(IndexError) as caught:
            f(x, outside)
        lines = [(frame.name, frame.lineno) for frame in traceback.extract_tb(caught.tb)]
        assert lines[-2:] == [("f", 6), ("g", 2)]
        assert torch.equal(x, X + 2)
    assert counters["frames"]["captured"] == 0


def test_who_watches_gets_captures(caplog: pytest.LogCaptureFixture) -> None:
    counted(made(GRAPH), X)
    with caplog.at_level("DEBUG", "capture.graph"):
        assert counted(made(GRAPH), X)[1:] == (0, 1)


AUTOGRAD_FUNCTIONS = """
from torch.autograd import Function

class Rounded(Function):
    @staticmethod
    def forward(ctx, x, scale, limit):
        ctx.save_for_backward(x.abs() < limit)
        return torch.round(x / scale) * scale

    @staticmethod
    def backward(ctx, grad):
        (mask,) = ctx.saved_tensors
        return grad * mask, None, None

class Both(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, grad, other):
        x, y = ctx.saved_tensors
        return grad * y + other * %s, grad * x + other

def f(x, w):
    a, b = Both.apply(x, w)
    return (Rounded.apply(a, 0.1, 2.0) * b).sum()
"""
ONCE = """
from torch.autograd.function import Function, once_differentiable

class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos()

def f(x, w):
    return (Sine.apply(x) * w).sum()
"""


def gradients_of(function: Any) -> list[torch.Tensor]:
    """Those of the first and the second order."""
    x, w = X.clone().requires_grad_(), (X * 3).requires_grad_()
    first = torch.autograd.grad(function(x, w), (x, w), create_graph=True)
    return [*first, *torch.autograd.grad(first[0].pow(2).sum() + first[1].pow(2).sum(), (x, w))]


def test_autograd_functions_of_the_program() -> None:
    """Their operations are stored, not they: another backward is another graph."""
    for factor, loaded in (("1", 0), ("1", 1), ("2", 0)):
        function = made(AUTOGRAD_FUNCTIONS % factor)
        expected = gradients_of(function)
        capture.reset()
        torch.testing.assert_close(gradients_of(capture.compile(function)), expected)
        assert counters["entries"]["loaded"] == loaded
        assert counters["entries"]["not stored"] == 0


def test_a_backward_that_is_differentiated_once() -> None:
    for loaded in range(2):
        capture.reset()
        x, w, function = X.clone().requires_grad_(), (X * 3).requires_grad_(), made(ONCE)
        captured = capture.compile(function)
        found, expected = (torch.autograd.grad(f(x, w), (x, w)) for f in (captured, function))
        torch.testing.assert_close(found, expected)
        for f in (captured, function):
            (first,) = torch.autograd.grad(f(x, w), x, create_graph=True)
            with pytest.raises(RuntimeError, match="differentiate"):
                torch.autograd.grad(first.sum(), w)
        assert counters["entries"]["loaded"] == loaded


NUMPY = """
import numpy as np
def f(x): return (x * np.log(25.0) + np.linalg.norm((3.0, 4.0))) * np.sqrt(np.prod(x.shape))
"""


def test_functions_of_numpy() -> None:
    results = [counted(made(NUMPY), X) for _ in range(2)]
    assert results[0][1] == 0
    assert results[1][1:] == (1, 0)
    torch.testing.assert_close(results[1][0], made(NUMPY)(X))


def test_graphs_with_operations_of_numpy() -> None:
    """Among them a break at a draw of NumPy's, whose function is a method of another class of functions."""
    text = (
        "import numpy as np\n"
        "def f(x, a):\n"
        "  y = torch.from_numpy(np.linalg.det(a).astype(np.float32) * a.T + np.sin(a).real) * x\n"
        "  return y + np.random.randint(1, 2)"
    )
    array = numpy.array([[2.0, 1.0], [1.0, 3.0]])
    results = [counted(made(text), torch.ones(2, 2), array) for _ in range(2)]
    assert [loaded > 1 for _, loaded, _ in results] == [False, True]
    assert [captured for _, _, captured in results] == [2, 0]
    assert torch.equal(results[0][0], results[1][0])


def test_a_replaced_function_of_numpy_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    counted(made(NUMPY), X)
    monkeypatch.setattr(numpy, "log", numpy.log2)
    result, loaded, _ = counted(made(NUMPY), X)
    assert loaded == 0
    torch.testing.assert_close(result, made(NUMPY)(X))


def test_another_callee_is_translated() -> None:
    text = "def g(x): return x + {}\ndef f(x): return g(x) * 2"
    counted(made(text.format(1)), X)
    value, found, captured = counted(made(text.format(2)), X)
    assert torch.equal(value, (X + 2) * 2)
    assert (found, captured) == (0, 1)
    assert counted(made(text.format(1)), X)[1] == 1  # both are kept


def test_another_class_is_translated() -> None:
    text = (
        "class A:\n  scale = {}\n  def times(self, x): return x * self.scale\ndef f(x): return A().times(x)"
    )
    counted(made(text.format(2)), X)
    value, found, _ = counted(made(text.format(3)), X)
    assert torch.equal(value, X * 3)
    assert found == 0


def test_another_class_that_no_module_has() -> None:
    """`type(items)` is all that leads to it: the class is told by its name."""
    text = "def f(x, items): return x + 1, hasattr(items, '__next__'), hasattr(items, '__len__')"
    numbers = {1: 2}
    for items in (numbers.keys(), iter(numbers.items()), iter([1]), numbers.items()):
        value, found, _ = counted(made(text), X, items)
        assert value[1:] == (hasattr(items, "__next__"), hasattr(items, "__len__"))
        assert found == 0
    assert counted(made(text), X, numbers.keys())[1] == 1


def test_one_object_that_was_two() -> None:
    """What `is` said in the first process must hold in the second one."""
    text = (
        "def make():\n  def g(x): return x + 1\n  return g\n"
        "def f(x, a, b): return x * (2 if a is b else 3) + a(x) + b(x)"
    )
    for same in (True, False, True, False):
        f = made(text)
        make = f.__globals__["make"]
        a = make()
        b = a if same else make()
        value, _, _ = counted(f, X, a, b)
        assert torch.equal(value, X * (2 if same else 3) + 2 * (X + 1))


def test_a_replaced_function_of_torch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(x): return torch.nn.functional.softplus(x) + 1"
    counted(made(text), X)
    monkeypatch.setattr(torch.nn.functional, "softplus", lambda x: x * 5)
    value, _, _ = counted(made(text), X)
    assert torch.equal(value, X * 5 + 1)


DRAWS = (
    "import random\n"
    "def f(x):\n"
    "    return x * random.random() + random.uniform(2, 3) - random.randrange(3) * random.randint(1, 4)"
)


def drawn(text: str = DRAWS, seed: int = 3) -> tuple[Any, int, int]:
    random.seed(seed)
    found = counted(made(text), X)
    return (found[0], random.getstate()), *found[1:]


def test_draws_of_the_random_module() -> None:
    first, again = drawn(), drawn()
    assert again[1] > 0 and again[2] == 0
    assert torch.equal(first[0][0], again[0][0]) and first[0][1] == again[0][1]


@pytest.mark.parametrize("name", ["random", "uniform"])
def test_a_method_of_another_generator_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module holds a method of that name, and of a generator that it does not hold."""
    state = drawn()[0][1]
    other = random.Random(8)
    monkeypatch.setattr(random, name, getattr(other, name))
    value, _, captured = drawn()
    assert captured > 0 and value[1] != state
    random.seed(3)
    monkeypatch.setattr(random, name, getattr(random.Random(8), name))
    assert torch.equal(value[0], vars(sys.modules["program"])["f"](X))


def test_a_method_whose_code_has_changed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn()
    monkeypatch.setattr(random.Random.uniform, "__code__", (lambda self, a, b: a).__code__)
    value, _, captured = drawn()
    random.seed(3)
    assert captured > 0 and torch.equal(value[0], vars(sys.modules["program"])["f"](X))


def test_a_constant_result_is_not_stored() -> None:
    value = [1]
    number = capture.assume_constant_result(lambda: value[0])
    for expected in (1, 2):
        value[0] = expected
        result, found, _ = counted(made("def f(x): return x * number()", number=number), X)
        assert torch.equal(result, X * expected)
        assert found == 0


CONSTANT = """
import functools, capture
{cache}
@capture.assume_constant_result
def number(name): return LIMIT[name]
def f(x): return x * number("n")
"""


@pytest.mark.parametrize("cache", ["", "@functools.lru_cache"])
def test_a_constant_result_is_asked_once_in_each_process(cache: str) -> None:
    for limit, loaded, captured in ((3, 0, 1), (3, 1, 0), (5, 0, 1)):
        found = counted(made(CONSTANT.format(cache=cache), LIMIT={"n": limit}), X)
        assert torch.equal(found[0], X * limit)
        assert (found[1], found[2]) == (loaded, captured)
    with pytest.raises(KeyError, match="'n'"), config.patch(raise_on_error=False):
        counted(made(CONSTANT.format(cache=cache), LIMIT={}), X)


WRAPPED = """
import functools, warnings
@functools.lru_cache(None)
def warn_once(text): {action}
def times(function):
    @functools.wraps(function)
    def wrapper(x): return function(x) * 3
    return wrapper
@times
@times
def g(x): return x + {number}
def f(x):
    warn_once("text")
    return g(x)
"""


def test_wrapped_functions_are_found_behind_what_wraps_them() -> None:
    """Their names lead to the functions around them."""
    first, second = "warnings.warn(text)", "warnings.warn(text + '!')"
    for number, action, is_stored in (
        (1, first, False), (1, first, True), (2, first, False), (2, second, False), (2, second, True)
    ):  # fmt: skip
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            result, _, captured = counted(made(WRAPPED.format(number=number, action=action)), X)
        assert torch.equal(result, (X + number) * 9)
        assert [str(warning.message) for warning in warned] == ["text!" if action is second else "text"]
        assert (captured == 0) == is_stored


MOVED = """
import warnings
def inner(x, i):
    warnings.warn("careful", stacklevel=1)
    return x[i]
def f(x, i):
    x.add_(1)
    return inner(x * 2, i)
"""


@pytest.mark.parametrize("is_known", [True, False])
def test_a_module_is_found_in_another_file(is_known: bool) -> None:
    """A library writes modules into files whose names are other ones in each process."""
    inside, outside = torch.tensor([1]), torch.tensor([7])
    for folder in ("a", "b"):
        module = types.ModuleType("moved")
        sys.modules["moved"] = module
        file = f"/{folder}/moved.py"
        vars(module).update({"__file__": file} if is_known else {})
        exec(compile(MOVED, file, "exec"), vars(module))
        f, x = vars(module)["f"], X.clone()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            _, found, captured = counted(f, x, inside)
        assert [warning.filename for warning in warned] == [file]
        with capture.enable(), pytest.raises(IndexError) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(x, outside)
        assert [frame.filename for frame in traceback.extract_tb(caught.tb)][-2:] == [file] * 2
    assert (found, captured) == ((1, 0) if is_known else (0, 1))


def test_an_entry_that_names_a_file_that_has_moved_is_translated() -> None:
    """A warning of torch's function, with the line of the program."""
    text = "import torch.nn.functional as F\ndef f(x): return F.mse_loss(x, x[:1]) * 2"
    for file, is_found in (("/a/moved.py", False), ("/a/moved.py", True), ("/b/moved.py", False)):
        module = types.ModuleType("moved")
        vars(module).update({"__file__": file})
        sys.modules["moved"] = module
        exec(compile(text, file, "exec"), vars(module))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            _, _, translated = counted(vars(module)["f"], X)
        assert (translated == 0) == is_found
        assert file in [warning.filename for warning in warned]


def test_what_tells_of_a_file_is_not_stored() -> None:
    text = "def g(): pass\ndef f(x): return x * len(g.__code__.co_filename)"
    for file in ("/short.py", "/longer.py"):
        module = types.ModuleType("moved")
        vars(module).update({"__file__": file})
        sys.modules["moved"] = module
        exec(compile(text, file, "exec"), vars(module))
        assert torch.equal(counted(vars(module)["f"], X)[0], X * len(file))


UNION = "def f(x, n): return x * 2 if isinstance(n, int | str) else x"


def test_unions_of_classes_are_found_again() -> None:
    for _ in range(2):
        found = counted(made(UNION), X, 3)
        assert torch.equal(found[0], X * 2)
    assert found[1:] == (1, 0)
    assert torch.equal(counted(made(UNION), X, 2.5)[0], X)


FORMS = """
import types, typing
class Own: pass
Number, Names, Both = int | None, list[str], dict[str, Own] | float
def f(x, n):
    if isinstance(n, Number) and typing.get_origin(Names) is list:
        x = x * len(typing.get_args(Both))
    return x + len(typing.get_args(Names))
"""


def test_unions_and_aliases_at_a_place_are_found_again() -> None:
    for _ in range(2):
        found = counted(made(FORMS), X, 3)
        assert torch.equal(found[0], X * 2 + 1)
    assert found[1:] == (1, 0)
    changed = made(FORMS.replace("int | None", "float | None").replace("list[str]", "list[str, int]"))
    assert torch.equal(counted(changed, X, 3)[0], X + 2)


SLOTS = """
class Version:
    __slots__ = ("release", "other")
    def __init__(self, release):
        self.release = self.other = release
    def __eq__(self, other):
        return self.release == other.release
    __hash__ = None
VERSION = Version(3)
def f(x): return x * 2 if Version(3) == VERSION else x
"""


def test_slots_of_classes_are_found_again() -> None:
    for _ in range(2):
        found = counted(made(SLOTS), X)
        assert torch.equal(found[0], X * 2)
    assert found[1:] == (1, 0)
    swapped = SLOTS + "Version.release, Version.other = Version.other, Version.release\nVERSION.other = 4\n"
    assert torch.equal(counted(made(swapped), X)[0], vars(sys.modules["program"])["f"](X))


def test_explain_and_the_setting_leave_the_store_alone() -> None:
    f = made(GRAPH)
    counted(f, X)
    assert capture.explain(f)(X).graph_count == 1
    with config.patch(store_entries=False):
        assert counted(f, X)[1:] == (0, 1)


# --- damage -----------------------------------------------------------------------------------------------


def shelf_for(function: Any) -> Shelf:
    shelf = shelf_of(function.__code__, CaptureSettings(None, "llvm"))
    assert shelf is not None
    return shelf


def damaged(content: dict[str, Any]) -> Iterator[Any]:
    """Every value in the content, replaced by others."""

    def places(value: Any, way: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        yield way
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, item in items:
            yield from places(item, (*way, key))

    for *way, last in (place for place in places(content, ()) if place):
        for other in (None, -1, 10**6, "torch", [], {}, ["object", 0], [["value"]]):
            copy = json.loads(json.dumps(content))
            inner = copy
            for key in way:
                inner = inner[key]
            inner[last] = other
            yield copy


def test_damaged_entries_are_misses(caplog: pytest.LogCaptureFixture) -> None:
    f = made(GRAPH)
    counted(f, X)
    shelf = shelf_for(f)
    data = json.dumps(shelf.content).encode()
    for garbled in (b"", b"{", data[: len(data) // 2], b"[1]", b'{"entries": 3}'):
        shelf.store.put(shelf.parts, garbled, KIND)
        caplog.clear()
        value, found, _ = counted(f, X)
        assert torch.equal(value, torch.relu(X) * 2)
        assert found == 0
        assert len([r for r in caplog.records if r.levelname == "WARNING"]) >= 1


def test_planted_entries_raise_nothing() -> None:
    f = made("def f(x): return x.relu() * 2")
    counted(f, X)
    shelf = shelf_for(f)
    entry = shelf.content["entries"][0]
    kept = ("objects", "sources", "guards", "slots", "inputs", "result", "conversions", "facts", "kind")
    kept = (*kept, "program", "states")
    for number, copy in enumerate(damaged({name: entry[name] for name in kept})):
        if number % 7:
            continue
        planted = {"entries": [{**entry, **copy}], "seen": {}}
        shelf.store.put(shelf.parts, json.dumps(planted).encode(), KIND)
        value, _, _ = counted(f, X)
        assert value.shape == X.shape


def test_damaged_guards_have_no_text(caplog: pytest.LogCaptureFixture) -> None:
    """The program has checked them. They are read when somebody asks why one has failed."""
    f = made("def f(x): return x.relu() * 2")
    counted(f, X)
    shelf = shelf_for(f)
    for number, guards in enumerate(("", "[", "3", "[3]", '[["none", [], null]]')):
        capture.reset()
        changed = [{**entry, "guards": guards} for entry in shelf.content["entries"]]
        shelf.store.put(shelf.parts, json.dumps({"entries": changed, "seen": {}}).encode(), KIND)
        _, found, _ = counted(f, X)
        with capture.enable():
            assert f(X.repeat(2 + number, 1)).shape == (4 + 2 * number, 3)
        assert found == 1
        assert "can't be read" in caplog.text
        caplog.clear()


# --- texts ------------------------------------------------------------------------------------------------


class Scaled:
    kind = "relu"


def test_a_stored_guard_that_fails_has_its_text() -> None:
    f = made("def f(x, s): return getattr(torch, s.kind)(x) * 2")
    texts = []
    for stored in (0, 1):
        scaled = Scaled()
        assert counted(f, X, scaled)[1] == stored
        scaled.kind = "sin"
        with config.patch(error_on_recompile=True), pytest.raises(RecompileError) as error, capture.enable():
            f(X, scaled)
        texts.append(str(error.value).partition(", asked at")[0])
    assert texts[0] == texts[1]
    assert "'kind' not in s.__dict__" in texts[0]


def test_an_entry_goes_with_the_objects_of_its_guards() -> None:
    text = "class C: pass\ndef f(x, s): return torch.relu(x) * (2 if type(s) is C else 3)"
    f = made(text)
    counted(f, X, vars(sys.modules["program"])["C"]())
    f = made(text)
    module = sys.modules["program"]
    value, found, _ = counted(f, X, module.C())
    assert (found, len(entries(f.__code__))) == (1, 1)
    module.C = None
    gc.collect()
    assert entries(f.__code__) == []


# --- processes --------------------------------------------------------------------------------------------


CASES_IN_A_PROCESS = ("tests.capture.stored.second_process", "97", "0")


def started(folder: Path, seed: int, *job: str) -> subprocess.Popen[str]:
    """A process on the folder: cases of `second_process` without a `job`."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "CAPTURE_CACHE_DIR": str(folder),
        "PYTHONHASHSEED": str(seed),
    }
    command = [sys.executable, "-W", "ignore", "-m", *(job or CASES_IN_A_PROCESS)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def test_a_second_process_translates_nothing(store: Path) -> None:
    """Another hash seed too: no order of a set, no hash and no address comes from the store."""
    first = answer(started(store, 1))
    second = answer(started(store, 2))
    assert first["wrong"] == second["wrong"] == []
    assert first["loaded"] == 0
    assert second["loaded"] > 5 * second["stored"]


def test_random_worlds_that_a_second_process_changes_in_another_order(store: Path) -> None:
    job = ("tests.capture.stored.random_process", "6")
    first = answer(started(store, 1, *job, "as they are"))
    second = answer(started(store, 2, *job, "reversed"))
    assert first["wrong"] == second["wrong"] == []
    assert second["loaded"] > 6


#: a forward, a training step and a graph for all sizes; the modules that they need
IMPORTING = """
import json, sys
import torch, capture
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))

@capture.compile
def forward(x):
    with torch.no_grad():
        return model(x) * 2

@capture.compile(dynamic=True)
def step(x):
    return model(x).pow(2).mean()

@capture.compile
def draw(x):  # its graph calls a function of the tracer
    return torch.nn.functional.dropout(x, 0.5) * 2

LARGE = ("capture.interpret.translator", "capture.variables.core.base", "llvmlite.binding", "sympy")
before = set(sys.modules)
draw(torch.ones(4, 8))
for size in (4, 5):
    forward(torch.ones(4, 8))
    step(torch.ones(size, 8)).backward()
counted = capture.counters
new = sorted(set(sys.modules) - before)
print(json.dumps({"loaded": counted["entries"], "captured": counted["frames"], "new": new,
                  "there": [name for name in LARGE if name in sys.modules]}))
"""


def test_a_second_process_imports_neither_interpreter_nor_compiler(store: Path) -> None:
    file = store / "program.py"
    file.write_text(IMPORTING)
    settings = {"CAPTURE_CACHE_DIR": str(store / "store"), "CAPTURE_STORE_ENTRIES": "1"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    command = [sys.executable, "-W", "ignore", str(file)]
    runs = [subprocess.run(command, env=environment, capture_output=True, check=True) for _ in range(2)]
    first, second = (json.loads(run.stdout.splitlines()[-1]) for run in runs)
    assert first["there"] == [
        "capture.interpret.translator",
        "capture.variables.core.base",
        "llvmlite.binding",
        "sympy",
    ]
    assert second["loaded"].get("missing", 0) == 0 and not second["captured"]
    assert second["there"] == []
    new = [name for name in second["new"] if name.partition(".")[0] in ("capture", "codegen", "torch")]
    assert new == ["codegen.trace.bernoulli", "codegen.trace.draws"]
    assert runs[1].stderr == b""


def test_several_processes_at_once(store: Path) -> None:
    processes = [started(store, seed) for seed in (1, 2, 3)]
    assert [answer(process)["wrong"] for process in processes] == [[], [], []]


def test_a_constant_of_a_class_that_a_guard_knows_by_identity() -> None:
    """It is found at its place, and it must have the same value and type."""
    text = (
        "import dataclasses\n@dataclasses.dataclass\nclass A: size: int = {}\ndef f(x): return x * A(3).size"
    )
    for size, found in ((1000, 0), (1000, 1), (1001, 0), (1000.0, 0), ("'s'", 0), ("'s'", 1)):
        result, loaded, _ = counted(made(text.format(size)), X)
        assert torch.equal(result, X * 3)
        assert loaded == found, size


MADE_ANEW = """
class Base:
    def f(self, x):
        return x * self.scale + 1

f = Base.f

def fresh():
    return type("Own", (Base,), {"scale": 2.0})()
"""


@pytest.mark.parametrize("frames, taken", [(1, range(1, learned.OFTEN + 2)), (40, [8])])
def test_the_same_entry_is_not_taken_again_and_again_for_a_few_frames(frames: int, taken: Any) -> None:
    """Each step makes its class anew. In a block where captures have to pay, its frames wait."""

    def run(times: int) -> None:
        with config.patch(when="hot"), capture.enable():
            for _ in range(times):
                own = fresh()
                for _ in range(frames):
                    assert torch.equal(own.f(X), X * 2 + 1)

    function = made(MADE_ANEW)
    fresh = capture.disable(function.__globals__["fresh"])
    with pytest.MonkeyPatch.context() as patch:
        for name in ("UNIT_NS", "LEAST_NS", "FIRST_NS"):
            patch.setattr(patience, name, 0)
        run(3 if frames == 1 else 1)
    assert counters["frames"]["captured"] >= 1
    capture.reset()
    function = made(MADE_ANEW)
    fresh = capture.disable(function.__globals__["fresh"])
    run(8)
    assert counters["entries"]["loaded"] in taken
    assert counters["frames"]["captured"] == 0


def test_stored_entries_that_never_live_long_are_given_up() -> None:
    """Each entry dies with the class that the step has made; the store has one for the next class, too."""
    function = made(MADE_ANEW)
    fresh = capture.disable(function.__globals__["fresh"])
    with config.patch(accumulated_recompile_limit=3), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(8):
            own = fresh()
            with capture.enable():
                assert torch.equal(own.f(X), X * 2 + 1)
            del own
            gc.collect()
    assert counters["entries"]["loaded"] == 2
    assert counters["frames"]["captured"] == 1
    assert ["3 times, config.accumulated" in str(warning.message) for warning in warned] == [True]
