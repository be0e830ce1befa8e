"""`fill_bernoulli` gives the numbers of torch's own `bernoulli_`, and leaves the generator in the same state.

A build of torch that draws otherwise keeps its own operator: the numbers are compared either way.
"""

from __future__ import annotations

import gc
import struct
import sys
import threading
import time

import _capture
import pytest
import torch

import capture
from codegen.trace import bernoulli
from codegen.trace.bernoulli import LEAST_ELEMENTS, ONES, fill_bernoulli
from codegen.trace.draws import draw

aten = torch.ops.aten

needs_fill = pytest.mark.skipif(
    not bernoulli._draws_alike(torch.float32), reason="this build of torch draws by another generator"
)


def drawn(count: int, dtype: torch.dtype, p: float, generator: torch.Generator) -> torch.Tensor:
    return draw(aten.bernoulli_.float, [count], [1], dtype, p, generator=generator)


@pytest.mark.parametrize("dtype", ONES, ids=str)
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])
def test_the_numbers_and_the_state_are_those_of_torch(dtype: torch.dtype, p: float, alone: None):
    ours, theirs = torch.Generator().manual_seed(5), torch.Generator().manual_seed(5)
    for count in (LEAST_ELEMENTS, 1, LEAST_ELEMENTS + 1, 7, 100_003, LEAST_ELEMENTS + 2):
        expected = torch.empty(count, dtype=dtype).bernoulli_(p, generator=theirs)
        assert torch.equal(drawn(count, dtype, p, ours), expected)
        assert torch.equal(ours.get_state(), theirs.get_state())
        assert torch.equal(torch.randn(3, generator=ours), torch.randn(3, generator=theirs))


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads of the test runner draw nothing."""
    threads = sys._current_frames().keys() - {threading.get_ident()}
    found = sys._current_frames
    monkeypatch.setattr(
        sys, "_current_frames", lambda: {t: frame for t, frame in found().items() if t not in threads}
    )


@needs_fill
@pytest.mark.parametrize("used", [0, 1, 2, 311, 623, 624, 625])
def test_it_goes_on_anywhere_in_a_block(used: int, alone: None):
    ours, theirs = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
    for generator in (ours, theirs):
        torch.empty(used).uniform_(generator=generator)
    tensor = torch.empty(2000)
    assert fill_bernoulli(tensor, 0.3, ours)
    assert torch.equal(tensor, torch.empty(2000).bernoulli_(0.3, generator=theirs))
    assert torch.equal(ours.get_state(), theirs.get_state())


@needs_fill
def test_elements_of_each_size():
    """Nothing beside the elements is touched."""
    for size, dtype in ((1, torch.bool), (2, torch.float16), (4, torch.float32), (8, torch.float64)):
        generator = torch.Generator().manual_seed(2)
        expected = torch.empty(99, dtype=dtype).bernoulli_(0.5, generator=torch.Generator().manual_seed(2))
        memory = torch.full((101,), 3.0).to(dtype)
        given = (memory.data_ptr() + size, 99, 1 << 52, size, ONES[dtype])
        assert _capture.fill_bernoulli(generator, dict, bernoulli.WAITS, bernoulli.LIBRARY, *given)
        assert torch.equal(memory[1:-1], expected)
        assert memory[0] == memory[-1] == torch.tensor(3.0).to(dtype)


def test_what_torch_refuses_it_refuses():
    for p in (-0.1, 1.5, float("nan")):
        with pytest.raises(RuntimeError, match="expects p to be in"):
            drawn(2000, torch.float32, p, torch.Generator())


def test_other_memory_is_filled_by_torch(alone: None):
    tensor = torch.empty(100, 100)
    assert not fill_bernoulli(tensor.t(), 0.5)
    assert not fill_bernoulli(tensor[:, ::2], 0.5)
    assert not fill_bernoulli(torch.nn.Parameter(tensor), 0.5)
    assert not fill_bernoulli(torch.empty(2000, dtype=torch.int32), 0.5)


def test_a_state_by_hand_is_left_to_torch(alone: None):
    generator = torch.Generator().manual_seed(0)
    state = generator.get_state()
    state[8:24] = torch.frombuffer(bytearray(struct.pack("iiQ", 10, 1, 3)), dtype=torch.uint8)
    generator.set_state(state)
    tensor = torch.zeros(2000)
    assert not fill_bernoulli(tensor, 0.5, generator)
    assert tensor.sum() == 0 and torch.equal(generator.get_state(), state)
    with pytest.raises(ValueError, match="elements of 3 bytes"):
        _capture.fill_bernoulli(generator, dict, frozenset(), "", tensor.data_ptr(), 1, 1, 3, 1)


@needs_fill
@pytest.mark.parametrize("waits_in_threading", [True, False])
def test_beside_another_thread(waits_in_threading: bool, alone: None):
    """A thread in a frame of its own may be in an operator; one that waits in the standard library is not."""
    go, lock = threading.Event(), threading.Lock()
    lock.acquire()
    started = threading.Event()

    def stand() -> None:
        started.set()
        go.wait() if waits_in_threading else lock.acquire()

    thread = threading.Thread(target=stand)
    thread.start()
    try:
        started.wait()
        where = "wait" if waits_in_threading else "stand"
        while sys._current_frames()[thread.ident].f_code.co_name != where:
            time.sleep(0.001)
        assert fill_bernoulli(torch.empty(2000), 0.5) == waits_in_threading
    finally:
        go.set()
        lock.release()
        thread.join()
    assert fill_bernoulli(torch.empty(2000), 0.5)


@needs_fill
@pytest.mark.parametrize("allocations", range(1, 30))
def test_finalisers_draw_before_or_after(allocations: int, alone: None):
    """A collection after so many allocations runs `__del__`, whose number must not be drawn once more."""
    generator = torch.Generator().manual_seed(4)
    kept = torch.Generator().manual_seed(4)

    class Draws:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            torch.empty(1).uniform_(generator=generator)

    tensor, thresholds = torch.empty(2000), gc.get_threshold()
    gc.collect()
    gc.disable()
    Draws()
    gc.set_threshold(allocations)
    gc.enable()
    try:
        assert fill_bernoulli(tensor, 0.5, generator)
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    torch.empty(2 * 2000 + 1).uniform_(generator=kept)
    assert torch.equal(generator.get_state(), kept.get_state())


def test_dropout_of_a_captured_model(alone: None):
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Dropout(0.1), torch.nn.Linear(64, 8))
    x = torch.randn(64, 64)

    def step() -> tuple[torch.Tensor, ...]:
        model.zero_grad()
        loss = model(x).square().sum() + torch.rand(())
        loss.backward()
        return loss.detach(), *(p.grad.clone() for p in model.parameters())

    torch.manual_seed(3)
    expected = [step() for _ in range(3)]
    torch.manual_seed(3)
    compiled = capture.compile(model, fullgraph=True)

    def captured_step() -> tuple[torch.Tensor, ...]:
        model.zero_grad()
        loss = compiled(x).square().sum() + torch.rand(())
        loss.backward()
        return loss.detach(), *(p.grad.clone() for p in model.parameters())

    for values in expected:
        torch.testing.assert_close(captured_step(), values)
