"""Every measurement, each in a process of its own: `python -m benchmarks [--peers]` (peers: torch.compile,
which takes minutes to compile).
"""

from __future__ import annotations

import subprocess
import sys

TOPICS = ("small_graphs", "demo_step", "kernels")
TAKES_PEERS = ("kernels",)


def main(arguments: list[str]) -> int:
    unknown = [argument for argument in arguments if argument != "--peers"]
    if unknown:
        print(f"unknown argument {unknown[0]}; usage: python -m benchmarks [--peers]", file=sys.stderr)
        return 2
    status = 0
    for topic in TOPICS:
        given = arguments if topic in TAKES_PEERS else []
        status |= subprocess.run([sys.executable, "-m", f"benchmarks.{topic}", *given]).returncode
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
