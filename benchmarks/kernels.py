"""Kernels of common models, through the whole of capture, compared with eager and torch.compile.

In:  `python -m benchmarks.kernels [--peers] [NAME ...]`.
Out: for each kernel and size the median times, capture's ratio to each, and the geometric means. A line is
     marked if capture takes more than 1.1 of the faster of the two.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch
from rich.table import Table
from torch import nn

import capture
from benchmarks.kernel_cases import CASES, Case
from benchmarks.measure import Timing, compare, console, geometric_mean, header

LIMIT = 1.1  # of the faster of the two
TOLERANCE = 2e-3  # of the largest value; a step of bfloat16 is twice that, but rarely occurs


def contender(function: Callable[..., Any], case: Case, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """One call: the forward, and the gradients if the case wants them."""
    if not case.grad:

        def forward() -> Any:
            with torch.no_grad():
                return function(*arguments)

        return forward
    wanted = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    wanted += [p for a in arguments if isinstance(a, nn.Module) for p in a.parameters()]
    torch.manual_seed(1)  # the same for all contenders
    # not ones: softmax and the norms have zero gradients for ones
    seed = torch.randn_like(function(*arguments))

    def both() -> Any:
        return torch.autograd.grad(function(*arguments), wanted, seed)

    return both


def check(name: str, ours: Any, eager: Any) -> None:
    """A fast kernel that is wrong does not count."""
    pairs = list(zip(ours, eager)) if isinstance(ours, tuple) else [(ours, eager)]
    for mine, theirs in pairs:
        distance = (mine.double() - theirs.double()).abs().max() / theirs.double().abs().max().clamp(
            min=1e-30
        )
        if mine.shape != theirs.shape or not distance < TOLERANCE:
            console.print(f"[red]{name}: differs from eager by {distance:.2g} of the largest value[/red]")


def measure(case: Case, size: Any, peers: bool, seconds: float) -> dict[str, Timing]:
    torch.manual_seed(0)
    arguments = case.inputs(size)
    capture.reset()
    functions = {
        "eager": contender(case.function, case, arguments),
        "capture": contender(capture.compile(case.function), case, arguments),
    }
    if peers:
        torch._dynamo.reset()
        functions["inductor"] = contender(torch.compile(case.function, dynamic=False), case, arguments)
    if functions["eager"]() is not None:
        check(f"{case.name} {size}", functions["capture"](), functions["eager"]())
    return compare(functions, seconds, batch=1e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peers", action="store_true", help="measure torch.compile too (minutes of compiling)"
    )
    parser.add_argument("--seconds", type=float, default=0.06, help="of measuring, for each contender")
    parser.add_argument("--sizes", type=int, nargs="*", default=[0, 1, 2], help="which of the three sizes")
    parser.add_argument("names", nargs="*", help="kernels whose name contains one of these; all without")
    given = parser.parse_args()
    header()
    chosen = [case for case in CASES if not given.names or any(name in case.name for name in given.names)]
    run(chosen, given.sizes, given.peers, given.seconds)


def run(cases: list[Case], sizes: list[int], peers: bool, seconds: float) -> None:
    columns = ["kernel", "size", "capture", "eager", "of eager"] + (
        ["torch.compile", "of it"] if peers else []
    )
    table = Table(*columns, title="Kernels", title_justify="left")
    of_eager, of_peer, slow = [], [], []
    for case in cases:
        for size in (case.sizes[i] for i in sizes):
            times = measure(case, size, peers, seconds)
            ours, eager = times["capture"], times["eager"]
            of_eager.append(ours.seconds / eager.seconds)
            row = [case.name, str(size)[:30], str(ours), str(eager), f"{of_eager[-1]:.2f}"]
            best = eager.seconds
            if peers:
                of_peer.append(ours.seconds / times["inductor"].seconds)
                best = min(best, times["inductor"].seconds)
                row += [str(times["inductor"]), f"{of_peer[-1]:.2f}"]
            over = ours.seconds / best
            if over > LIMIT:
                slow.append((over, case.name, size))
            table.add_row(*row, style="red" if over > LIMIT else None)
            console.print(*row, sep="  ", style="red" if over > LIMIT else None, highlight=False)
    summary(of_eager, of_peer, slow)


def summary(of_eager: list[float], of_peer: list[float], slow: list[tuple[float, str, Any]]) -> None:
    console.print(
        f"geometric mean of eager's time: {geometric_mean(of_eager):.3f} (target 0.5), "
        f"{len(of_eager)} measurements"
    )
    if of_peer:
        console.print(f"geometric mean of torch.compile's time: {geometric_mean(of_peer):.3f} (target 0.75)")
    console.print(f"above {LIMIT} of the faster: {len(slow)}")
    for over, name, size in sorted(slow, key=lambda item: -item[0]):
        console.print(f"  {over:.2f}  {name} {size}")


if __name__ == "__main__":
    main()
