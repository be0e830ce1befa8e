"""Where machine code is kept, and that a program is compiled where there is no place for it."""

from __future__ import annotations

import itertools
import logging
import os
import pwd
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import capture
from cache.entries import entries
from capture.backends import llvm

numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The user's cache folder, which these tests move, is looked up again."""
    monkeypatch.setattr(capture.config, "cache_dir", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    llvm._open_store.cache_clear()
    capture.reset()
    yield
    llvm._open_store.cache_clear()


def no_user(name: str | int) -> None:
    raise KeyError(name)


def kernels_run(count: int = 2) -> None:
    """New functions are compiled: each has a number of its own, so no machine code is there."""
    x = torch.linspace(0, 1, 1000)
    for number in itertools.islice(numbers, count):
        names: dict[str, Any] = {}
        exec(f"def scaled(x): return (x * {number + os.getpid() / 2**22}).sin() * x", names)
        scaled = names["scaled"]
        assert torch.allclose(capture.compile(scaled)(x), scaled(x))
        assert [type(entry.graph).__name__ for entry in entries(scaled.__code__)] == ["CompiledGraph"]


def test_no_home(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The environment has no HOME, and the password file does not have the user."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", no_user)
    monkeypatch.setattr(pwd, "getpwnam", no_user)
    with caplog.at_level(logging.WARNING, "capture"):
        kernels_run()
    (record,) = caplog.records
    assert record.name == "capture.cache"
    assert "nothing that is compiled is kept for the next process" in record.getMessage()
    assert "CAPTURE_CACHE_DIR" in record.getMessage()


@pytest.mark.parametrize(
    ("given", "folder"), [("/caches", "/caches"), ("caches", "/home/me/.cache"), ("", "/home/me/.cache")]
)
def test_the_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, given: str, folder: str) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert str(llvm.kernel_store().directory) == f"{folder}/capture"


@pytest.mark.parametrize("home", ["/proc/1", "/dev/null", "/proc/version/x"])
def test_a_home_that_can_not_be_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    with caplog.at_level(logging.WARNING, "capture"):
        kernels_run()
    (record,) = caplog.records
    assert f"can't use {home}/.cache/capture/" in record.getMessage()
    assert "not kept for the next process" in record.getMessage()
