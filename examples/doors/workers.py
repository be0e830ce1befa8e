"""Captured functions in joblib, dask, Ray and multiprocessing: each worker captures, all share one store."""

from __future__ import annotations

import multiprocessing
import os
from typing import Any

import dask
import joblib
import ray
import torch
from torch import nn

import capture

MODEL = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))


@capture.compile
def score(x: torch.Tensor) -> torch.Tensor:
    return (x.sigmoid() * 2 - x.tanh()).sum(1)


def report(x: torch.Tensor) -> tuple[torch.Tensor, int, int]:
    """The result, the graphs of this process, and its number."""
    return score(x), capture.counters["graphs"]["compiled"], os.getpid()


def check(name: str, results: list[Any], inputs: list[torch.Tensor]) -> None:
    for (result, graphs, _), x in zip(results, inputs):
        torch.testing.assert_close(result, (x.sigmoid() * 2 - x.tanh()).sum(1))
        assert graphs >= 1
    print(f"{name}: {len({pid for _, _, pid in results})} processes")


def main() -> None:
    inputs = [torch.randn(4, 8) for _ in range(8)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        check("multiprocessing", pool.map(report, inputs), inputs)
    check("joblib", joblib.Parallel(n_jobs=2)(joblib.delayed(report)(x) for x in inputs), inputs)
    with dask.config.set(scheduler="threads", num_workers=2):
        check("dask threads", list(dask.compute(*map(dask.delayed(report), inputs))), inputs)
    with dask.config.set(scheduler="processes", num_workers=2):
        check("dask processes", list(dask.compute(*map(dask.delayed(report), inputs))), inputs)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    remote = ray.remote(report)
    check("ray", ray.get([remote.remote(x) for x in inputs]), inputs)
    model = capture.compile(MODEL)  # a captured module travels too
    apply = ray.remote(lambda model, x: model(x))
    torch.testing.assert_close(ray.get(apply.remote(model, inputs[0])), MODEL(inputs[0]))
    ray.shutdown()


if __name__ == "__main__":
    main()
