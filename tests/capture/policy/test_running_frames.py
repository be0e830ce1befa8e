"""Functions in which their own block begins: they do what eager does, whatever their loops do, and what is
left of them is captured.
"""

from __future__ import annotations

import asyncio
import cProfile
import sys
import textwrap
import threading
import traceback
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import _capture
import pytest
import torch

import capture
from capture.hooks import running_loops
from capture.report.counters import counters
from tests.capture.policy.test_top_level import FORMS, same

pytestmark = pytest.mark.usefixtures("captures_cost_nothing")

Block = Callable[[], Any]


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions of which a frame ended early."""
    found = []
    made = running_loops._made

    def noting(frame: types.FrameType, head: Any) -> Any:
        rest = made(frame, head)
        if rest is not None:
            found.append(frame.f_code.co_name)
        return rest

    monkeypatch.setattr(running_loops, "_made", noting)
    return found


def check(function: Callable[..., Any], *args: Any) -> Any:
    """The function takes a block. What it returns or raises is the same as without one, its lines too."""
    expected, found = (outcome(function, block, args) for block in (nullcontext, capture.enable))
    assert same(found, expected), (found, expected)
    assert (sys.gettrace(), _capture.is_followed()) == (None, False)
    return found


def outcome(function: Callable[..., Any], block: Block, args: tuple[Any, ...]) -> Any:
    torch.manual_seed(0)
    try:
        return function(block, *args)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        return type(error).__name__, str(error), [(f.lineno, f.name, f.line) for f in frames]


# --- forms of loops --------------------------------------------------------------------------------------

MORE_FORMS = (
    """
for i in range(20):
    x = x * 1.05
    if i == 15: return "early", x
#
while True:
    x = x * 1.05
    if x[0] > 2: return x
#
n = 0
while n < 20:
    n += 1
    x = x + n
#
for i in range(20):
    y = x * 2
    x = x + y * 0.1
    del y
#
for i in range(20):
    x = x + 1
    if i == 17: del i; break
#
try:
    for i in range(20):
        x = x + 1
        if i == 16: missing + 1
except NameError as error:
    n = str(error)
#
for i in range(20):
    try:
        x = x + 1
        if i % 3 == 0: raise ValueError(i)
    except ValueError as error:
        n = error.args[0]
    else:
        x = x * 0.9
    finally:
        x = x + 0.5
#
try:
    for i in range(20):
        x = x + 1
        if i == 14: return x
finally:
    n = "finally"
#
with pytest.raises(ZeroDivisionError) as n:
    for i in range(20):
        x = x + 1
        x / x
        1 // (15 - i)
n = str(n.value)
#
for i in range(3):
    try:
        raise KeyError(i)
    except KeyError:
        for k in range(8):
            x = x + k
#
for i in range(12):
    def f(): return x + i
    x = f() * 0.5
#
total = 0
def add():
    nonlocal total
    total += 1
    return total
for i in range(12):
    x = x + add()
n = total
#
for i in range(12):
    if i == 5: y = i
    if i > 7: x = x + y
#
for i in range(12):
    x = x + 1
    if i > 8: x = x + unbound
unbound = 3
#
for i in range(12):
    x = x + 1
    if i > 8: x = x + unbound
unbound = (lambda: unbound)
#
for i in range(12):
    n = [x * j for j in range(3)]
    x = sum(n) * 0.3
#
for i in range(12):
    x = x + sum(x.sum() * j for j in range(3)) * 0.01
#
for i, n in zip(
    range(20),
    range(20),
):
    x = x + i * n
"""
    + "#\nfor i in range(12):\n"
    + "".join(f"    v{n} = x + {n}\n" for n in range(300))
    + "    x = v299 * 0.1\n"
)

#: behind the block: what is in its variables
READ = "".join(
    f"""
