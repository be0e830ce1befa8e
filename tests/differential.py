"""The differential helper: a captured program must do the same as in eager.

In:  a function or module with arguments, or a factory that makes them for each run.
Out: an AssertionError that names the first difference, or a description of the capture
     (`capture.Explanation`: graphs, breaks, operations, recompiles).

    found = assert_same(toy_example, (a, b), calls=3)
    assert found.graph_count == 2

Both runs get deep copies of the same arguments and the same seeds. Compared: values (dtype, shape, strides,
offset, requires_grad, NaN and -0.0 included), which of all tensors are the same object or share memory,
exceptions (type, text, the user's line), arguments and modules after the calls, gradients, random states,
grad mode, printed text.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

import capture
from capture.explain import Collector, Explanation
from capture.report.errors import CaptureError
from capture.report.observe import observing


@dataclass
class Program:
    """A program to run: `fn(*args, **kwargs)`."""

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def copied(self) -> Program:
        fn, args, kwargs = copy.deepcopy((self.fn, self.args, self.kwargs))
        return Program(fn, args, kwargs)


@dataclass
class Outcome:
    """Everything that is visible of one run of a program."""

    values: list[Any]
    error: tuple[str, str, str] | None
    program: Program
    printed: str
    random_states: list[Any]
    grad_mode: bool

    def tensors(self) -> list[torch.Tensor]:
        """Arguments and results in a fixed order."""
        found: list[torch.Tensor] = []
        _collect((self.program.fn, self.program.args, self.program.kwargs, self.values), found, set())
        return found


def assert_same(
    fn: Callable[..., Any] | None = None,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    factory: Callable[[], Program] | None = None,
    calls: int = 2,
    backend: Any = "eager",
    hook: str = "pep523",
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backward: bool = True,
    tolerance: tuple[float, float] | None = None,
    seed: int = 0,
) -> Explanation:
    """Runs in eager and captured, `calls` times each, and compares.

    `factory` instead of `fn`: for values that deep copies can't separate (closures, globals). tolerance
    (relative, absolute) None: exact. backward: also compare gradients of the sum of the results that require
    them.
    """
    make = factory or Program(fn, args, kwargs or {}).copied  # type: ignore[arg-type]
    eager = _run(make(), calls, seed, backward, contextlib.nullcontext())
    capture.reset()
    collector = Collector()
    with observing(collector):
        region = capture.enable(backend, hook=hook, fullgraph=fullgraph, dynamic=dynamic)
        captured = _run(make(), calls, seed, backward, region)
    compare_outcomes(eager, captured, tolerance)
    return collector.found


# --- running ------------------------------------------------------------------------------------------------


def _run(program: Program, calls: int, seed: int, backward: bool, region: Any) -> Outcome:
    _seed_all(seed)
    printed = io.StringIO()
    grad_before = torch.is_grad_enabled()
    values: list[Any] = []
    error = None
    with contextlib.redirect_stdout(printed):
        try:
            with region:
                for _ in range(calls):
                    values.append(program.fn(*program.args, **program.kwargs))
        except CaptureError:
            raise
        except Exception as raised:
            error = _describe_error(raised)
        if backward and error is None:
            _run_backward(values)
    grad_after = torch.is_grad_enabled()
    torch.set_grad_enabled(grad_before)
    states = [torch.get_rng_state().tolist(), random.getstate(), repr(numpy.random.get_state())]
    return Outcome(values, error, program, printed.getvalue(), states, grad_after)


def _seed_all(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def _run_backward(values: list[Any]) -> None:
    found: list[torch.Tensor] = []
    _collect(values, found, set())
    losses = [
        t.sum().abs() if t.is_complex() else t.sum()
        for t in found
        if t.requires_grad and t.grad_fn is not None
    ]
    if losses:
        sum(losses[1:], losses[0]).backward()


def _describe_error(error: BaseException) -> tuple[str, str, str]:
    """Type, text, and the innermost line outside of capture and torch."""
    ours = ("/capture/", "/codegen/", "/guards/", "/cache/", "/torch/")
    user = [
        f for f in traceback.extract_tb(error.__traceback__) if not any(part in f.filename for part in ours)
    ]
    place = f"{user[-1].filename}:{user[-1].lineno}" if user else ""
    return type(error).__qualname__, str(error), place


def _collect(value: Any, found: list[torch.Tensor], seen: set[int]) -> None:
    """Every tensor that is reachable from `value`, in a fixed order."""
    if isinstance(value, torch.Tensor):
        found.append(value)
        return
    if id(value) in seen or isinstance(value, (str, bytes, int, float, type)):
        return
    seen.add(id(value))
    if isinstance(value, dict):
        for item in value.values():
            _collect(item, found, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            _collect(item, found, seen)
    elif hasattr(value, "__dict__") and not callable(value) or isinstance(value, torch.nn.Module):
        _collect(vars(value), found, seen)


# --- comparing ----------------------------------------------------------------------------------------------


def compare_outcomes(eager: Outcome, captured: Outcome, tolerance: tuple[float, float] | None = None) -> None:
    """Raises AssertionError at the first difference."""
    assert captured.error == eager.error, f"exception: eager {eager.error}, captured {captured.error}"
    assert captured.printed == eager.printed, (
        f"printed text: eager {eager.printed!r}, captured {captured.printed!r}"
    )
    compare_values(eager.values, captured.values, "values", tolerance)
    compare_values(eager.program.args, captured.program.args, "arguments", tolerance)
    compare_values(eager.program.kwargs, captured.program.kwargs, "keyword arguments", tolerance)
    if isinstance(eager.program.fn, torch.nn.Module):
        compare_values(eager.program.fn, captured.program.fn, "module", tolerance)
    assert _sharing(captured) == _sharing(eager), (
        f"aliasing: eager {_sharing(eager)}, captured {_sharing(captured)}"
    )
    assert captured.random_states == eager.random_states, "random states differ after the calls"
    assert captured.grad_mode == eager.grad_mode, (
        f"grad mode afterwards: eager {eager.grad_mode}, captured {captured.grad_mode}"
    )


def _sharing(outcome: Outcome) -> list[tuple[int, int, int]]:
    """For each tensor: the first one that is the same object, the first one on the same memory, and the
    offset from it.
    """
    tensors = outcome.tensors()
    objects: dict[int, int] = {}
    memory: dict[int, int] = {}
    rows = []
    for index, tensor in enumerate(tensors):
        pointer = tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0
        first = memory.setdefault(pointer, index) if pointer else index
        rows.append((objects.setdefault(id(tensor), index), first, tensor.storage_offset() if pointer else 0))
    return rows


def compare_values(
    eager: Any, captured: Any, where: str, tolerance: tuple[float, float] | None = None, seen: Any = None
) -> None:
    """Compares structure, types and contents, to any depth."""
    seen = set() if seen is None else seen
    assert type(captured) is type(eager), f"{where}: eager {type(eager)}, captured {type(captured)}"
    if id(eager) in seen:
        return
    if isinstance(eager, torch.Tensor):
        compare_tensors(eager, captured, where, tolerance)
    elif isinstance(eager, dict):
        assert list(captured) == list(eager), f"{where}: keys: eager {list(eager)}, captured {list(captured)}"
        seen.add(id(eager))
        for key in eager:
            compare_values(eager[key], captured[key], f"{where}[{key!r}]", tolerance, seen)
    elif isinstance(eager, (list, tuple)):
        assert len(captured) == len(eager), f"{where}: eager has {len(eager)} items, captured {len(captured)}"
        seen.add(id(eager))
        for index, (one, other) in enumerate(zip(eager, captured)):
            compare_values(one, other, f"{where}[{index}]", tolerance, seen)
    elif isinstance(eager, float):
        compare_floats(eager, captured, where, tolerance)
    elif isinstance(eager, torch.nn.Module) or (hasattr(eager, "__dict__") and not callable(eager)):
        seen.add(id(eager))
        compare_values(vars(eager), vars(captured), where, tolerance, seen)
    elif not callable(eager):
        assert _equal(eager, captured), f"{where}: eager {eager!r}, captured {captured!r}"


def _equal(one: Any, other: Any) -> bool:
    if type(one).__eq__ is object.__eq__:
        return True  # an object that has neither contents nor its own equality
    result = one == other
    return bool(result.all()) if isinstance(result, numpy.ndarray) else bool(result)


def compare_floats(eager: float, captured: float, where: str, tolerance: tuple[float, float] | None) -> None:
    if tolerance is None:
        same = repr(captured) == repr(eager)
    else:
        both_nan = math.isnan(eager) and math.isnan(captured)
        same = both_nan or math.isclose(eager, captured, rel_tol=tolerance[0], abs_tol=tolerance[1])
    assert same, f"{where}: eager {eager!r}, captured {captured!r}"


_PROPERTIES: tuple[tuple[str, Callable[[torch.Tensor], Any]], ...] = (
    ("dtype", lambda t: t.dtype),
    ("shape", lambda t: t.shape),
    ("layout", lambda t: t.layout),
    ("strides", lambda t: t.stride() if t.layout is torch.strided else None),
    ("offset", lambda t: t.storage_offset() if t.layout is torch.strided else None),
    ("requires_grad", lambda t: t.requires_grad),
    ("leaf", lambda t: t.is_leaf),
    ("conjugate", lambda t: t.is_conj()),
    ("inference", lambda t: t.is_inference()),
)


def comparable(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in a form that assert_close accepts: it takes at most 64 dims."""
    return tensor.detach() if tensor.dim() <= 64 else tensor.detach().flatten()


def compare_tensors(
    eager: torch.Tensor, captured: torch.Tensor, where: str, tolerance: tuple[float, float] | None
) -> None:
    for name, read in _PROPERTIES:
        assert read(captured) == read(eager), (
            f"{where}: {name}: eager {read(eager)}, captured {read(captured)}"
        )
    exact = tolerance is None or not (eager.is_floating_point() or eager.is_complex())
    relative, absolute = (0.0, 0.0) if exact else tolerance  # type: ignore[misc]
    torch.testing.assert_close(
        comparable(captured),
        comparable(eager),
        rtol=relative,
        atol=absolute,
        equal_nan=True,
        msg=lambda text: f"{where}: {text}",
    )
    if exact and eager.is_floating_point() and eager.layout is torch.strided:
        assert torch.equal(torch.signbit(eager), torch.signbit(captured)), (
            f"{where}: the signs of zeros or NaN differ"
        )
    if not eager.is_leaf:
        return
    assert (captured.grad is None) == (eager.grad is None), (
        f"{where}.grad: eager {eager.grad}, captured {captured.grad}"
    )
    if eager.grad is not None:
        compare_tensors(eager.grad, captured.grad, f"{where}.grad", tolerance)
