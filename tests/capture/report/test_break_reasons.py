"""Each reason for a break: a program that causes it, eager against captured, `Unsupported` in fullgraph."""

from __future__ import annotations

import functools
import io
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import capture
from capture.interpret.budget import MOST_PLACES
from capture.report.break_reasons import REASONS
from capture.report.config import config
from tests.capture.test_cases import outcome, same

PROGRAMS: dict[str, Callable[..., Any]] = {}
X = torch.arange(12.0).reshape(3, 4)


def meets(reason: str) -> Callable[[Any], Any]:
    def register(program: Any) -> Any:
        PROGRAMS[reason] = program
        return program

    return register


@meets("data_dependent_jump")
def jumps_on_data(x):
    y = x + 1
    return y * 2 if y.sum() > 0 else y


@meets("data_dependent_value")
def needs_an_item(x):
    y = x + 1
    return y * (y.sum() * 1j).item().real


@meets("data_dependent_shape")
def needs_a_shape(x):
    y = x + 1
    return y[(y > 0).to(torch.uint8)] + 1


@meets("unbacked_decision")
def decides_on_an_item(x):
    y = x + 1
    n = int(y.sum())
    return y * 2 if n > 3 else y


@meets("numpy_differs")
def rounds_in_half_precision(x):
    y = x + 1
    return y * 2, np.arange(3, dtype=np.float16) * np.float16(0.1)


@meets("numpy_random")
def draws_with_numpy(x):
    y = x + 1
    np.random.seed(3)
    return y * np.random.rand() + np.random.default_rng(1).normal() + np.random.RandomState(2).rand()


@meets("call")
def calls_unknown_class(x):
    y = x + 1
    return y * 2, types.GenericAlias(list, (int,))


class Name(str):
    pass


@meets("not_constant")
def needs_to_know_a_name(x):
    y = x + 1
    return y * 2, getattr(x, Name("ndim"))


@meets("call_skipped")
def calls_left_alone(x):
    import traceback

    y = x + 1
    return y * 2, traceback.format_exception_only(ValueError, ValueError("v"))


@meets("call_of_capture")
def calls_capture(x):
    y = x + 1
    with capture.disable():
        y = y * 2
    return y + 1


@capture.disable
def disabled(x):
    return x * 3


@meets("call_disabled")
def calls_disabled(x):
    return disabled(x + 1) * 2


@meets("debugger")
def stops(x):
    y = x + 1
    breakpoint()
    return y * 2


@meets("explicit")
def asks_for_it(x):
    y = x + 1
    capture.graph_break()
    return y * 2


FILE = io.StringIO()


@meets("builtin")
def prints(x):
    y = x + 1
    print("seen", file=FILE)
    return y * 2


@meets("method")
def method_outside(x):
    y = x + 1
    return y * 2, y.data_ptr() != 0


@meets("get_attr")
def attribute_outside(x):
    y = x + 1
    return y * 2, (lambda: 0).__globals__ is not None


@meets("set_attr")
def sets_outside(x):
    def f(k=1):
        return k

    y = x + 1
    f.__kwdefaults__ = {}
    return y * f()


class HasCachedMethod:
    @classmethod
    @functools.lru_cache
    def size(cls):
        return 3


@meets("property")
def reads_c_descriptor(x):
    y = x + 1
    return y * HasCachedMethod().size()


@meets("iterate")
def iterates_unknown(x):
    y = x + 1
    return y * sum(1 for _ in OBJECTS)


class Keyed:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self is other


OBJECTS = {Keyed(), Keyed()}


class Loud(Exception):
    def __bool__(self):
        return False


@meets("truth_value")
def truth_of_exception(x):
    y = x + 1
    e = Loud()
    return y * (2 if e else 3)


@meets("unknown_type")
def opaque_object(x):
    y = x + 1
    return y * len(MEMORY.tolist())


MEMORY = memoryview(b"abc")


@meets("not_a_graph_argument")
def strange_argument(x):
    y = x + 1
    try:
        return torch.add(y, object())
    except TypeError:
        return y * 2


@meets("operator")
def makes_a_long_list(x):
    y = x + 1
    return y * len([0] * 1_000_000)


class Odd(type):
    def __eq__(cls, other):
        return True

    __hash__ = type.__hash__


class OddClass(metaclass=Odd):
    pass


@meets("compare")
def compares_classes(x):
    y = x + 1
    return y * 2, OddClass == int


EITHER = int | str


@meets("opcode")
def pattern_of_what_is_no_class(x):
    y = x + 1
    try:
        match 3:
            case EITHER():
                y = y - 1
    except TypeError:
        y = y + 1
    return y * 2


@meets("torch_op_failed")
def operation_fails(x):
    y = x + 1
    return y @ y


@meets("unsupported_tensor")
def sparse_tensor(x):
    y = x + 1
    return y * 2, SPARSE.shape


SPARSE = torch.eye(3).to_sparse()


@meets("unsupported_torch_function")
def changes_the_process(x):
    y = x + 1
    torch.set_flush_denormal(False)
    return y * 2


@meets("raised")
def raises(x):
    y = x + 1
    raise ValueError(f"of {y.dim()} dimensions")


@meets("with_context")
def opens_unknown(x):
    y = x + 1
    with 5:
        return y * 2


def deep(x, n):
    return x if n == 0 else deep(x + 1, n - 1)


