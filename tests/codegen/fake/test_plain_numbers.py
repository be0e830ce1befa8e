"""Capture's questions to torch about plain sizes import neither sympy nor torch's symbolic shapes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from torch.fx.experimental import symbolic_shapes

from codegen.fake.plain_numbers import ANSWERS, CONDITIONS

SETTING = """
import inspect, sys, torch, capture
from torch import nn
import torch.nn.functional as F
SYMBOLIC = "torch.fx.experimental.symbolic_shapes"
HEAVY = ["sympy", SYMBOLIC, "torch.distributed.tensor"]
def loaded():
    return [name for name in HEAVY if name in sys.modules]
assert not loaded()
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", SETTING + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


CALLS = """
def writes(x):
    y = x.clone()
    y[0] = 1.0
    return y.view(-1)[1:]

def train(function, *inputs):
    result = capture.compile(function)(*inputs)
    assert torch.allclose(result, function(*inputs), atol=1e-5)
    result.sum().backward()

def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)

model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2).eval(), nn.ReLU(), nn.Flatten())
train(model, torch.randn(1, 1, 6, 6))
train(nn.ConvTranspose2d(1, 2, 3), torch.randn(1, 1, 6, 6))
train(nn.Sequential(nn.Conv2d(16, 32, 3), nn.Conv2d(32, 16, 1)), torch.randn(2, 16, 8, 8))
train(writes, leaf(3, 3))
train(lambda x: x.view(-1) * 2, leaf(3, 3))
train(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), leaf(1, 2, 4, 8))
train(lambda x: F.pad(x, (1, 1), mode="reflect"), leaf(1, 2, 3))
train(lambda x: F.adaptive_max_pool2d(x, 2), leaf(1, 1, 4, 4))
print(loaded())
"""


def test_common_operators_import_nothing_heavy() -> None:
    assert run(CALLS) == "[]"


STAND_IN = """
from codegen.fake.plain_numbers import ANSWERS, PLAIN_NUMBERS, STAND_IN

def now():
    from torch.fx.experimental import symbolic_shapes
    return symbolic_shapes

with PLAIN_NUMBERS, PLAIN_NUMBERS:
    torch._check(True)
    try:
        torch._check(False, lambda: "too small")
    except RuntimeError as error:
        assert str(error) == "too small"
    else:
        raise AssertionError("nothing raised")
    inspect.getmodule(now)  # looks at all modules
    assert loaded() == [SYMBOLIC] and sys.modules[SYMBOLIC] is STAND_IN
assert not loaded() and not hasattr(torch.fx.experimental, "symbolic_shapes")
"""


@pytest.mark.parametrize(
    "asked",
    [
        "now().ShapeEnv.__module__ == SYMBOLIC",
        "__import__(SYMBOLIC).fx.experimental.symbolic_shapes.ShapeEnv.__module__ == SYMBOLIC",
        "__import__('importlib').import_module(SYMBOLIC).ShapeEnv.__module__ == SYMBOLIC",
    ],
)
def test_the_stand_in_is_there_until_the_module_itself_is_needed(asked: str) -> None:
    run(f"""{STAND_IN}
with PLAIN_NUMBERS:
    assert now().guard_or_false is ANSWERS["guard_or_false"] and not now().guard_or_false(False)
    assert {asked}
    assert sys.modules[SYMBOLIC] is not STAND_IN
assert sys.modules[SYMBOLIC] is not STAND_IN and now() is not STAND_IN
with PLAIN_NUMBERS:
    assert sys.modules[SYMBOLIC] is not STAND_IN
""")


def test_answers_are_those_of_torch() -> None:
    for name in CONDITIONS:
        for value in (True, False):
            assert ANSWERS[name](value) is getattr(symbolic_shapes, name)(value)
    for name in (*CONDITIONS, "guarding_hint_or_throw"):
        with pytest.raises(AssertionError):
            getattr(symbolic_shapes, name)("no condition")
        with pytest.raises(AssertionError):
            ANSWERS[name]("no condition")
    for arguments in [(True,), (True, False), (False, False, True)]:
        for name in ("sym_and", "sym_or"):
            assert ANSWERS[name](*arguments) is getattr(symbolic_shapes, name)(*arguments)
    for left, right in [(1, 1), (1, 2), ((1, 2), [1, 2]), ((1, 2), (1, 3)), ((1,), (1, 2)), ((), ())]:
        assert ANSWERS["sym_eq"](left, right) is symbolic_shapes.sym_eq(left, right)
    for value in (3, 3.5, True):
        for name in ("is_nested_int", "has_guarding_hint"):
            assert ANSWERS[name](value) is getattr(symbolic_shapes, name)(value)
    assert [ANSWERS["guarding_hint_or_throw"](value) for value in (3, True)] == [3, True]
