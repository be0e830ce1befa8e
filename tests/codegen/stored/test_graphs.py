"""Compiled graphs that come from data do bit for bit what the compiled ones do."""

from __future__ import annotations

import functools
import logging
import os
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx

from cache.store import KernelStore
from codegen.autograd.training import TrainingGraph
from codegen.compile_fx import compile_fx
from codegen.stored.captured import captured, graph_key
from codegen.stored.compile_graph import compile_graph, key_of, restore
from codegen.stored.graphs import from_data, to_data
from tests.codegen.graph_programs import PROGRAMS
from tests.codegen.test_compile_fx import graph_of, outcome


@pytest.fixture(autouse=True)
def uses_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)


def bits(value: Any) -> Any:
    """The value with tensors as bytes."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().clone().contiguous().reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if value.numel() else b""
        return value.dtype, value.shape, value.stride(), data
    return [bits(item) for item in value] if isinstance(value, (list, tuple)) else value


def seen(run: Any, args: list[Any]) -> dict[str, Any]:
    """What a caller sees of a call, its error too."""
    try:
        return {name: bits(value) for name, value in outcome(run, args).items()}
    except Exception as error:
        return {"error": type(error), "text": str(error)}


def both(function: Any, make: Any, with_backward: bool) -> tuple[Any, Any] | None:
    """(compiled, from data); None where the graph is not stored."""
    module, example = graph_of(function, make()), make()
    known = captured(module, example)
    compiled = compile_fx(module, example)
    if with_backward:
        seen(compiled, make())
    data = None if known is None else to_data(compiled, known, None)
    return None if data is None else (compiled, from_data(data))


#: programs whose graph is not stored
NOT_STORED = {"scalar_operands", "float_argument"}


@pytest.mark.parametrize("with_backward", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_from_data_as_compiled(name: str, with_backward: bool) -> None:
    function, make = PROGRAMS[name]
    pair = both(function, make, with_backward)
    assert (pair is None) == (name in NOT_STORED)
    if pair is not None:
        compiled, found = pair
        for _ in range(2):
            assert seen(found, make()) == seen(compiled, make())
        if with_backward and isinstance(found, TrainingGraph):
            assert "segments" not in vars(found.segments[0].whole), "the backward was compiled again"


def two_products(x: torch.Tensor, w: torch.Tensor, c: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return x * c + w * k


def test_what_was_written_is_not_needed_for_another_gradient() -> None:
    def make() -> list[torch.Tensor]:
        torch.manual_seed(0)
        return [torch.randn(3, requires_grad=i < 2) for i in range(4)]

    pair = both(two_products, make, with_backward=True)
    assert pair is not None
    for graph in pair:
        x, w, c, k = make()
        (result,) = graph(x, w, c, k)
        c.mul_(2)
        assert torch.autograd.grad(result.sum(), w, retain_graph=True)[0].equal(k)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.grad(result.sum(), x)


def compile_in(folder: Any, function: Any, *args: Any) -> Any:
    return compile_graph(graph_of(function, list(args)), list(args), store=KernelStore(folder))


def two(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * y + 1


def test_a_graph_is_compiled_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    first = compile_in(tmp_path, two, x, y)
    assert key_of(first)
    monkeypatch.setattr("codegen.stored.compile_graph.compile_anew", None)
    second = compile_in(tmp_path, two, x, y)
    assert key_of(second) == key_of(first)
    assert torch.equal(second(x, y)[0], x * y + 1)
    third = restore(key_of(first), KernelStore(tmp_path))
    assert torch.equal(third(x, y)[0], x * y + 1)


def test_another_state_is_another_graph(tmp_path: Any) -> None:
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    key = key_of(compile_in(tmp_path, two, x, y))
    with torch.no_grad():
        assert restore(key, KernelStore(tmp_path)) is None
        assert key_of(compile_in(tmp_path, two, x, y)) != key


def damaged(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 0x20]) + data[position + 1 :]


def test_every_flipped_byte_is_a_miss(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    key = key_of(compile_in(tmp_path, lambda x: x + 1, torch.ones(2)))
    (path,) = tmp_path.glob("??/*.graph")
    whole = path.read_bytes()
    store = KernelStore(tmp_path)
    with caplog.at_level(logging.ERROR, "capture.cache"):
        for position in range(len(whole)):
            path.write_bytes(damaged(whole, position))
            assert restore(key, store) is None, position
    path.write_bytes(whole)
    assert restore(key, store) is not None


def test_another_level_or_version_is_another_graph(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    key = key_of(compile_in(tmp_path, two, x, y))
    with monkeypatch.context() as patch:
        patch.setenv("CAPTURE_CPU", "x86-64")
        assert restore(key, KernelStore(tmp_path)) is None
        assert key_of(compile_in(tmp_path, two, x, y)) != key
    with monkeypatch.context() as patch:
        patch.setattr("codegen.stored.state.known_versions", "another")
        assert restore(key, KernelStore(tmp_path)) is None
        assert key_of(compile_in(tmp_path, two, x, y)) != key
    assert restore(key, KernelStore(tmp_path)) is not None


def key_for(function: Any, *args: Any) -> str | None:
    return graph_key(graph_of(function, list(args)), list(args))


def test_what_decides_a_compilation_is_in_the_key() -> None:
    x = torch.randn(4, 4)
    alike = [
        key_for(lambda x: x + 1, x),
        key_for(lambda x: x + 1, torch.zeros(4, 4)),
    ]
    others = [
        key_for(lambda x: x + 1.0, x),
        key_for(lambda x: x + True, x),
        key_for(lambda x: x * 0.0, x),
        key_for(lambda x: x * -0.0, x),
        key_for(lambda x: x * float("nan"), x),
        key_for(lambda x: x + 1, x.double()),
        key_for(lambda x: x + 1, x.t()),
        key_for(lambda x: x + 1, torch.randn(5, 4)[1:]),
        key_for(lambda x: x + 1, x.clone().requires_grad_()),
        key_for(lambda x: x + 1, torch.nn.Parameter(x.clone())),
        key_for(lambda x: x + 1, x.clone().requires_grad_() * 2),
        key_for(lambda x, y: x + y, x, x),
        key_for(lambda x, y: x + y, x, x.view(4, 4)),
        key_for(lambda x, y: x + y, x, x.clone()),
        key_for(lambda x, n: x + n, x, 1),
        key_for(lambda x, n: x + n, x, 2),
    ]
    assert None not in alike and len(set(alike)) == 1
    assert None not in others and len({*alike, *others}) == 1 + len(others)


def test_a_function_in_the_place_of_torchs_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    q = torch.randn(2, 3, 4)
    pool = graph_of(lambda x: F.max_pool1d(x, 2), [q])
    assert graph_key(pool, [q]) is not None
    node = fx.Graph()
    node.output(node.call_function(F.normalize, (node.placeholder("x"),)))
    module = fx.GraphModule(torch.nn.Module(), node)
    assert graph_key(module, [q]) is not None
    monkeypatch.setattr(torch.nn.functional, "handle_torch_function", functools.wraps(F.normalize)(two))
    assert graph_key(module, [q]) is None
    mine = functools.wraps(F.normalize)(two)
    monkeypatch.setattr(F, "normalize", mine)
    node = fx.Graph()
    node.output(node.call_function(F.normalize, (node.placeholder("x"),)))
    assert graph_key(fx.GraphModule(torch.nn.Module(), node), [q]) is None


PROGRAM = """
import sys, torch, capture
def step(x, w, b):
    return torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b)).square().mean()