@meets("inline_depth")
def deep_calls(x):
    return deep(x, 30)


@meets("too_many_instructions")
def long_loop(x):
    y = x + 1
    for _ in range(2000):
        pass
    return y * 2


NUMBERS = list(range(MOST_PLACES + 1))


@meets("too_many_places")
def long_list(x):
    y = x + 1
    return y * max(NUMBERS)


GRU = torch.nn.GRU(4, 4, batch_first=True).bfloat16()
STEPS = torch.ones(3, 5, 4)
capture.maybe_mark_dynamic(STEPS, 1)


@meets("recurrent_length")
def recurrent_layer_of_open_length(x):
    y = x + 1
    return GRU((STEPS * y[:, None]).bfloat16())[0]


@meets("reconstruct")
def generator_stays(x):
    y = x + 1
    return y * 2, (i for i in range(3))


WEIGHT = torch.nn.Parameter(torch.ones(3, 4))


class CountingCalls(torch.autograd.Function):
    calls = []

    @staticmethod
    def forward(ctx, x):
        CountingCalls.calls.append(1)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


@meets("mutation")
def function_with_effects(x):
    y = x + WEIGHT
    return CountingCalls.apply(y).detach() * 2


class Final:
    def __del__(self):
        pass


@meets("finalizer")
def makes_finalized(x):
    y = x + 1
    Final()
    return y * 2


@meets("import")
def imports(x):
    y = x + 1
    import this_module_is_not_there_for_sure

    return y * 2, this_module_is_not_there_for_sure


@meets("generator")
def throws_non_exception(x):
    y = x + 1
    g = (i for i in range(3))
    next(g)
    try:
        g.throw(5)
    except TypeError:
        return y * 2


class Sub(torch.Tensor):
    def __getattr__(self, name):  # no guard could follow these attributes
        raise AttributeError(name)


SUB = torch.ones(4).as_subclass(Sub)


@meets("aliasing")
def checkpoint_returns_what_it_reads(x):
    y = x + 1
    return torch.utils.checkpoint.checkpoint(lambda t: y, x, use_reentrant=False) * 2


@meets("subclass")
def uses_subclass(x):
    y = x + 1
    return y * 2, SUB + 1


SCALE = torch.nn.Parameter(torch.ones(4))


@meets("write_without_grad")
def writes_in_front_of_the_use(x):
    with torch.no_grad():
        SCALE.clamp_(min=0)
    return x * SCALE


@meets("changed_flag")
def reads_behind_a_new_flag(x):
    y = x + 1
    SCALE.requires_grad = False
    z = y * SCALE
    SCALE.requires_grad = True
    return z


@meets("inner_gradients")
def returns_what_its_gradient_frees(x):
    leaf = x.detach().requires_grad_()
    y = leaf.exp()
    return y, torch.autograd.grad(y.sum(), leaf)


COUNTS = [0]


@meets("late_error")
def may_raise_behind_a_write(x):
    COUNTS[0] += 1
    x.add_(1)
    return x[torch.tensor([2])]


RECORDS = [(torch.full((4,), float(i)), None if i % 3 else torch.ones(4)) for i in range(12)]


@meets("changing_items")
def reads_what_some_records_lack(x):
    following = torch.stack([second for _, second in RECORDS if second is not None])
    return (x + 1).sum() * following.sum()


MARGINS = [0.01 * i for i in range(1, 8)]


@meets("changing_number")
def needs_a_float_that_changes(x):
    for margin in MARGINS:
        x = torch.logit(x.sigmoid(), eps=margin)
    return x


#: a break for these is no error under fullgraph
NO_ERROR = ("call_of_capture", "changing_items", "changing_number", "late_error", "recurrent_length")
NO_ERROR += ("write_without_grad",)
#: other backends get one graph
OF_NATIVE_CODE = ("write_without_grad",)
SMALL = {"inline_depth": 20, "max_instructions": 1500}


@pytest.mark.parametrize("reason", sorted(PROGRAMS))
def test_reason(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.breakpointhook", lambda: None)
    program = PROGRAMS[reason]
    backend = "llvm" if reason in OF_NATIVE_CODE else "eager"
    expected = outcome(program, (X.clone(),))
    with config.patch(raise_on_error=True, **SMALL):
        with capture.enable(backend=backend):
            got = outcome(program, (X.clone(),))
        assert got[1:] == expected[1:] and same(got[0], expected[0])
        assert reason not in OF_NATIVE_CODE or reason in capture.counters["graph_breaks"]
        capture.reset()
        fullgraph = capture.compile(program, backend=backend, fullgraph=True)
        if reason in NO_ERROR:
            assert same(fullgraph(X.clone()), expected[0])
        else:
            with pytest.raises(capture.Unsupported) as refused:
                fullgraph(X.clone())
            assert refused.value.reason.id == reason
    capture.reset()


def test_every_reason_has_a_program() -> None:
    assert set(PROGRAMS) == set(REASONS)


def test_each_break_has_a_line():
    """This includes a break that is found when the frame's values are rebuilt, after the instructions."""

    def parts(log):
        try:
            yield 1
            yield 2
        finally:
            log.append("left")

    def f(x, log):
        generator = parts(log)
        y = x * next(generator)
        return y + 1

    reasons = capture.explain(f)(torch.ones(3), []).break_reasons
    assert reasons and all(reason.user_stack for reason in reasons)
