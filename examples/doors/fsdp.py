"""FSDP2 (`fully_shard`) over gloo: two processes train a sharded model captured, as they do in eager."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from counted import counted
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import capture

RANKS = 2


def train(rank: int, folder: str, captured: bool) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    torch.manual_seed(rank)  # each rank has data of its own
    losses = []
    with capture.config.patch(when="first"), capture.enable() if captured else contextlib.nullcontext():
        for _ in range(5):
            x = torch.randn(32, 8)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    torch.save(losses, f"{folder}/{rank}.pt")
    if rank == 0 and captured:
        print(f"rank 0: {counted()}")
    dist.destroy_process_group()


def losses_of(captured: bool) -> list[list[torch.Tensor]]:
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(folder, captured), nprocs=RANKS)
        return [torch.load(Path(folder) / f"{rank}.pt") for rank in range(RANKS)]


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch.testing.assert_close(losses_of(True), losses_of(False))
    print("the losses of both ranks are those of eager")
