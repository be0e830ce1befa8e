"""Which frames are captured: code without a file, named code, functions that read their own frame."""

from __future__ import annotations

import inspect
import sys

import _capture
import pytest
import torch
import torch.nn.functional as F
from torch import fx

import capture
from capture.interpret.root_translator import RootTranslator

x = torch.ones(3, 4)


class Counting:
    """A backend that notes the graphs it gets, and rewrites their code as backends may do."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, gm, example_inputs):
        self.graphs += 1
        gm.recompile()
        return gm.forward


@pytest.fixture
def backend():
    return Counting()


def made_at_run_time():
    namespace = {}
    exec(compile("def f(x):\n    return x * 2 + 1", "<made here>", "exec"), namespace)
    return namespace["f"]


def test_code_without_a_file_is_captured(backend):
    f = made_at_run_time()
    assert torch.equal(capture.compile(f, backend=backend)(x), x * 2 + 1)
    assert backend.graphs == 1


def test_graph_modules_are_captured_where_asked_for_alone(backend):
    module = fx.symbolic_trace(lambda x: (x + 1).relu())
    with capture.enable(backend=backend):
        module(x)
    assert backend.graphs == 0
    assert torch.equal(capture.compile(module, backend=backend)(x), x + 1)
    assert backend.graphs == 1


def test_functions_of_torch_are_captured_where_asked_for(backend):
    with capture.enable(backend=backend):
        F.softmax(x, -1)
    assert backend.graphs == 0
    assert torch.equal(capture.compile(F.softmax, backend=backend)(x, -1), F.softmax(x, -1))
    assert backend.graphs == 1


def test_asking_does_not_overrule_disable(backend):
    f = capture.disable(lambda x: x + 1, recursive=False)
    assert torch.equal(capture.compile(f, backend=backend)(x), x + 1)
    assert backend.graphs == 0


def test_the_method_eval_is_not_the_builtin(backend):
    module = torch.nn.Linear(4, 4)

    def f(x):
        module.eval()
        return module(x)

    capture.compile(f, backend=backend)(x)
    assert backend.graphs == 1
    assert not module.training


@pytest.mark.parametrize("read", [lambda x: eval("x") is x, lambda x: inspect.currentframe().f_code])
def test_functions_that_read_their_own_frame_are_left_alone(backend, read):
    assert capture.compile(read, backend=backend)(x) == read(x)
    assert backend.graphs == 0


def test_frame_whose_guards_never_fit_again_is_analysed_a_few_times():
    """The code after the break has nothing to capture, and its guards name objects that live for one call."""

    class Marker:
        pass

    def marked(x):
        markers = {Marker(), Marker()}
        y = x + 1
        capture.graph_break()
        return Marker() in markers, len(markers), y

    x = torch.ones(3)
    captured = capture.compile(marked)
    capture.counters.clear()
    for _ in range(20):
        found, count, y = captured(x)
        assert (found, count) == (False, 2) and torch.equal(y, x + 1)
    assert 1 <= capture.counters["frames"]["skipped"] <= capture.config.recompile_limit + 2


def test_a_state_that_translation_itself_moves_is_looked_at_again():
    """The first import of a module with abstract classes changes their registry's token; a backend may be the
    importer.
    """
    from abc import ABC
    from collections.abc import Sequence

    calls = []

    def backend(gm, inputs):
        if not calls:
            type("Registered", (ABC,), {}).register(dict)
        calls.append(gm)
        return gm.forward

    def f(x, items):
        return x + len(items) if isinstance(items, Sequence) else x

    class Items(list):
        pass

    with capture.config.patch(raise_on_error=True):
        assert torch.equal(capture.compile(f, backend=backend)(x, Items([1])), x + 1)
    assert len(calls) == 2


def test_what_a_frame_left_to_python_calls_is_captured(backend):
    """The frame writes to memory that it shares with another input, so Python runs it; the functions after
    the write are captured.
    """

    def work(y):
        return y * 3 + 1

    def main(part, whole):
        total = part.mul_(2).sum() + whole.sum()
        print(end="")
        return total, work(whole.detach().clone())

    def views():
        whole = torch.ones(4, requires_grad=True) * 1
        return whole[:2], whole

    captured = capture.compile(main, backend=backend)
    for _ in range(3):
        for got, want in zip(captured(*views()), main(*views()), strict=True):
            assert torch.equal(got, want)
    assert backend.graphs == 1  # of `work`
    assert [entry.hits for entry in _capture.entries(work.__code__)] == [2]
    assert [entry.unhooked for entry in _capture.entries(main.__code__)] == [False]


def test_a_frame_without_operations_takes_what_it_calls_along():
    """The frame's calls were interpreted as part of it; Python running the frame does not try them again."""

    def inner(n):
        return [n] * 3

    def outer(module, n):
        return inner(n), type(module)

    module, before = torch.nn.ReLU(), capture.counters["frames"]["skipped"]
    with capture.enable():
        found = outer(module, 2)
    assert found == ([2, 2, 2], torch.nn.ReLU)
    assert capture.counters["frames"]["skipped"] - before == 1


