"""Functions marked through `torch.compiler` are treated as torch.compile would treat them.

Each mark imports torch.compile: here the test does this, not capture.
"""

from __future__ import annotations

import operator

import _capture
import pytest
import torch

import capture
from capture.frame import left_to_python
from capture.frame.convert import Converter
from capture.policy import torch_compile_marks
from tests.capture.policy.test_frame_filter import Counting

x = torch.arange(12.0).reshape(3, 4)


def inner(x):
    return x.sin() + 1


def outer(x):
    return inner(x * 3) * 2


def graphs_of(disabled):
    backend = Counting()

    def f(x):
        return disabled(x + 1) + 1

    compiled = capture.compile(f, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), f(x))
    return backend.graphs


def test_what_is_disabled_is_left_to_python_with_all_that_it_calls():
    assert graphs_of(torch.compiler.disable(outer)) == 2


def test_a_reason_changes_nothing():
    assert graphs_of(torch.compiler.disable(outer, reason="it prints")) == 2


def test_with_recursive_false_the_functions_that_it_calls_are_captured():
    def own(x):
        return inner(x * 3) * 2

    assert graphs_of(torch.compiler.disable(own, recursive=False)) == 3


def test_a_disabled_method_and_a_disabled_module():
    class Module(torch.nn.Module):
        @torch.compiler.disable
        def forward(self, x):
            return inner(x)

    assert graphs_of(Module()) == 2
    assert graphs_of(torch.compiler.disable(torch.nn.Linear(4, 4))) == 2


def test_the_function_itself_is_captured_where_it_is_called_directly():
    backend = Counting()
    disabled = torch.compiler.disable(inner)
    with capture.enable(backend=backend):
        disabled(x)
        assert backend.graphs == 0
        inner(x)
    assert backend.graphs == 1


def test_capture_goes_on_behind_a_disabled_function_that_raises():
    @torch.compiler.disable
    def fails(x):
        raise ValueError(float(x.sum()))

    backend = Counting()
    with capture.enable(backend=backend):
        with pytest.raises(ValueError, match="66"):
            fails(x)
        outer(x)
    assert backend.graphs == 1


def test_a_wrapper_with_copied_marks_is_captured():
    import functools

    @functools.wraps(torch.compiler.disable(inner))
    def own(x):
        return outer(x)

    backend = Counting()
    torch.testing.assert_close(capture.compile(own, backend=backend)(x), outer(x))
    assert backend.graphs == 1


def nodes_of(f):
    found = []

    def backend(gm, inputs):
        found.extend(n for n in gm.graph.nodes if n.op.startswith("call_"))
        return gm.forward

    torch.testing.assert_close(capture.compile(f, backend=backend, fullgraph=True)(x), f(x))
    return found


def test_allowed_in_graph():
    @torch.compiler.allow_in_graph
    def opaque(x):
        return x.sin() + 1

    nodes = nodes_of(lambda x: opaque(x) * 2)
    assert [n.target for n in nodes] == [opaque, operator.mul]


def test_constant_result():
    calls = []

    @torch.compiler.assume_constant_result
    def looked_up():
        calls.append(1)
        return float(len(open(__file__).read()) > 3)

    assert len(nodes_of(lambda x: x * looked_up())) == 1
    assert len(calls) == 2  # at capture, and by eager


def test_substitute():
    import _bisect

    @torch.compiler.substitute_in_graph(_bisect.bisect_left, skip_signature_check=True)
    def bisect_left(a, x, lo=0, hi=None, *, key=None):
        return sum([1 for item in a if item < x])

    assert len(nodes_of(lambda x: x * _bisect.bisect_left([1, 2, 3], 3))) == 1


def test_wrappers_share_their_code_but_no_marks():
    """A wrapper that torch itself disabled comes first; this says nothing about the wrappers of the
    program.
    """
    from torch.utils.checkpoint import checkpoint

    def f(x):
        return checkpoint(lambda y: print(y.shape) or y.sin(), x, use_reentrant=False)

    compiled = capture.compile(f, backend=Counting())
    torch.testing.assert_close(compiled(x), f(x))
    assert graphs_of(torch.compiler.disable(outer)) == 2


def test_the_callback_sees_each_wrapper_once(monkeypatch):
    capture.reset()
    seen = []
    converted = Converter.__call__
    monkeypatch.setattr(Converter, "__call__", lambda self, f: seen.append(f.function) or converted(self, f))
    disabled = [torch.compiler.disable(outer), torch.compiler.disable(inner, recursive=False)]
    of_torch = torch.optim.SGD([torch.nn.Parameter(x.clone())]).zero_grad  # torch disables it
    for settings in ({}, {"backend": "eager"}):
        with capture.enable(**settings):
            for _ in range(3):
                assert [f(x).tolist() for f in disabled] == [outer(x).tolist(), inner(x).tolist()]
                of_torch()
    wrappers = [f for f in seen if torch_compile_marks.is_wrapper(f)]
    assert wrappers.count(disabled[0]) == wrappers.count(disabled[1]) == 2  # once for each block
    assert len(wrappers) == 6


def test_wrappers_that_live_for_one_call(monkeypatch):
    capture.reset()
    monkeypatch.setattr(left_to_python, "MOST_WRAPPERS", 3)
    with capture.enable():
        for i in range(6):
            assert torch.compiler.disable(lambda x, i=i: x + i)(x).tolist() == (x + i).tolist()
    code = torch.compiler.disable(outer).__code__
    assert _capture.added_entries(code) == 3 and not _capture.entries(code)


def test_only_what_torch_compile_returns_for_others_is_a_wrapper():
    import torch._dynamo

    assert torch_compile_marks.is_wrapper(torch.compiler.disable(outer))
    assert not torch_compile_marks.is_wrapper(torch._dynamo.graph_break)
    assert not torch_compile_marks.is_wrapper(outer)
