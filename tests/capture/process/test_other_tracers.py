"""While somebody else traces, records or compiles, captured programs run as Python: the other sees them as if
there was no capture.
"""

from __future__ import annotations

import re
import threading
import warnings

import _capture
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

import capture
from capture.process import other_tracers
from capture.process.other_tracers import why_followed
from capture.report.counters import counters

x = torch.linspace(-1, 1, 8).reshape(2, 4)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.scale = torch.nn.Parameter(torch.full((4,), 2.0))

    def scaled(self):
        return self.scale * 2

    def forward(self, a):
        return torch.relu(self.linear(a)) * self.scaled()


def function(a):
    for _ in range(2):
        a = (a * 2 + 1).relu()
    return a


def text_of(traced):
    return re.sub(r"___torch_mangle_\d+\.|self\.\d+", "", str(traced.inlined_graph))


def outputs_of(traced):
    return traced(x * 3)


def jit(program):
    traced = torch.jit.trace(program, x)
    return text_of(traced), outputs_of(traced)


def fx(program):
    traced = torch.fx.symbolic_trace(program)
    return traced.code, outputs_of(traced)


def make(mode):
    def trace(program):
        made = make_fx(lambda a: program(a), tracing_mode=mode, _allow_non_fake_inputs=True)(x)
        return made.code, outputs_of(made)

    return trace


def export(program):
    module = program if isinstance(program, torch.nn.Module) else as_module(program)
    exported = torch.export.export(module, (x,))
    return exported.graph_module.code, outputs_of(exported.module())


def as_module(program):
    class Calls(torch.nn.Module):
        def forward(self, a):
            return program(a)

    return Calls()


def functionalized(program):
    return torch.func.functionalize(program)(x)


def flops(program):
    with FlopCounterMode(display=False) as mode:
        value = program(x)
    return mode.get_flop_counts(), value


class Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def operators(program):
    with Operators() as mode:
        value = program(x)
    return mode.seen, value


def fake(program):
    with FakeTensorMode(allow_non_fake_inputs=True):
        made = program(torch.empty(3, 4))
    return type(made), made.shape


def gradient(program):
    return torch.func.grad(lambda a: program(a).sum())(x)


def jacobian(program):
    return torch.func.jacfwd(program)(x)


TRACERS = {
    "torch.jit.trace": jit,
    "torch.fx": fx,
    "make_fx real": make("real"),
    "make_fx fake": make("fake"),
    "make_fx symbolic": make("symbolic"),
    "torch.export": export,
    "functionalize": functionalized,
    "grad": gradient,
    "jacfwd": jacobian,
    "vmap": lambda program: torch.func.vmap(program)(x),
    "jvp": lambda program: torch.func.jvp(program, (x,), (x,)),
    "flop counter": flops,
    "dispatch mode": operators,
    "fake tensors": fake,
}


def assert_same(found, expected):
    """Texts and values are the same to the last bit: the same operations ran."""
    for one, other in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


def captured(program):
    """The compiled program, with entries that would fit."""
    compiled = capture.compile(program)
    with torch.no_grad():
        compiled(x)
    compiled(x)
    return compiled


@pytest.mark.parametrize("tracer", TRACERS.values(), ids=TRACERS)
@pytest.mark.parametrize("kind", ["module", "function"])
def test_a_tracer_sees_the_operations_of_what_is_compiled(kind, tracer):
    torch.manual_seed(0)
    program = Net() if kind == "module" else function
    expected = tracer(program)
    compiled = captured(program)
    graphs = counters["graphs"]["compiled"]
    assert_same(tracer(compiled), expected)
    assert counters["graphs"]["compiled"] == graphs


@pytest.mark.parametrize("tracer", TRACERS.values(), ids=TRACERS)
@pytest.mark.parametrize("kind", ["module", "function"])
def test_a_tracer_within_a_block_sees_them_too(kind, tracer):
    torch.manual_seed(0)
    program = Net() if kind == "module" else function
    expected = tracer(program)
    with capture.enable():
        program(x)
        assert_same(tracer(program), expected)
    compiled = capture.compile(program)
    assert torch.allclose(compiled(x), program(x)), "capture goes on after the tracer"


def test_a_parameter_that_a_method_reads_is_no_constant_of_an_fx_trace():
    """A frame without tensor arguments has an entry whose guards hold while torch.fx traces."""
    net = Net()
    with capture.enable():
        net.scaled()
        traced = torch.fx.symbolic_trace(net)
    assert [node.target for node in traced.graph.nodes if node.op == "get_attr"] == ["scale"]


@pytest.mark.parametrize("within", [False, True])
def test_a_script_of_what_is_compiled(within):
    net = Net()
    if within:
        with capture.enable():
            script = torch.jit.script(net)
            assert torch.allclose(script(x), net(x))
    else:
        assert torch.allclose(torch.jit.script(capture.compile(net))(x), net(x))
        assert torch.equal(torch.jit.script(capture.compile(scripted))(x), scripted(x))


def scripted(a):
    return a.relu() + 1


