"""Calls that run behind the graph: output, its order, lines, errors, and where they break it."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import traceback
import warnings

import pytest
import torch

import capture
from tests.capture.test_cases import same

LOG = logging.getLogger("tests.deferred")
X = torch.arange(12.0).reshape(3, 4)


def prints(x):
    print("first", x.shape, sep=" | ")
    y = x * 2
    print(f"sum {y.sum().item():.2f}", y[0], end="!\n")
    print([1, {"a": x.dtype}], None, 2.5, file=sys.stderr)
    sys.stdout.write("direct\n")
    sys.stdout.flush()
    return y + 1


class WritesItsText:
    def __str__(self):
        print("its")
        return "text"


def prints_what_prints(x):
    print("here", WritesItsText())
    return x + 1


class Layer(torch.nn.Module):
    def forward(self, x):
        print("in the layer", x.size(0))
        return x + 1


LAYER = Layer()


def prints_in_callees(x):
    with torch.no_grad():
        y = LAYER(x) * 2
    print("behind")
    return y


def prints_and_changes(x, seen=[]):  # noqa: B006
    seen.append(len(seen))
    print(len(seen))
    return x + 1


PRINTING = [(p, whole) for p in (prints, prints_in_callees, prints_and_changes) for whole in (False, True)]


@pytest.mark.parametrize(("program", "fullgraph"), [*PRINTING, (prints_what_prints, False)])
def test_output_is_that_of_eager(program, fullgraph, capfd) -> None:
    def outcome(function):
        capfd.readouterr()
        result = function(X.clone())
        return result, *capfd.readouterr()

    capture.reset()
    defaults = program.__defaults__
    captured = capture.compile(program, fullgraph=fullgraph)
    for _ in range(2):
        program.__defaults__ = ([],) if defaults else None
        expected = outcome(program)
        program.__defaults__ = ([],) if defaults else None
        given = outcome(captured)
        assert same(given[0], expected[0])
        assert given[1:] == expected[1:]
    program.__defaults__ = defaults
    assert capture.counters["graphs"]["compiled"] >= 1
    breaks = {"builtin": 1} if program is prints_what_prints else {}
    assert capture.counters["graph_breaks"] == breaks


def warns_in_a_callee(x):
    return warned(x) + 1


def warned(x):
    warnings.warn("old", DeprecationWarning, stacklevel=2)
    warnings.warn(f"of {x.shape[0]} rows")
    return x * 2


def test_warnings_have_the_lines_of_their_callers() -> None:
    def found(function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(X)
        return [(str(w.message), w.category, w.filename, w.lineno) for w in caught]

    capture.reset()
    captured = capture.compile(warns_in_a_callee, fullgraph=True)
    expected = found(warns_in_a_callee)
    assert [found(captured), found(captured)] == [expected, expected]


def test_warnings_as_errors_are_raised_by_python() -> None:
    capture.reset()
    captured = capture.compile(warns_in_a_callee)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        captured(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning, match="old") as raised:
            captured(X)
    assert raised.traceback[-1].name == "warned"


def logs(x):
    LOG.info("rows %d", x.shape[0])
    LOG.debug("not shown")
    return inner_log(x) + 1


def inner_log(x):
    LOG.warning("sum %.1f", x.sum().item())
    logging.error("root")
    return x * 2


def test_logs_have_the_lines_of_their_callers(caplog) -> None:
    def found(function):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            function(X)
        return [(r.getMessage(), r.levelname, r.funcName, r.lineno, r.pathname) for r in caplog.records]

    capture.reset()
    captured = capture.compile(logs, fullgraph=True)
    expected = found(logs)
    assert len(expected) == 3
    assert [found(captured), found(captured)] == [expected, expected]


class Refuses(io.StringIO):
    """A stream of a library whose `write` fails."""

    write = staticmethod(io.StringIO("closed").close)


def prints_inside(x):
    return printer(x + 1) * 2


def printer(y):
    print("text")
    return y


def test_an_error_has_its_lines() -> None:
    def error_of(function):
        with contextlib.redirect_stdout(Refuses()):
            try:
                function(X)
            except TypeError as error:
                entries = traceback.extract_tb(error.__traceback__)
                return str(error), [(e.name, e.line) for e in entries if e.name.startswith("print")]

    capture.reset()
    captured = capture.compile(prints_inside)
    captured(X)
    assert error_of(captured) == error_of(prints_inside)


def inside_of_try(x):
    y = x + 1
    try:
        print("text")
    except TypeError:
        y = y * 100
    return y + 1


def test_a_call_whose_exception_may_be_caught_breaks_the_graph() -> None:
    capture.reset()
    captured = capture.compile(inside_of_try)
    captured(X)
    with contextlib.redirect_stdout(Refuses()):
        assert same(captured(X), inside_of_try(X))
    assert capture.counters["graph_breaks"]["call_skipped"]


class Tee:
    """A stream of the program, which looks at the program's state."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def write(self, text: str) -> int:
        self.seen.append(STATE.count)
        return len(text)

    def flush(self) -> None:
        pass


