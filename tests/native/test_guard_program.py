"""The native machine by itself: instruction table, malformed programs, slots, references, invalid memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import _capture
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guards.assembler import ProgramAssembler, instructions
from guards.conditions import (
    OPERATORS,
    ComputedSource,
    ShapeExpression,
    ShapeOverflow,
    apply,
    constant,
    load,
)
from guards.guard_set import GuardSet
from guards.kinds.attributes import module_guards
from guards.kinds.containers import LengthGuard
from guards.kinds.identity import ExactTypeGuard, IdentityGuard
from guards.kinds.sizes import ShapeGuard
from guards.kinds.tensors import TensorGuard
from guards.program import encode
from guards.sources import (
    AttrSource,
    ConstantSource,
    DictItemSource,
    GradSource,
    ItemSource,
    ShapeSource,
)
from tests.guards.cases import CASES
from tests.guards.world import World, X, Y

ROOT = Path(__file__).parents[2]


def test_each_instruction_is_encoded() -> None:
    """Every instruction of the extension's table is in some program."""
    header = ("LOAD_", "CHECK_", "STORE_")
    python = "".join(path.read_text() for path in (ROOT / "guards").rglob("*.py"))
    assert all(name.startswith(header) and f'"{name}"' in python for name in instructions())


def test_instructions_are_numbered_as_in_the_extension() -> None:
    for number, (name, fields, operands) in enumerate(_capture.guard_instructions):
        assert instructions()[name] == (number, operands)
        assert len(fields) == 2
        assert set(fields) <= set("dDsS-")


def test_shape_operators_agree() -> None:
    """The extension has the operators of `conditions`, with as many operands, after its two loads."""
    native = {name.lower(): arity for name, arity in _capture.shape_operators}
    assert native == {"load": 0, "const": 0, **{name: o.arity for name, o in OPERATORS.items()}}


# --- slots --------------------------------------------------------------------------------------------------


def test_slots_hold_what_the_sources_name() -> None:
    layer = torch.nn.Linear(2, 2)
    world = World({"x": layer, "y": [torch.ones(3)]})
    sources = [
        AttrSource(X, "weight"),
        ItemSource(Y, 0),
        AttrSource(X, "bias"),
        ShapeSource(ItemSource(Y, 0), "size", 0),
    ]
    failed, slots = encode(GuardSet([ExactTypeGuard.of(X, layer)]), sources, world.function.__code__).check(
        *world.arguments
    )
    assert failed == -1
    assert [id(slot) for slot in slots[:3]] == [id(layer.weight), id(world.y[0]), id(layer.bias)]
    assert slots[3] == 3


def test_integer_slots_follow_the_size() -> None:
    world = World({"x": torch.ones(5, 7)})
    program = encode(
        GuardSet(),
        [ShapeSource(X, "size", 0), ShapeSource(X, "stride", 0), ShapeSource(X, "storage_offset")],
        world.function.__code__,
    )
    for rows in (5, 5, 1000, 100000, 3):
        world.names["x"] = torch.ones(rows + 1, 7)[1:]
        assert program.check(*world.arguments) == (-1, (rows, 7, 7))


def test_a_slot_holds_a_number_that_is_computed() -> None:
    power = apply("pow", constant(-3), apply("sub", load(Y), constant(1)))
    source = ComputedSource(power.sources, power.code)
    assert source == ComputedSource(power.sources, power.code)
    assert source != ComputedSource((X,), power.code)
    world = World({"x": 1, "y": 3})
    program = encode(GuardSet(), [source, Y], world.function.__code__)
    assert program.check(*world.arguments) == (-1, (9, 3))
    world.names["y"] = 4
    assert program.check(*world.arguments) == (-1, (-27, 4))
    for number in (0, 42, 2.0, None):  # no power, one of more than 64 bits, and no ints
        world.names["y"] = number
        assert program.check(*world.arguments) == (0, None)


def test_a_slot_that_cannot_be_loaded_fails_behind_the_guards() -> None:
    world = World({"x": [1]})
    program = encode(GuardSet([ExactTypeGuard.of(X, [1])]), [X, ItemSource(X, 3)], world.function.__code__)
    assert program.check(*world.arguments) == (2, None)


# --- malformed programs -------------------------------------------------------------------------------------


def build(*instructions: tuple[str, dict[str, Any]], registers: int = 2, slots: int = 0) -> Any:
    assembler = ProgramAssembler()
    for name, fields in instructions:
        assembler.emit(name, **fields)
    return _capture.GuardProgram(assembler.to_bytes(), tuple(assembler.objects), registers, 1, slots)


LOAD_X = ("LOAD_LOCAL", {"a": 0, "operands": [0]})
MALFORMED = {
    "read before written": [("CHECK_FUNCTION", {"b": 1})],
    "register out of range": [("LOAD_LOCAL", {"a": 9, "operands": [0]})],
    "slot out of range": [LOAD_X, ("STORE_SLOT", {"b": 0, "operands": [4]})],
    "unused field": [("LOAD_GLOBALS", {"a": 0, "b": 1})],
    "name is no str": [LOAD_X, ("LOAD_ATTR", {"a": 1, "b": 0, "operands": [5]})],
    "not postfix": [("CHECK_SHAPE", {"operands": [2, 0]})],
    "computed from nothing": [("LOAD_COMPUTED", {"a": 0, "operands": [2, 0]})],
    "two values": [("CHECK_SHAPE", {"operands": [1, 0, 1, 0]})],
    "integer register": [("CHECK_SHAPE", {"operands": [0, 0]})],
    "unknown operator": [("CHECK_SHAPE", {"operands": [99, 0]})],
    "too deep": [("CHECK_SHAPE", {"operands": [1, 0] * 65 + [2, 0] * 64})],
    "too many places": [LOAD_X, ("CHECK_DISTINCT", {"operands": [0] * 50})],
    "sizes": [LOAD_X, ("CHECK_TENSOR", {"b": 0, "operands": [0, 0, 0, 0, 0, 0, 3, 1]})],
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_programs_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="malformed guard program"):
        build(*MALFORMED[name])


