"""All benchmarks with their targets: `python -m benchmarks [--peers]`; each topic runs in its own process."""

from __future__ import annotations

import subprocess
import sys

TOPICS = (
    "small_graphs",
    "compile_time",
    "large_programs",
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
    peers = ["--peers"] if "--peers" in sys.argv[1:] else []
    failed = []
    for topic in TOPICS:
        command = [sys.executable, "-m", f"benchmarks.{topic}", *(peers if topic in WITH_PEERS else [])]
        if subprocess.run(command, check=False).returncode != 0:
            failed.append(topic)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
