"""The check of lowering: eager, the loop interpreter and machine code give the same results.

    program = check(lambda x: torch.softmax(x, 1), torch.randn(4, 8))        assert len(kernels(program)) == 1

The values are the same (within rounding of the element type; exactly for integers and bools), and so are
shapes, strides, element types, memory shared with the inputs, and the changes of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from codegen.kernel.ir import Kernel
from codegen.kernel.program import ExternStep, KernelStep, Program
from codegen.passes import pipeline
from codegen.passes.pipeline import lower_graph
from tests.codegen.aten_graphs import record
from tests.codegen.loop_interpreter import CheckFailed, run_program
from tests.codegen.native_programs import run_native


def lowered(function: Callable[..., Any], *inputs: Tensor) -> tuple[Program, list[Tensor]]:
    """The verified program of the function, and eager's results."""
    graph, results = record(function, inputs)
    before, pipeline.VERIFY = pipeline.VERIFY, True
    try:
        return lower_graph(graph), results
    finally:
        pipeline.VERIFY = before


def copied(inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Copies of the inputs with the same layout."""
    copies = []
    for value in inputs:
        memory = value.untyped_storage().clone()
        fresh = torch.empty(0, dtype=value.dtype)
        copies.append(fresh.set_(memory, value.storage_offset(), value.shape, value.stride()))
    return copies


def kernels(program: Program) -> list[Kernel]:
    return [step.kernel for step in program.steps if isinstance(step, KernelStep)]


def calls(program: Program) -> list[Any]:
    """The operators that the program calls."""
    return [step.op for step in program.steps if isinstance(step, ExternStep)]


def assert_same(actual: Any, expected: Any, exact: bool = False) -> None:
    if not isinstance(expected, Tensor):
        assert actual == expected
        return
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    if expected.numel() > 1:
        strides = zip(actual.stride(), expected.stride(), expected.shape)
        assert all(a == b for a, b, size in strides if size != 1), (
            f"strides {actual.stride()}, eager {expected.stride()}"
        )
    tolerance = {"rtol": 0.0, "atol": 0.0} if exact or not expected.is_floating_point() else {}
    torch.testing.assert_close(actual, expected, equal_nan=True, **tolerance)


def _aliases(values: list[Any], inputs: list[Any]) -> list[Any]:
    """For each value: which input's memory it uses, and where in it."""
    places = {t.untyped_storage().data_ptr(): number for number, t in enumerate(inputs) if t.numel()}
    tensors = [v for v in values if isinstance(v, Tensor)]
    return [
        (places.get(v.untyped_storage().data_ptr()), v.storage_offset()) if v.numel() else None
        for v in tensors
        if v.untyped_storage().data_ptr() in places
    ]


def check(
    function: Callable[..., Any],
    *inputs: Tensor,
    exact: bool = False,
    native: bool = True,
    no_calls: bool = True,
) -> Program:
    """Compares all three; returns the program. `no_calls`: everything has been lowered."""
    program, _ = lowered(function, *copied(inputs))
    eager_inputs = copied(inputs)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(function(*eager_inputs))
    for run in (run_program, run_native) if native else (run_program,):
        own = copied(inputs)
        actual = run(program, own)
        assert len(actual) == len(expected)
        for have, want in zip(actual, expected, strict=True):
            assert_same(have, want, exact)
        for have, want in zip(own, eager_inputs, strict=True):
            assert_same(have, want, exact)
        assert _aliases(actual, own) == _aliases(expected, eager_inputs)
    if no_calls:
        assert not calls(program), calls(program)
    return program


def check_fails(function: Callable[..., Any], record_inputs: list[Tensor], *inputs: Tensor) -> None:
    """Eager raises with `inputs`, so the program must fail (it is recorded with `record_inputs`, which are
    valid).
    """
    program, _ = lowered(function, *record_inputs)
    with pytest.raises((RuntimeError, IndexError, ZeroDivisionError)):
        function(*inputs)
    for run in (run_program, run_native):
        with pytest.raises(CheckFailed):
            run(program, copied(inputs))
