"""All benchmarks with their targets: `python -m benchmarks [--peers]`; each topic runs in its own process.

`python -m benchmarks --markdown --plot` measures beside torch.compile instead, and writes the table and
picture of the README (`benchmarks/peers`).
"""

from __future__ import annotations

import argparse
import subprocess
import sys

TOPICS = (
    "small_graphs",
    "compile_time",
    "second_process",
    "large_programs",
    "many_functions",
    "steady_state",
    "models",
    "output_memory",
    "guards",
    "frame_hook",
    "kernels",
    "symbolic_sizes",
    "frozen",
    "threads",
    "leaks",
    "tracing",
)
WITH_PEERS = ("steady_state", "kernels")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="measure torch.compile too, where a topic can")
    parser.add_argument("--markdown", action="store_true", help="write the README's table")
    parser.add_argument("--plot", action="store_true", help="write the README's picture")
    given = parser.parse_args()
    if given.markdown or given.plot:
        wanted = [f"--{name}" for name in ("markdown", "plot") if getattr(given, name)]
        sys.exit(subprocess.run([sys.executable, "-m", "benchmarks.peers", *wanted], check=False).returncode)
    run_topics(["--peers"] if given.peers else [])


def run_topics(peers: list[str]) -> None:
    failed = []
    for topic in TOPICS:
        command = [sys.executable, "-m", f"benchmarks.{topic}", *(peers if topic in WITH_PEERS else [])]
        if subprocess.run(command, check=False).returncode != 0:
            failed.append(topic)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