def test_truncated_program_is_refused() -> None:
    assembler = ProgramAssembler()
    assembler.emit("LOAD_LOCAL", a=0, operands=[0])
    with pytest.raises(ValueError, match="ends inside"):
        _capture.GuardProgram(assembler.to_bytes()[:8], (), 1, 0, 0)
    with pytest.raises(ValueError, match="int64"):
        _capture.GuardProgram(b"abc", (), 1, 0, 0)


def test_unfilled_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="never filled"):
        build(LOAD_X, slots=1)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.one_of(st.integers(0, len(instructions())), st.integers(-(2**63), 2**63 - 1), st.integers(0, 4)),
        max_size=12,
    )
)
def test_any_words_are_refused_or_run(words: list[int]) -> None:
    import struct

    world = World({"x": torch.ones(2), "y": {"a": 1}})
    try:
        program = _capture.GuardProgram(struct.pack(f"{len(words)}q", *words), ("name", 1), 4, 2, 0)
    except ValueError:
        return
    program.check(*world.arguments)


# --- shapes -------------------------------------------------------------------------------------------------

int64s = st.one_of(
    st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1])
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(OPERATORS)), int64s, int64s, int64s)
def test_operators_as_in_python(operator: str, a: int, b: int, expected: int) -> None:
    operands = [load(X), load(Y)]
    if OPERATORS[operator].types[0] == "f":
        operands = [apply("fdiv", operand, constant(7)) for operand in operands]
    operands = operands[: OPERATORS[operator].arity]
    world = World({"x": a, "y": b, "z": expected})
    value = apply(operator, *operands)
    try:
        result = value.evaluate((a, b)[: len(value.sources)])
    except ShapeOverflow:
        result = None
    for candidate in {expected, result if result is not None else expected}:
        guard = ShapeGuard.of(apply("eq", value, constant(candidate)))
        program = encode(GuardSet([guard]), [], world.function.__code__)
        assert (program.check(*world.arguments)[0] == -1) == (result == candidate)


def test_constant_condition_alone() -> None:
    world = World({})
    for value in (0, 1):
        guard = ShapeGuard((X,), ShapeExpression((), (("const", value),)))
        assert (
            encode(GuardSet([guard]), [], world.function.__code__).check(*world.arguments)[0] == -1
        ) == bool(value)


# --- references ---------------------------------------------------------------------------------------------


def test_checks_leave_reference_counts_alone() -> None:
    layer = torch.nn.Linear(2, 2)
    value = object()
    world = World({"x": layer, "y": {"k": [value, torch.ones(2, requires_grad=True)]}, "z": 1})
    world.y["k"][1].sum().backward()
    item = DictItemSource(Y, "k")
    guards = GuardSet(
        [
            *module_guards(X, layer),
            IdentityGuard.of(ItemSource(item, 0), value),
            TensorGuard.of(GradSource(ItemSource(item, 1)), world.y["k"][1].grad),
        ]
    )
    sources = [AttrSource(X, "weight"), ItemSource(item, 0), GradSource(ItemSource(item, 1))]
    program = encode(guards, sources, world.function.__code__)
    watched = [
        layer,
        layer.weight,
        value,
        world.y["k"][1],
        world.y["k"][1].grad,
        world.y,
        torch.nn.Linear,
        None,
    ]
    arguments = world.arguments
    program.check(*arguments)
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(1000):
        program.check(*arguments)
    after = [sys.getrefcount(item) for item in watched]
    assert [b - a for a, b in zip(before, after)][:-1] == [0] * (len(watched) - 1)
    assert abs(after[-1] - before[-1]) < 50


def test_programs_free_what_they_hold() -> None:
    class Held(list):  # type: ignore[type-arg]
        pass

    held = Held()
    world = World({"x": torch.ones(300, 2)})
    program = encode(
        GuardSet([LengthGuard.of(ConstantSource(held), held)]),
        [ShapeSource(X, "size", 0)],
        world.function.__code__,
    )
    program.check(*world.arguments)
    dead, dead_program = weakref.ref(held), weakref.ref(program)
    del held
    assert dead() is not None
    del program
    gc.collect()
    assert dead_program() is None
    assert dead() is None


def test_refused_programs_free_what_they_hold() -> None:
    class Held:
        pass

    held = Held()
    dead = weakref.ref(held)
    with pytest.raises(ValueError):
        _capture.GuardProgram(b"\xff" * 8, (held,), 1, 0, 0)
    del held
    gc.collect()
    assert dead() is None


DEBUG_RUN = """
import sys
sys.path.insert(0, {root!r})
from tests.guards.cases import CASES
from tests.guards.world import World, verdict
from guards.guard_set import GuardSet
runs = 0
for case in CASES:
    for change in (None, *case.holds.values(), *case.fails.values()):
        world = World(case.make())
        verdict(world, GuardSet(case.guards(world)), [], change)
        runs += 1
print(runs)
"""


def test_under_the_debug_allocator() -> None:
    environment = {**os.environ, "PYTHONMALLOC": "debug", "PYTHONFAULTHANDLER": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", DEBUG_RUN.format(root=str(ROOT))],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > len(CASES)


def test_check_wants_its_arguments() -> None:
    program = encode(GuardSet(), [], World({}).function.__code__)
    with pytest.raises(TypeError):
        program.check([], {}, {}, None)
