"""Many operators in child processes: one that crashes or hangs costs itself alone, and is named.

In:  (operator, dtype) pairs, how many samples.
Out: a `Result` for each, as it comes.

    for result in run_all([("add", "float32"), ("abs", "bool")], samples=2, processes=2): ...

A child writes a line after each pair; one that ends before it has written the line crashed on that pair. The
rest of its share goes to a new child.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.opinfo.runner import WRONG, Result, run_operator

Pair = tuple[str, str]
SHARE = 60  # pairs of one child
TIMEOUT = 300.0  # seconds for one pair
ROOT = Path(__file__).parents[2]


@dataclass
class Child:
    process: subprocess.Popen[str]
    pairs: deque[Pair]
    last_line: float = field(default_factory=time.monotonic)

    @property
    def output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout


def run_all(
    pairs: list[Pair],
    samples: int,
    processes: int = 1,
    kinds: Sequence[str] = ("plain",),
    timeout: float = TIMEOUT,
) -> Iterator[Result]:
    """Results in the order in which they are ready."""
    waiting = deque(deque(pairs[i : i + SHARE]) for i in range(0, len(pairs), SHARE))
    selector = selectors.DefaultSelector()
    try:
        while waiting or selector.get_map():
            while waiting and len(selector.get_map()) < processes:
                child = start(waiting.popleft(), samples, kinds)
                selector.register(child.output, selectors.EVENT_READ, child)
            for key, _ in selector.select(timeout=1.0):
                result = read(key.data)
                if result is None:
                    selector.unregister(key.fileobj)
                    yield from ended(key.data, waiting)
                else:
                    yield result
            for key in list(selector.get_map().values()):
                if time.monotonic() - key.data.last_line > timeout:
                    key.data.process.kill()  # its output ends, and it is dealt with as ended
    finally:
        for key in selector.get_map().values():
            key.data.process.kill()


def start(pairs: deque[Pair], samples: int, kinds: Sequence[str]) -> Child:
    command = [sys.executable, "-m", "tests.opinfo.shards", str(samples), *kinds]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(list(pairs)))
    process.stdin.close()
    return Child(process, pairs)


def read(child: Child) -> Result | None:
    """The next result; None where the child has ended. A line of the child is read whole: it writes them
    whole.
    """
    line = child.output.readline()
    child.last_line = time.monotonic()
    if not line.endswith("\n"):
        return None
    child.pairs.popleft()
    return Result(**json.loads(line))


def ended(child: Child, waiting: deque[deque[Pair]]) -> Iterator[Result]:
    """The pair on which the child died, if any; what was behind it waits for another child."""
    code = child.process.wait()
    child.output.close()
    if child.pairs:
        operator, dtype = child.pairs.popleft()
        yield Result(
            operator,
            dtype,
            WRONG,
            wrong=[f"the process ended with {code} (a crash, or longer than the limit)"],
        )
        if child.pairs:
            waiting.appendleft(child.pairs)


def failed(operator: str, dtype: str, error: Exception) -> Result:
    """The database raised while it made its samples, or this test did."""
    return Result(operator, dtype, WRONG, wrong=[f"could not be run: {type(error).__name__}: {error}"[:400]])


def main(samples: int, kinds: Sequence[str]) -> None:
    """A child: pairs as JSON from stdin, a line of JSON for each result to what stdout was; nothing else may
    write there.
    """
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for operator, dtype in json.load(sys.stdin):
        result: Any
        try:
            result = run_operator(operator, dtype, samples, kinds)
        except Exception as error:
            result = failed(operator, dtype, error)
        lines.write(json.dumps(result.as_dict()) + "\n")
        lines.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
