"""DistributedDataParallel over gloo: two ranks agree with eager and with each other, and share one store."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import capture

RANKS = 2


def train(rank: int, captured: bool) -> list[torch.Tensor]:
    """The losses of the rank, and the parameters at the end."""
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)  # each rank has data of its own
    losses = []
    region: Any = capture.enable() if captured else capture.disable()
    with capture.config.patch(when="first"), region:
        for _ in range(4):
            x = torch.randn(32, 8)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return [*losses, *(parameter.detach() for parameter in model.parameters())]


def run(rank: int, folder: str) -> None:
    capture.config.cache_dir = f"{folder}/store"
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    expected, given = train(rank, False), train(rank, True)
    compiled = capture.counters["graphs"]["compiled"]
    dist.barrier()
    capture.reset()  # the entries of this process go, those in the store stay
    again = train(rank, True)
    torch.save((expected, given, again, compiled, dict(capture.counters["graphs"])), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_ranks(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("CAPTURE_STORE_ENTRIES", "1")
    mp.spawn(run, args=(str(tmp_path),), nprocs=RANKS)
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in range(RANKS)]
    for expected, given, again, compiled, graphs in ranks:
        torch.testing.assert_close(given, expected)
        torch.testing.assert_close(again, given)  # what ran as Python then may be captured now
        assert compiled >= 2 and graphs["loaded"] >= 1
    assert all(map(torch.equal, ranks[0][1][4:], ranks[1][1][4:]))