@pytest.mark.parametrize("kind", ["module", "function"])
def test_torch_compile_and_a_strict_export_follow_the_original(kind):
    """torch.compile makes one graph of it: it does not stop at the functions of capture."""
    from torch._dynamo.testing import CompileCounter

    program = Net() if kind == "module" else function
    compiled = capture.compile(program)
    counter = CompileCounter()
    again = torch.compile(compiled, backend=counter, fullgraph=True)
    assert torch.allclose(again(x), program(x))
    assert counter.frame_count == 1
    torch._dynamo.reset()
    module = compiled if kind == "module" else as_module(compiled)
    exported = torch.export.export(module, (x,), strict=True)
    assert torch.allclose(exported.module()(x), program(x))
    torch._dynamo.reset()


def test_torch_compile_follows_what_is_disabled():
    again = torch.compile(as_module(capture.disable(function)), backend="eager", fullgraph=True)
    assert torch.equal(again(x), function(x))
    torch._dynamo.reset()


@pytest.mark.parametrize("mine_first", [False, True])
def test_torch_compile_captures_the_frames_that_it_is_to_capture(mine_first):
    """Whichever evaluator was installed first: an entry does not run in the place of torch.compile's code."""
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    captured(function)
    with capture.enable():
        function(x)
        other = torch.compile(function, backend=counter)
        assert torch.equal(other(x), function(x))
        if mine_first:
            with capture.disable(), capture.enable():
                assert torch.equal(other(x), function(x))
    assert counter.frame_count == 1
    torch._dynamo.reset()


def test_a_frame_that_another_evaluator_gives_back_is_run_as_it_is():
    """Each evaluator was installed while the other one was: a frame that fails in a graph does it once."""

    def looked_up(table, index):
        return table[index] * 2

    fast = capture.compile(looked_up, backend="eager")
    with capture.enable(backend="eager"):
        torch.compile(function, backend="eager")(x)
    torch._dynamo.reset()
    fast(x, torch.tensor([1]))
    before = counters["graphs"]["failed_calls"]
    with pytest.raises(IndexError):
        fast(x, torch.tensor([7]))
    assert counters["graphs"]["failed_calls"] == before + 1


def test_what_another_compiler_runs_is_not_captured():
    reasons = []

    def helper(a):
        reasons.append(why_followed())
        return a + 1

    def backend(gm, inputs):
        helper(torch.ones(2))
        return gm.forward

    with capture.enable(backend="eager"):
        torch.compile(function, backend=backend)(x)
    assert reasons == ["another compiler is at work"]
    assert not _capture.entries(helper.__code__)
    torch._dynamo.reset()


def test_a_trace_in_a_captured_frame():
    net = Net()

    def makes_and_calls(a):
        traced = torch.jit.trace(net, a)
        return traced(a * 3) + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = capture.compile(makes_and_calls)(x)
    assert torch.allclose(value, net(x * 3) + 1)


class FlagOfThreads(threading.local):
    """Where torch.fx has its flag from torch 2.14 on."""


@pytest.mark.parametrize("of_threads", [False, True])
def test_the_flag_of_torch_fx_is_one_of_the_process_or_of_each_thread(of_threads, monkeypatch):
    flags = FlagOfThreads() if of_threads else {}
    names = vars(flags) if of_threads else flags
    keys, callback = other_tracers._KEY_SET, other_tracers.callback_of_torch_compile
    monkeypatch.setattr(other_tracers, "FX_FLAGS", flags)
    monkeypatch.setattr(other_tracers, "FX_FLAG", "traces")
    seen = []

    def look():
        seen.append((why_followed() is not None, _capture.is_followed()))

    def look_in_both_threads():
        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    try:
        _capture.follow_other_tracers(keys, flags, "traces", callback)
        look_in_both_threads()
        names["traces"] = True
        look_in_both_threads()
        names["traces"] = False
        look_in_both_threads()
    finally:
        monkeypatch.undo()
        _capture.follow_other_tracers(keys, other_tracers.FX_FLAGS, other_tracers.FX_FLAG, callback)
    other = (not of_threads,) * 2
    assert seen == [(False, False), (False, False), (True, True), other, (False, False), (False, False)]


def root_of(a):
    return ((a - a).sqrt() * 0).sum()


def anomaly_of(run):
    """What autograd says of NaN in a backward: the error, and the line of the forward."""
    with warnings.catch_warnings(record=True) as caught, torch.autograd.detect_anomaly():
        warnings.simplefilter("always")
        a = torch.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError) as error:
            run(a).backward()
    return str(error.value), ["in root_of" in str(one.message) for one in caught]


@pytest.mark.parametrize("earlier", [False, True])
def test_anomaly_mode_names_the_operation(earlier):
    capture.reset()
    fast = capture.compile(root_of)
    if earlier:
        for _ in range(2):
            fast(torch.ones(3, requires_grad=True))
    found = anomaly_of(fast)
    assert found == anomaly_of(root_of) and "SqrtBackward0" in found[0]
    assert counters["graphs"]["compiled"] == int(earlier)
    fast(torch.ones(3, requires_grad=True)).backward()
    assert counters["graphs"]["compiled"] == 1


def test_anomaly_mode_begins_in_a_captured_function():
    def trains(a):
        b = a * 2
        with torch.autograd.detect_anomaly(check_nan=True):
            return root_of(b)

    found = []
    for run in (trains, capture.compile(trains)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = run(torch.ones(3, requires_grad=True))
        found.append((result.grad_fn.name(), torch.is_anomaly_enabled()))
    assert found[0] == found[1]


def test_no_tracer_no_reason():
    assert why_followed() is None
    assert not _capture.is_followed()
    with Operators():
        assert _capture.is_followed()
    assert not _capture.is_followed()