torch.manual_seed(1)
x, w, b = torch.randn(8, 4), torch.randn(3, 4, requires_grad=True), torch.randn(3, requires_grad=True)
loss = capture.compile(step)(x, w, b)
loss.backward()
found = capture.counters["cache"]["graph found"]
compiled = "codegen.passes.pipeline" in sys.modules
print(found, compiled, loss.item().hex(), [v.hex() for v in (*w.grad.flatten().tolist(), *b.grad.tolist())])
"""


def started(folder: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "CAPTURE_CACHE_DIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True
    )


def printed(process: subprocess.Popen[str]) -> list[str]:
    """Graphs found, whether something was compiled, results."""
    text, _ = process.communicate()
    assert process.returncode == 0
    return text.split(" ", 2)


def test_a_second_process_compiles_nothing(tmp_path: Any) -> None:
    first, second = printed(started(tmp_path)), printed(started(tmp_path))
    assert second[:2] == ["1", "False"]
    assert first[1] == "True" and first[2] == second[2]


def test_processes_that_start_together_and_one_that_is_killed(tmp_path: Any) -> None:
    killed, *others = [started(tmp_path) for _ in range(3)]
    killed.kill()
    killed.communicate()
    results = [printed(process)[2] for process in others]
    last = printed(started(tmp_path))
    assert last[:2] == ["1", "False"]
    assert results == [last[2]] * 2
