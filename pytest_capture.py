"""The pytest plugin: tests run captured, and may forbid graph breaks and recompiles.

In:  `--capture-enable`, `--capture-backend NAME`; the fixtures `no_graph_breaks` and `no_recompiles`.
Out: a test fails if a fixture forbids what happened in it; a line at the end counts graphs and breaks.

    pytest --capture-enable                    # each test captures what it calls, at the first call
    def test_step(no_graph_breaks): ...        # fails with each break, its line and what helps

A module of its own, outside of the package: pytest loads it in every run, and `import capture` takes time.
(pytest itself has an option `--capture`, for output.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from capture.explain import Explanation

Wrapped = Generator[None, Any, Any]
_BREAKS = pytest.StashKey["Explanation"]()
_RECOMPILES = pytest.StashKey["Explanation"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("capture-runtime", "capture: torch programs as native code")
    group.addoption("--capture-enable", action="store_true", help="capture what each test calls")
    group.addoption(
        "--capture-backend", metavar="NAME", help="the same with this backend: llvm, aot_eager, eager"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--capture-enable") or config.getoption("--capture-backend"):
        config.pluginmanager.register(_Capturing(config.getoption("--capture-backend") or "llvm"))


class _Capturing:
    """Runs the call of each test in a block of `capture.enable`."""

    def __init__(self, backend: str) -> None:
        import capture

        try:
            capture.backends.lookup(backend)
        except capture.UnknownBackend as error:
            raise pytest.UsageError(f"--capture-backend: {error}") from None
        self.backend = backend
        self.graphs = self.breaks = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Wrapped:
        import capture

        with capture.config.patch(when="first"), _watching() as found, capture.enable(self.backend):
            result = yield
        self.graphs += found.graph_count
        self.breaks += found.graph_break_count
        return result

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(
            f"capture ({self.backend}): {self.graphs} graphs, {self.breaks} graph breaks"
        )


# --- fixtures ---------------------------------------------------------------------------------------------


@pytest.fixture
def no_graph_breaks(request: pytest.FixtureRequest) -> Generator[Explanation, None, None]:
    """The test fails if a graph breaks in it, on its thread. Its value is the Explanation so far."""
    with _watching() as found:
        request.node.stash[_BREAKS] = found
        yield found


@pytest.fixture
def no_recompiles(request: pytest.FixtureRequest) -> Generator[Explanation, None, None]:
    """The test fails if something is captured again in it, on its thread."""
    with _watching() as found:
        request.node.stash[_RECOMPILES] = found
        yield found


@contextlib.contextmanager
def _watching() -> Generator[Explanation, None, None]:
    """A block. It gives an Explanation of what is captured in it."""
    from capture.explain import Collector
    from capture.report.observe import observing

    collector = Collector()
    with observing(collector):
        yield collector.found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Wrapped:
    result = yield
    if _BREAKS in item.stash and item.stash[_BREAKS].break_reasons:
        pytest.fail("\n\n".join(map(str, item.stash[_BREAKS].break_reasons)), pytrace=False)
    if _RECOMPILES in item.stash and item.stash[_RECOMPILES].recompiles:
        pytest.fail("\n".join(item.stash[_RECOMPILES].recompiles), pytrace=False)
    return result
