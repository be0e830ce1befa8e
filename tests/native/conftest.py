"""The frame hook in tests: each test has its own key, and callbacks are always removed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import _capture
import pytest

ROOT = Path(__file__).parents[2]
#: A process of Python under the sanitizers needs what scripts/sanitize.py has set.
SANITIZER = {
    name: os.environ[name]
    for name in ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "PYTHONMALLOC")
    if name in os.environ
}


class Hook:
    """The tests' access to `_capture`. `seen` are the Frame objects that the callback got."""

    def __init__(self) -> None:
        self.key = object()
        self.seen: list[Any] = []
        self.answers: dict[CodeType, Any] = {}

    def callback(self, frame: Any) -> Any:
        self.seen.append(frame)
        return self.answers.get(frame.code)

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """fn(*args, **kwargs), with its frame and all below hooked."""
        return self.call_with(self.callback, fn, *args, **kwargs)

    def call_with(
        self, callback: Callable[[Any], Any], fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """The same with another callback. Only fn's frame is seen: a context manager here would add its
        __exit__.
        """
        previous = _capture.set_callback(callback, self.key)
        try:
            return fn(*args, **kwargs)
        finally:
            _capture.set_callback(*previous)

    def names(self) -> list[str]:
        return [frame.code.co_name for frame in self.seen]

    def replace(self, fn: FunctionType, by: FunctionType | CodeType, guards: Any = None) -> Any:
        """Makes the code of `by` run in place of fn's."""
        entry = _capture.Entry(guards, self.key, code=getattr(by, "__code__", by))
        _capture.add_entry(fn.__code__, entry)
        return entry

    def graph(
        self, fn: FunctionType, graph: Any, result: Any = (("out", 0),), guards: Any = None, **more: Any
    ) -> Any:
        entry = _capture.Entry(guards, self.key, graph=graph, result=result, **more)
        _capture.add_entry(fn.__code__, entry)
        return entry


@pytest.fixture
def hook() -> Iterator[Hook]:
    yield Hook()
    assert _capture.get_callback() == (None, None), "the test left a callback behind"
    assert not _capture.is_installed(), "the test left the evaluator installed"


@pytest.fixture
def in_process() -> Callable[..., str]:
    """Runs a program in its own Python process and returns its output; the test fails if it crashed."""

    def run(program: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", program],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", **SANITIZER, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
