"""Two processes with DistributedDataParallel over gloo: both ranks train captured, and stay equal."""

from __future__ import annotations

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import capture

RANKS = 2


def train(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)  # each rank has data of its own
    with capture.config.patch(when="first"), capture.enable():
        for _ in range(5):
            x = torch.randn(32, 8)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
    torch.save([parameter.detach() for parameter in model.parameters()], f"{folder}/{rank}.pt")
    if rank == 0:
        print(f"rank 0 compiled {capture.counters['graphs']['compiled']} graphs")
    dist.destroy_process_group()


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(folder,), nprocs=RANKS)
        first, second = (torch.load(f"{folder}/{rank}.pt") for rank in range(RANKS))
    assert all(map(torch.equal, first, second))
    print("the parameters of both ranks are equal")


if __name__ == "__main__":
    main()