def test_a_frame_that_asks_for_its_variables_and_breaks_is_interpreted_once(monkeypatch):
    """Python runs it wherever it breaks: it is not interpreted again, which would end at the break."""
    begun = []
    run_to_break = RootTranslator.run_to_break

    def run(self, break_at):
        begun.append(self.code.co_name)
        return run_to_break(self, break_at)

    def asks(x):
        y = x.sin()
        capture.graph_break()
        return y, sorted(locals())

    monkeypatch.setattr(RootTranslator, "run_to_break", run)
    x = torch.ones(3)
    y, names = capture.compile(asks)(x)
    assert torch.equal(y, x.sin()) and names == ["x", "y"]
    assert begun == ["asks"]


def test_gradients_are_clipped_by_graphs():
    """`clip_grad_norm_` is called by the training loop itself, which is no frame to capture."""
    from torch.nn.utils import clip_grad_norm_, clip_grad_value_

    def clipped():
        parameters = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2))]
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 4.0)
        norm = clip_grad_norm_(iter(parameters), 1.0)
        clip_grad_value_(parameters, 0.25)
        return [norm, *(parameter.grad for parameter in parameters)]

    expected = clipped()
    capture.reset()
    with capture.enable():
        for result, wanted in zip(clipped(), expected):
            torch.testing.assert_close(result, wanted)
    assert capture.counters["graphs"]["compiled"] >= 1


MODULE = """
import torch

def shifted(x):
    return (x + 1).sin()

class Base:
    def __init_subclass__(cls):
        cls.shift = shifted(torch.zeros(2)).tolist()

class Derived(Base):
    pass
"""


@pytest.mark.parametrize("when", ["first", "hot"])
def test_nothing_below_an_import_is_captured(when, tmp_path, monkeypatch):
    (tmp_path / "imported_in_a_block.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "imported_in_a_block", raising=False)
    capture.counters.clear()
    with capture.config.patch(when=when), capture.enable():
        import imported_in_a_block
    assert not capture.counters["frames"] and not capture.counters["entries"]
    assert imported_in_a_block.Derived.shift == torch.ones(2).sin().tolist()
    x = torch.randn(3)
    with capture.config.patch(when="first"), capture.enable():
        found = imported_in_a_block.shifted(x)
    torch.testing.assert_close(found, (x + 1).sin())
    assert capture.counters["graphs"]["compiled"] == 1


@pytest.mark.parametrize(("package", "answer"), [("tensordict", False), ("another", True)])
def test_the_answer_of_eager_to_packages_that_check_less_under_a_compiler(package, answer) -> None:
    source = "def f(x):\n    return x + 1, torch.compiler.is_compiling()\n"
    namespace = {"torch": torch}
    exec(compile(source, f"/lib/site-packages/{package}/base.py", "exec"), namespace)
    assert capture.compile(namespace["f"])(torch.ones(3))[1] is answer


class Namespace(dict):
    """Says itself what a name is, each time anew."""

    def __getitem__(self, name):
        if name == "count":
            self[name] = dict.__getitem__(self, name) + 1
        return dict.__getitem__(self, name)

    def __missing__(self, name):
        return 10


def test_globals_that_a_class_of_the_program_keeps():
    def outer(x):
        return inner(x) + 1

    outcomes = []
    for compiled in (lambda function: function, capture.compile):
        namespace = Namespace(count=0, __builtins__=__builtins__)
        exec("def inner(x):\n    return x * count + missing", namespace)
        inner = namespace["inner"]
        with capture.config.patch(raise_on_error=True):
            for function in (inner, outer):
                outcomes.append([compiled(function)(torch.ones(2)).tolist() for _ in range(3)])
    assert outcomes[:2] == outcomes[2:]
