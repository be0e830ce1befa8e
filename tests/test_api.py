"""The public functions: regions, compiled functions and modules, disable, reset, settings, logs, explain."""

from __future__ import annotations

import copy
import inspect
import io
import logging
import pickle
import threading

import pytest
import torch

import capture
from capture.explain import Collector
from capture.hooks.converters import converter_for
from capture.hooks.switch import OFF, HookState, switch
from capture.report.observe import observing


def double_plus_one(x):
    return x * 2 + 1


def with_break(x):
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y - 1


class Net(torch.nn.Module):
    registry: dict[str, type] = {}

    def __init_subclass__(cls, **kwargs):
        Net.registry[cls.__name__] = cls

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x, *, shift: float = 0.0):
        return self.linear(x) * self.scale + shift

    def generate(self, x):
        return self(x) + 1


@pytest.fixture(autouse=True)
def _fresh():
    capture.reset()


@pytest.fixture
def found():
    collector = Collector()
    with observing(collector):
        yield collector.found


# --- regions ------------------------------------------------------------------------------------------------


def test_enable_captures_callees_and_restores(found):
    x = torch.ones(3)
    with capture.enable("eager"):
        result = double_plus_one(x)
        assert switch(HookState("pep523", *converter_for(_settings()))).hook == "pep523"
    assert torch.equal(result, torch.full((3,), 3.0))
    assert found.graph_count == 1
    double_plus_one(torch.ones(4))
    assert found.graph_count == 1


def _settings():
    from capture.backends.settings import make_settings

    return make_settings("eager")


def test_hook_is_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError), capture.enable("eager"):
        1 / 0
    assert switch(OFF) == OFF


def test_regions_nest_and_inner_settings_hold(found):
    seen = []

    def tracing(gm, inputs):
        seen.append("inner")
        return gm.forward

    with capture.enable("eager"):
        with capture.enable(tracing):
            double_plus_one(torch.ones(2))
        assert seen == ["inner"]
        double_plus_one(torch.ones(2))
    assert seen == ["inner"] and found.graph_count == 2


def test_the_same_region_can_be_entered_inside_of_itself():
    region = capture.enable("eager")
    with region, region:
        double_plus_one(torch.ones(2))
    assert switch(OFF) == OFF


def test_equal_settings_share_entries(found):
    for _ in range(3):
        with capture.enable("eager"):
            double_plus_one(torch.ones(2))
    assert found.graph_count == 1


def test_disable_inside_of_enable(found):
    with capture.enable("eager"), capture.disable():
        double_plus_one(torch.ones(2))
    assert found.graph_count == 0


def test_enabling_is_per_thread(found):
    collector = Collector()

    def other():
        with observing(collector):
            double_plus_one(torch.ones(2))

    with capture.enable("eager"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert collector.found.graph_count == 0


def test_out_of_order_names_both_and_turns_the_hook_off():
    outer, inner = capture.enable("eager"), capture.enable("llvm")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(capture.UsageError, match=r"enable\('eager'\).*before enable\('llvm'\)"):
        outer.__exit__(None, None, None)
    assert switch(OFF) == OFF
    inner.__exit__(None, None, None)  # was closed with the other one
    with pytest.raises(capture.UsageError, match="not enabled on this thread"):
        inner.__exit__(None, None, None)


# --- compile ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "decorate", [capture.compile, capture.compile(backend="eager"), capture.enable("eager")]
)
def test_compile_forms(decorate):
    @decorate
    def f(x, *, k=1):
        "doc of f"
        return x + k

    assert torch.equal(f(torch.ones(2), k=2), torch.full((2,), 3.0))
    assert f.__name__ == "f" and f.__doc__ == "doc of f"
    assert list(inspect.signature(f).parameters) == ["x", "k"]


def test_compiled_function_is_captured_and_caller_is_not(found):
    fast = capture.compile(double_plus_one, backend="eager")
    for _ in range(2):
        assert torch.equal(fast(torch.ones(2)), torch.full((2,), 3.0))
    assert found.graph_count == 1 and found.functions == ["double_plus_one"]


def test_compiled_method_and_partial():
    import functools

    class Scaler:
        def __init__(self):
            self.k = 3

        @capture.compile(backend="eager")
        def scale(self, x):
            return x * self.k

    assert torch.equal(Scaler().scale(torch.ones(2)), torch.full((2,), 3.0))
    part = capture.compile(functools.partial(torch.add, torch.ones(2)), backend="eager")
    assert torch.equal(part(torch.ones(2)), torch.full((2,), 2.0))


# --- compiled modules ---------------------------------------------------------------------------------------


def test_a_module_stays_a_module(found):
    net = Net()
    fast = capture.compile(net, backend="eager")
    x = torch.randn(4, 3)
    assert isinstance(fast, Net) and type(fast).__name__ == "Net"
    assert Net.registry == {}, "what Net does for its subclasses is not done for the compiled class"
    assert torch.equal(fast(x, shift=1.0), net(x, shift=1.0))
    assert found.graph_count == 1
    assert list(fast.state_dict()) == list(net.state_dict()) == ["scale", "linear.weight", "linear.bias"]
    assert [id(p) for p in fast.parameters()] == [id(p) for p in net.parameters()]
    assert list(inspect.signature(fast.forward).parameters) == list(inspect.signature(net.forward).parameters)
    assert repr(fast) == repr(net)