try: kept.append({name})
except NameError as error: kept.append(str(error))"""
    for name in ("x", "i", "n")
)


def function_of(body: str) -> Callable[..., Any]:
    """A function of a block and `x`, with that body in the block."""
    lines = ["def f(block, x):", "    kept = []", "    with block():", textwrap.indent(body, " " * 8)]
    text = "\n".join((*lines, textwrap.indent(READ, " " * 4), "    return kept", ""))
    namespace: dict[str, Any] = {"torch": torch, "pytest": pytest}
    exec(compile(text, f"<{body}>", "exec"), namespace)
    function: Callable[..., Any] = namespace["f"]
    return function


def forms() -> list[str]:
    texts = (FORMS + "#\n" + MORE_FORMS).split("#\n")
    return [text for text in texts if "import *" not in text]


@pytest.mark.parametrize("text", forms())
def test_forms_of_loops(text: str) -> None:
    check(function_of(text), torch.ones(3))


# --- whose frames end early ------------------------------------------------------------------------------


def test_the_loop_is_captured_and_the_frame_ends_once(moved: list[str]) -> None:
    def train(block: Block) -> Any:
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.001)
        total = 0.0
        with block():
            for epoch in range(3):
                for step in range(12):
                    loss = (w * step - 1).pow(2).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    total += loss.item()
        return total, epoch, step, w

    check(train)
    assert moved == ["train"]
    assert counters["graphs"]["calls_captured"] > 0


def test_a_block_in_each_turn(moved: list[str]) -> None:
    def train(block: Block) -> Any:
        x, seen = torch.ones(3), []
        for epoch in range(4):
            with block():
                for step in range(9):
                    x = x * 0.9 + step
            seen.append((epoch, x.sum().item()))
        return seen

    check(train)
    assert moved == ["train"]  # the rest leaves its loops by itself


def test_two_blocks_after_each_other(moved: list[str]) -> None:
    def twice(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(9):
                x = x * 0.9 + i
        between = capture.is_capturing(), sys.gettrace(), x
        with block():
            while i < 20:
                x = x + i
                i += 1
        return x, i, between

    check(twice)
    assert moved[0] == "twice"


def test_what_is_called_again_and_again(moved: list[str]) -> None:
    def step(block: Block, x: torch.Tensor, turns: int) -> torch.Tensor:
        with block():
            for i in range(turns):
                x = x * 0.9 + i
            return x

    for turns in (1, 3, 20, 0, 9, 9, 30):
        check(step, torch.ones(3), turns)
    assert set(moved) == {"step"}


def test_recursion() -> None:
    def descend(block: Block, x: torch.Tensor, depth: int) -> torch.Tensor:
        with block():
            for i in range(6):
                x = x + i
                if i == 3 and depth:
                    x = descend(block, x, depth - 1)
        return x

    check(descend, torch.ones(3), 3)


def test_recursion_without_end() -> None:
    depths = []

    def descend(block: Block, depth: int) -> None:
        depths.append(depth)
        with block():
            for i in range(4):
                if i == 2:
                    descend(block, depth + 1)

    check(lambda block: outcome(descend, block, (0,))[:2])
    assert _capture.get_callback()[0] is None
    assert depths.count(0) == 2 and depths.count(20) == 2


def test_the_rest_stands_in_the_place_of_the_frame(moved: list[str]) -> None:
    """For who walks over the callers: a warning names the line of the caller, a stack has each frame once."""

    def walk() -> list[tuple[str, int]]:
        stack = traceback.walk_stack(sys._getframe(1))
        return [(frame.f_code.co_name, line) for frame, line in stack][:4]

    def loops(block: Block) -> Any:
        x, seen = torch.ones(3), []
        with block():
            for _ in range(20):
                x = x * 1.05
                seen.append(tuple(walk()))
                warnings.warn("look at the caller", stacklevel=2)
        return x, set(seen), walk()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check(loops)
    assert moved == ["loops"]
    assert len({(str(w.filename), w.lineno) for w in told}) == 1 and len(told) == 40


def test_an_exit_stack_begins_the_block(moved: list[str]) -> None:
    def stacked(block: Block) -> Any:
        x = torch.ones(3)
        with ExitStack() as stack:
            stack.enter_context(block())
            for i in range(12):
                x = x * 1.1 + i
        return x, i, capture.is_capturing()

    check(stacked)
    assert moved == ["stacked"]


def test_a_helper_begins_the_block(moved: list[str]) -> None:
    @contextmanager
    def around(block: Block) -> Iterator[None]:
        with block():
            yield

    def helped(block: Block) -> Any:
        x = torch.ones(3)
        with around(block):
            for i in range(12):
                x = x * 1.1 + i
        return x, i

    check(helped)
    assert not moved


def test_the_block_ends_in_the_loop() -> None:
    def ended(block: Block) -> Any:
        x, inside = torch.ones(3), block()
        inside.__enter__()
        for i in range(20):
            x = x * 1.1 + i
            if i == 13:
                inside.__exit__(None, None, None)
        return x, i

    check(ended)


def test_methods_and_the_class_of_super(moved: list[str]) -> None:
    class Base:
        def step(self, x: torch.Tensor, i: int) -> torch.Tensor:
            return x + i

    class Derived(Base):
        def run(self, block: Block) -> Any:
            x = torch.ones(3)
            with block():
                for i in range(12):
                    x = super().step(x, i)
            return x, __class__, self  # type: ignore[name-defined]

        def closed(self, block: Block) -> Any:
            x = torch.ones(3)
            with block():
                for i in range(12):
                    x = super().step((lambda x: x + len(self.__dict__))(x), i)
            return x

        def renamed(self, block: Block) -> Any:
            x, me, self = torch.ones(3), self, None  # type: ignore[assignment]
            with block():
                for i in range(12):
                    x = me.step(x, i)
                    if i == 10:
                        super().step(x, i)
            return x

    check(Derived().run)
    check(Derived().closed)
    check(Derived().renamed)
    assert set(moved) == {"run", "closed", "renamed"}


def test_cells_are_the_same_ones(moved: list[str]) -> None:
    def closed(block: Block) -> Any:
        x, calls = torch.ones(3), []

        def scaled(by: int) -> torch.Tensor:
            calls.append(count)
            return x * by

        count = 0
        with block():
            for i in range(12):
                count += 1
                x = scaled(2) * 0.6 + i
        count = 77
        return scaled(1), calls

    check(closed)
    assert moved == ["closed"]


def test_a_cell_that_is_bound_behind_the_loop(moved: list[str]) -> None:
    def late(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + i
        later = x.sum().item()
        return [later * k for k in range(3)]

    check(late)
    assert moved == ["late"]


def test_a_cell_that_may_be_unbound_keeps_its_error(moved: list[str]) -> None:
    def late(block: Block, turns: int) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(turns):
                x = x + i
            x = x + later
        later = 3
        return lambda: later

    def deleted(block: Block, turns: int) -> Any:
        x = early = torch.ones(3)
        with block():
            for i in range(turns):
                x = x + i
            del early
            x = x + early
        return lambda: early

    check(late, 12)
    check(deleted, 12)
    assert not moved


# --- what is left alone ----------------------------------------------------------------------------------


def test_frames_that_are_looked_at_run_as_they_are(moved: list[str]) -> None:
    def names(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + i
                if "x" not in locals():
                    return None
        return sorted(name for name in locals() if name != "block")

    def frames(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + sys._getframe().f_locals["i"]
        return x, i

    check(names)
    check(frames)
    assert not moved


def read_caller() -> int:
    frame = sys._getframe(1)
    return len(frame.f_locals)


def test_a_frame_whose_variables_others_read_runs_as_it_is(moved: list[str]) -> None:
    def read(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + read_caller()
        return x, i

    check(read)
    assert not moved


def test_generators_and_coroutines_run_as_they_are(moved: list[str]) -> None:
    def items(block: Block) -> Iterator[torch.Tensor]:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + i
                yield x

    async def later(block: Block) -> torch.Tensor:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + i
        return x

    check(lambda block: list(items(block)))
    check(lambda block: asyncio.run(later(block)))
    assert not moved


def test_code_without_a_return_runs_as_it_is(moved: list[str]) -> None:
    def endless(block: Block) -> Any:
        x, inside = torch.ones(3), block()
        inside.__enter__()
        while True:
            x = x + 1
            if x[0] > 30:
                inside.__exit__(None, None, None)
                raise ValueError(x[0].item())

    check(endless)
    assert not moved


def test_the_twin_of_a_block_around_leaves_its_loops_itself(moved: list[str]) -> None:
    def nested(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + i
        return x

    expected = nested(nullcontext)
    with capture.enable():
        assert torch.equal(nested(capture.enable), expected)
        with capture.disable():
            assert torch.equal(nested(nullcontext), expected)
    assert not moved


# --- exceptions and tracers ------------------------------------------------------------------------------


def test_an_interrupt_passes_through(moved: list[str]) -> None:
    ended = []

    def interrupted(block: Block) -> None:
        x = torch.ones(3)
        try:
            with block():
                for i in range(12):
                    x = x + i
                    if i == 9:
                        raise KeyboardInterrupt
        finally:
            ended.append((x.tolist(), i))

    for block in (nullcontext, capture.enable):
        with pytest.raises(KeyboardInterrupt) as raised:
            interrupted(block)
        assert len(traceback.extract_tb(raised.tb)) == 2
    assert ended[0] == ended[1]
    assert moved == ["interrupted"]
    assert not capture.is_capturing()


@pytest.mark.parametrize("fails", [False, True])
def test_a_trace_function_that_the_rest_sets_stays(fails: bool, moved: list[str]) -> None:
    lines: list[str] = []

    def tracer(frame: types.FrameType, event: str, arg: Any) -> Any:
        lines.append(f"{frame.f_code.co_name} {event}")
        return tracer

    def called(i: int) -> int:
        return i

    def traced(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + called(i)
                if i == 6:
                    sys.settrace(tracer)
                if i == 9 and fails:
                    raise ValueError(i)
        return x

    outcomes = []
    for block in (nullcontext, capture.enable):
        try:
            outcomes.append(outcome(traced, block, ()))
            assert sys.gettrace() is tracer
        finally:
            sys.settrace(None)
    assert same(*outcomes)
    assert lines.count("called call") >= 4
    assert moved == ["traced"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_profiler_that_the_rest_begins(fails: bool) -> None:
    def profiled(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + i
                if i == 6:
                    profiler.enable()
                if i == 9 and fails:
                    raise ValueError(i)
        return x

    for block in (nullcontext, capture.enable):
        profiler = cProfile.Profile()
        try:
            result = outcome(profiled, block, ())
        finally:
            profiler.disable()
        assert (result[0] == "ValueError") == fails if fails else torch.equal(result, torch.full((3,), 67.0))


def test_where_a_tracer_is_set_the_frame_runs_as_it_is(moved: list[str]) -> None:
    def run(block: Block) -> torch.Tensor:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + i
        return x

    sys.settrace(lambda *event: None)
    try:
        found = run(capture.enable)
    finally:
        sys.settrace(None)
    assert torch.equal(found, run(nullcontext))
    assert not moved


def test_an_error_in_what_ends_frames_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*args: Any) -> Any:
        raise RuntimeError("no rest")

    def run(block: Block) -> Any:
        x = torch.ones(3)
        with block():
            for i in range(12):
                x = x + i
        return x, i

    monkeypatch.setattr(running_loops, "_made", failing)
    with pytest.warns(capture.CaptureWarning, match="no rest"):
        check(run)
    with capture.config.patch(raise_on_error=True), pytest.raises(RuntimeError, match="no rest"):
        run(capture.enable)


# --- lifetimes -------------------------------------------------------------------------------------------


class Held:
    """Something whose end can be seen."""


def test_no_value_lives_longer(moved: list[str]) -> None:
    def run(block: Block) -> list[Any]:
        held, seen = Held(), []
        first = weakref.ref(held)
        argument = weakref.ref(items := [Held()][0])
        with block():
            for i in range(8):
                seen.append((first() is None, argument() is None))
                if i == 3:
                    held = None  # type: ignore[assignment]
                if i == 5:
                    del items
        return seen

    check(run)
    assert moved == ["run"]


def test_the_arguments_of_a_call_end_where_the_loop_lets_them_go() -> None:
    def run(block: Block, held: Held | None) -> list[bool]:
        gone, seen = weakref.ref(held), []
        with block():
            for i in range(8):
                seen.append(gone() is None)
                if i == 4:
                    held = None
        return seen

    expected = run(nullcontext, Held())  # `assert` would hold the argument
    seen = run(capture.enable, Held())
    assert seen == expected  # where another evaluator is installed, the caller holds it in both


def test_the_iterator_ends_with_its_loop() -> None:
    closed = []

    def items() -> Iterator[int]:
        try:
            yield from range(20)
        finally:
            closed.append(True)

    def run(block: Block) -> list[int]:
        seen = []
        with block():
            for i in items():
                if i == 9:
                    break
                seen.append(len(closed))
            seen.append(len(closed))
        closed.clear()
        return seen

    check(run)


def test_a_frame_that_somebody_holds_is_empty_behind_its_end() -> None:
    frames = []

    def hold() -> None:
        frames.append(sys._getframe(1))

    def run(block: Block) -> Any:
        x, kept = torch.ones(3), Held()
        hold()
        with block():
            for i in range(12):
                x = x + i
        return x, (lambda: kept) and i

    check(run)
    ended, moved = frames
    assert "x" in ended.f_locals
    assert not {"x", "i"} & {*moved.f_locals}
    assert isinstance(moved.f_locals["kept"], Held)
    frames.clear()


def test_threads() -> None:
    results: list[Any] = []

    def run(block: Block, scale: float) -> torch.Tensor:
        x = torch.ones(3)
        with block():
            for i in range(40):
                x = x * scale + i
        return x

    def many(scale: float) -> None:
        for _ in range(5):
            results.append((scale, run(capture.enable, scale)))

    threads = [threading.Thread(target=many, args=(0.5 + k / 10,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    assert all(torch.allclose(found, run(nullcontext, scale)) for scale, found in results)