class State:
    count = 0


STATE = State()


def counts_and_prints(x):
    STATE.count += 1
    print("one", end="")
    STATE.count += 1
    return x + STATE.count


@pytest.mark.parametrize("captured_before", [False, True])
def test_a_stream_of_the_program_sees_its_state(captured_before) -> None:
    capture.reset()
    captured = capture.compile(counts_and_prints)
    seen = []
    for function in (counts_and_prints, captured):
        if captured_before:
            STATE.count = 0
            function(X)
        STATE.count, tee = 0, Tee()
        with contextlib.redirect_stdout(tee):  # type: ignore[type-var]
            function(X)
        seen.append(tee.seen)
    assert seen[0] == seen[1]


def redirects(x):
    print("before")
    held, sys.stdout = sys.stdout, sys.stderr
    print("inside", x.sum().item())
    sys.stdout = held
    print("after")
    return x + 1


def test_a_write_to_a_stream_of_sys_is_in_order(capfd) -> None:
    capture.reset()
    captured = capture.compile(redirects)
    captured(X)
    given = capfd.readouterr()
    redirects(X)
    assert given == capfd.readouterr()


def writes_and_may_fail(x, index):
    x.add_(1)
    print("seen")
    return x[index]


def test_output_comes_before_the_error_of_a_graph_that_wrote(capfd) -> None:
    capture.reset()
    captured = capture.compile(writes_and_may_fail)
    for index in (torch.tensor([1]), torch.tensor([7])):
        outcomes = []
        for function in (writes_and_may_fail, captured):
            x = X.clone()
            with contextlib.suppress(IndexError):
                function(x, index)
            outcomes.append((capfd.readouterr().out, x.tolist()))
        assert outcomes[0] == outcomes[1]


class Unprintable:
    def __str__(self):
        raise AssertionError("nobody asks for this text")


def logs_below_the_level(x):
    items = []
    y = x * 2
    try:
        LOG.debug("step %s of %s", y, Unprintable())
        LOG.log(logging.INFO, "items %s", items)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("sum %s", y.sum())
    except ValueError:
        return None
    return y + 1


def test_a_record_below_the_level_of_its_logger_is_nothing(caplog) -> None:
    capture.reset()
    LOG.setLevel(logging.WARNING)
    captured = capture.compile(logs_below_the_level, fullgraph=True)
    try:
        assert torch.equal(captured(X), X * 2 + 1)
        assert capture.counters["graphs"]["compiled"] == 1
        LOG.setLevel(logging.INFO)
        assert torch.equal(captured(X), X * 2 + 1)
        assert [record.getMessage() for record in caplog.records] == ["items []"]
        LOG.setLevel(logging.ERROR)
        assert torch.equal(captured(X), X * 2 + 1)
        assert len(caplog.records) == 1 and capture.counters["graphs"]["compiled"] == 1
    finally:
        LOG.setLevel(logging.NOTSET)


def _disables(x):
    LOG.warning("before")
    LOG.disabled = True
    return x * 2


def _drops_the_handlers(x):
    LOG.warning("before")
    LOG.handlers.clear()
    return x * 2


def _changes_a_handler(x):
    LOG.warning("before")
    LOG.handlers[0].terminator = "!"
    return x * 2


def _disables_and_logs(x):
    LOG.disabled = True
    LOG.warning("not this")
    LOG.disabled = False
    LOG.warning("after")
    return x * 2


@pytest.mark.parametrize("program", [_disables, _drops_the_handlers, _changes_a_handler, _disables_and_logs])
def test_a_record_passes_what_its_logger_has_at_that_time(program) -> None:
    def written(function):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        LOG.addHandler(handler)
        LOG.propagate = False
        try:
            assert torch.equal(function(X), X * 2)
        finally:
            LOG.disabled, LOG.propagate = False, True
            LOG.handlers.clear()
        return stream.getvalue()

    expected = written(program)
    assert expected
    capture.reset()
    captured = capture.compile(program)
    assert [written(captured) for _ in range(2)] == [expected] * 2


def finds_its_logger(x, name):
    logging.getLogger(name).warning("found")
    return x * 2


def test_loggers_are_found_by_name(caplog) -> None:
    """The first call for a name makes the logger, in Python."""
    capture.reset()
    captured = capture.compile(finds_its_logger)
    for name in (None, "root", "tests.deferred", "tests.new_logger", "tests.new_logger"):
        assert torch.equal(captured(X, name), X * 2)
    names = [record.name for record in caplog.records]
    assert names == ["root", "root", "tests.deferred", "tests.new_logger", "tests.new_logger"]
    assert capture.counters["graph_breaks"] == {"call_skipped": 1}
    with pytest.raises(TypeError, match="A logger name must be a string"):
        captured(X, 3)
