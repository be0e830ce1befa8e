"""DDP and FSDP2 over gloo: two ranks agree with eager and with each other, and share one store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

import capture

RANKS = 2
STEPS = 4


def sharded(model: nn.Sequential) -> nn.Module:
    mesh = init_device_mesh("cpu", (RANKS,))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    return model


WAYS: dict[str, Any] = {"DDP": DistributedDataParallel, "FSDP2": sharded}


def whole(parameter: torch.Tensor) -> torch.Tensor:
    """A parameter of all ranks together."""
    value = parameter.full_tensor() if isinstance(parameter, DTensor) else parameter
    return value.detach()


def train(rank: int, way: str, captured: bool) -> list[torch.Tensor]:
    """The losses of the rank, and the parameters at the end."""
    torch.manual_seed(0)
    model = WAYS[way](nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)  # each rank has data of its own
    losses = []
    region: Any = capture.enable() if captured else capture.disable()
    with capture.config.patch(when="first"), region:
        for _ in range(STEPS):
            x = torch.randn(32, 8)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return [*losses, *map(whole, model.parameters())]


def run(rank: int, folder: str) -> None:
    capture.config.cache_dir = f"{folder}/store"
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    for way in WAYS:
        capture.reset()
        expected, given = train(rank, way, False), train(rank, way, True)
        compiled = capture.counters["graphs"]["compiled"]
        dist.barrier()
        capture.reset()  # the entries of this process go, those in the store stay
        again = train(rank, way, True)
        graphs = dict(capture.counters["graphs"])
        torch.save((expected, given, again, compiled, graphs), f"{folder}/{way}-{rank}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("ranks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("CAPTURE_STORE_ENTRIES", "1")
        mp.spawn(run, args=(str(folder),), nprocs=RANKS)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_two_ranks(folder: Path, way: str) -> None:
    ranks = [torch.load(folder / f"{way}-{rank}.pt") for rank in range(RANKS)]
    for expected, given, again, compiled, graphs in ranks:
        torch.testing.assert_close(given, expected)
        torch.testing.assert_close(again, given)  # what ran as Python then may be captured now
        assert compiled >= 2 and graphs["loaded"] >= 1
    assert all(map(torch.equal, ranks[0][1][STEPS:], ranks[1][1][STEPS:]))
