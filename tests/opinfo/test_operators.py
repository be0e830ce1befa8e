"""A share of PyTorch's operator database against eager, another one each day.

`make opinfo` runs all of it. Each day also has one of the other kinds of programs: operators on tensors with
gaps, as methods, with symbolic sizes, with lazy bits, one sample after another by one captured function,
between other operations.

The day's number is in the test's name: CAPTURE_OPINFO_DAY=<number> runs its share and kind again. `.ci/run`
sets one, so that what it says depends on the code alone.
"""

from __future__ import annotations

import datetime
import os
import zlib

import pytest

from tests.opinfo.cases import DTYPES, KINDS, OPERATORS, supported_dtypes
from tests.opinfo.known import KNOWN
from tests.opinfo.report import table
from tests.opinfo.runner import EAGER, NATIVE, WRONG, Result, run_operator
from tests.opinfo.shards import Pair, run_all

SHARES = 40  # about 80 operators and dtypes each, a minute
SAMPLES = 2
TODAY = int(os.environ.get("CAPTURE_OPINFO_DAY", datetime.date.today().toordinal()))


OTHER_KINDS = [kind for kind in KINDS if kind != "plain"]
ROTATING = ("noncontiguous", "method", "dynamic", "lazy", "sequence", "amid")


def share(number: int) -> list[Pair]:
    """Every SHARES-th pair of an order that is always the same and does not depend on names."""
    pairs = [(name, dtype) for name, entry in OPERATORS.items() for dtype in supported_dtypes(entry)]
    return sorted(pairs, key=lambda pair: zlib.crc32(repr(pair).encode()))[number::SHARES]


@pytest.mark.sweep
@pytest.mark.parametrize("day", [TODAY])
def test_share(day: int) -> None:
    pairs, kind = share(day % SHARES), ROTATING[day % len(ROTATING)]
    results = list(run_all(pairs, SAMPLES, kinds=("plain", kind)))
    assert len(results) == len(pairs)
    wrong = [
        result
        for result in results
        if result.status == WRONG and (result.operator, result.dtype) not in KNOWN
    ]
    lines = [f"{result.operator} {result.dtype}: {text}" for result in wrong for text in result.wrong]
    assert not wrong, f"CAPTURE_OPINFO_DAY={day}, kind {kind}:\n" + "\n".join(lines)


def test_every_pair_has_a_share() -> None:
    pairs = [pair for number in range(SHARES) for pair in share(number)]
    assert len(pairs) == len(set(pairs)) == sum(len(supported_dtypes(entry)) for entry in OPERATORS.values())


def test_native_operator() -> None:
    result = run_operator("add", "float32", 2)
    assert (result.status, result.wrong, result.externs) == (NATIVE, [], [])
    assert result.programs > 6  # forward, backward, in place, out, wrong inputs


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_kind_of_programs(kind: str) -> None:
    for name, dtype in (("mul", "float32"), ("sigmoid", "complex64"), ("flatten", "int32")):
        result = run_operator(name, dtype, 1, kinds=(kind,))
        assert result.wrong == []
        none = {"lazy": dtype == "int32", "second": dtype != "float32", "frozen": name != "mul"}.get(
            kind, False
        )
        assert result.programs > 0 or none or not OPERATORS[name].method_variant


def test_memory_that_is_not_shared_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    import capture

    monkeypatch.setattr(
        capture, "compile", lambda fn, **settings: lambda *args, **kwargs: torch.clone(fn(*args, **kwargs))
    )
    result = run_operator("flatten", "float32", 1)
    assert any("share memory" in text for text in result.wrong)


def test_operator_left_to_python() -> None:
    result = run_operator("nonzero", "float32", 1)
    assert result.status == EAGER
    assert any("depends on the values" in reason for reason in result.reasons)


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from codegen.lower.registry import LOWERINGS
    from codegen.lower.tensor_expr import fill

    monkeypatch.setitem(
        LOWERINGS, torch.ops.aten.floor.default, lambda ctx, value: fill(ctx.shape, ctx.dtype, 17)
    )
    result = run_operator("floor", "float32", 1)
    assert result.status == WRONG
    assert "not close" in result.wrong[0] or "not equal" in result.wrong[0]


def test_a_crash_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child dies on a pair: that pair is wrong, and the pairs after it are run."""
    pairs = [("no such operator", "float32"), ("floor", "float32")]
    first, second = run_all(pairs, 1)
    assert first.operator == "no such operator" and first.status == WRONG
    assert second.status == NATIVE


def test_table() -> None:
    text = table([Result("add", "float32"), Result("sort", "float32", EAGER, reasons=["a | b"])])
    assert "| add | native |" in text
    assert "Differentiable float32 operators that are all native: 1 of 2 (50 %)." in text
    assert "- sort: a | b\n" in text


def test_dtypes_are_those_of_the_database() -> None:
    assert set(supported_dtypes(OPERATORS["add"])) == set(DTYPES)