def test_attributes_are_those_of_the_original():
    net = Net()
    fast = capture.compile(net, backend="eager")
    fast.scale = torch.tensor(5.0)
    fast.extra = 7
    assert net.extra == 7 and net.scale.item() == 5.0
    fast.eval()
    assert not net.training and not net.linear.training
    del net.extra
    assert not hasattr(fast, "extra")
    fast.load_state_dict(Net().state_dict())


def test_methods_that_call_the_module_are_captured_there(found):
    fast = capture.compile(Net(), backend="eager")
    fast.generate(torch.randn(1, 3))
    assert "Net.forward" in found.functions


def test_hooks_registered_on_either_side_run():
    net = Net()
    fast = capture.compile(net, backend="eager")
    calls = []
    fast.register_forward_hook(lambda module, args, output: calls.append(module))
    fast(torch.randn(1, 3))
    assert calls == [net]


@pytest.mark.parametrize("copying", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_compiled_modules(copying, found):
    fast = capture.compile(Net(), backend="eager")
    other = copying(fast)
    x = torch.randn(2, 3)
    assert torch.equal(other(x), fast(x))
    assert isinstance(other, Net) and found.graph_count >= 1
    shares = other.linear.weight is fast.linear.weight
    assert shares == (copying is copy.copy)


def test_a_compiled_module_inside_of_another_module():
    net, x = Net(), torch.randn(2, 3)
    keys = list(torch.nn.Sequential(net).state_dict())
    model = torch.nn.Sequential(capture.compile(net, backend="eager"))
    assert list(model.state_dict()) == keys
    assert torch.equal(model(x), net(x))
    assert torch.equal(copy.deepcopy(model)(x), net(x))


def test_compiling_again_and_saving(tmp_path):
    net = Net()
    fast = capture.compile(capture.compile(net, backend="eager"), backend="eager")
    torch.save(fast, tmp_path / "net.pt")
    loaded = torch.load(tmp_path / "net.pt", weights_only=False)
    x = torch.randn(2, 3)
    assert torch.equal(loaded(x), net(x))


def test_a_replaced_forward_is_used():
    net = Net()
    fast = capture.compile(net, backend="eager")
    net.forward = lambda x: x + 1
    assert torch.equal(fast(torch.zeros(2)), torch.ones(2))


# --- disable ------------------------------------------------------------------------------------------------


@capture.disable
def left_alone(x):
    return double_plus_one(x)


@pytest.fixture
def only_this_frame():
    """Made for each test: tests of the hook below the API remove all marks."""

    @capture.disable(recursive=False)
    def frame(x):
        return double_plus_one(x)

    return frame


def test_disable_decorators(found, only_this_frame):
    with capture.enable("eager"):
        assert torch.equal(left_alone(torch.ones(2)), torch.full((2,), 3.0))
        assert found.graph_count == 0
        assert torch.equal(only_this_frame(torch.ones(2)), torch.full((2,), 3.0))
    assert found.functions == ["double_plus_one"]


def test_disable_not_recursive_stays_after_reset(found, only_this_frame):
    capture.reset()
    with capture.enable("eager"):
        only_this_frame(torch.ones(2))
    assert found.functions == ["double_plus_one"]


def test_a_call_of_a_disabled_function_breaks_the_graph(found):
    def caller(x):
        return left_alone(x + 1) * 2

    with capture.enable("eager"):
        assert torch.equal(caller(torch.zeros(2)), torch.full((2,), 6.0))
    assert [reason.id for reason in found.break_reasons] == ["call_disabled"]


def test_disabled_module(found):
    net = Net()
    off = capture.disable(net)
    with capture.enable("eager"):
        off(torch.randn(2, 3))
    assert isinstance(off, Net) and found.graph_count == 0


# --- inside of captured code --------------------------------------------------------------------------------


def test_is_capturing_and_graph_break(found):
    def f(x):
        if capture.is_capturing():
            x = x + 1
        capture.graph_break("save here")
        return x * 2

    assert torch.equal(f(torch.zeros(2)), torch.zeros(2))
    with capture.enable("eager"):
        assert torch.equal(f(torch.zeros(2)), torch.full((2,), 2.0))
    (reason,) = found.break_reasons
    assert (reason.id, reason.message) == ("explicit", "save here")
    assert "graph_break('save here')" in str(reason)
    assert found.graph_count == 2


def test_fullgraph_raises_with_reason_and_line():
    fast = capture.compile(with_break, backend="eager", fullgraph=True)
    with pytest.raises(capture.Unsupported) as raised:
        fast(torch.ones(2))
    error = raised.value
    assert error.id == "data_dependent_jump" and error.hint
    assert error.user_stack[-1].line == "if y.sum() > 0:"
    assert isinstance(error, capture.CaptureError)


def test_reset_forgets_entries(found):
    for _ in range(2):
        with capture.enable("eager"):
            double_plus_one(torch.ones(2))
        capture.reset()
    assert found.graph_count == 2


def test_marks_of_tensors():
    from capture.policy import marks

    x = torch.ones(3, 4)
    capture.mark_dynamic(x, -1, min=2, max=8)
    capture.mark_static(x, 0)
    assert marks.dynamic_dims(x) == {1: marks.DimRange(2, 8, strict=True)} and marks.static_dims(x) == {0}
    capture.mark_static(x)
    assert marks.static_dims(x) == {0, 1}
    assert marks.dynamic_dims(torch.ones(2)) == {} and marks.static_dims(torch.ones(2)) == frozenset()
    with pytest.raises(capture.UsageError, match="2 dimensions, 2 is none"):
        capture.mark_dynamic(x, 2)


# --- settings and logs --------------------------------------------------------------------------------------


def test_patch_is_a_context_and_a_decorator():
    before = capture.config.recompile_limit

    @capture.config.patch(recompile_limit=3)
    def inside():
        return capture.config.recompile_limit

    assert inside() == 3 and inside() == 3
    with pytest.raises(KeyError), capture.config.patch(recompile_limit=1, raise_on_error=True):
        raise KeyError
    assert capture.config.recompile_limit == before and not capture.config.raise_on_error


def test_environment_of_settings():
    from capture.report.config import Config

    config = Config()
    config.load_environment(
        {"CAPTURE_RECOMPILE_LIMIT": "3", "CAPTURE_DYNAMIC": "true", "CAPTURE_CACHE_DIR": "/tmp/x"}
    )
    assert (config.recompile_limit, config.dynamic, config.cache_dir) == (3, True, "/tmp/x")
    config.load_environment({"CAPTURE_DYNAMIC": "none"})
    assert config.dynamic is None
    with pytest.raises(capture.ConfigError, match="CAPTURE_RECOMPILE_LIMIT='many': expected int"):
        config.load_environment({"CAPTURE_RECOMPILE_LIMIT": "many"})


def test_logs_are_records_of_the_logging_module(caplog):
    capture.log.set_logs("graph_breaks")
    try:
        assert capture.log.get("graph_breaks").enabled and not capture.log.get("graph").enabled
        with capture.enable("eager"):
            with_break(torch.ones(2))
    finally:
        capture.log.set_logs()
    names = {record.name for record in caplog.records}
    assert names == {"capture.graph_breaks"}
    assert "data_dependent_jump" in caplog.text


def test_log_handler_writes_to_stderr_where_nothing_else_is_configured(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    capture.log.set_logs("graph")
    try:
        capture.log.get("graph")("hello %d", 3)
    finally:
        capture.log.set_logs()
    assert stream.getvalue() == "[capture.graph] hello 3\n"


# --- explain ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hook", ["pep523", "settrace"])
def test_explain(hook):
    found = capture.explain(with_break, backend="eager", hook=hook)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count) == (2, 1)
    assert [[getattr(op, "__name__", op) for op in ops] for ops in found.ops_per_graph] == [
        ["add", "sum", "gt"],
        ["mul"],
    ]
    assert found.op_count == 4
    (reason,) = found.break_reasons
    assert reason.id == "data_dependent_jump" and reason.reason and reason.hint
    assert reason.user_stack[-1].line == "if y.sum() > 0:"
    assert any(text.startswith("x: float32[2]") for text in found.guards)
    assert {time.phase for time in found.compile_times} >= {"translate", "backend", "guards", "total"}
    text = str(found)
    assert text.startswith("2 graphs, 1 graph break, 4 operations") and "if y.sum() > 0:" in text


def test_explain_sees_what_is_cached_already_and_leaves_it(found):
    fast = capture.compile(with_break, backend="eager")
    fast(torch.ones(2))
    assert capture.explain(fast, backend="eager")(torch.ones(2)).graph_count == 2
    before = found.graph_count
    fast(torch.ones(2))
    assert found.graph_count == before, "the entries of fast are still there"


def test_explain_shows_recompiles():
    @capture.disable(recursive=False)
    def twice(f, x, y):
        f(x)
        f(y)

    found = capture.explain(twice, backend="eager")(
        double_plus_one, torch.ones(2), torch.ones(2, dtype=torch.float64)
    )
    assert found.graph_count == 2 and len(found.recompiles) == 1
    assert "float32" in found.recompiles[0] and "float64" in found.recompiles[0]


def test_attribute_look_ups_that_are_compiled_functions():
    class Doubles:
        k = 2

        @capture.compile
        def __getattribute__(self, name):
            return 2 * object.__getattribute__(self, name)

    class Counts:
        @capture.compile
        def __getattr__(self, name):
            return len(name)

    @capture.compile
    def f(x, first, second):
        return x * first.k + second.hello

    for _ in range(3):
        assert torch.equal(f(torch.ones(2), Doubles(), Counts()), torch.full((2,), 9.0))
