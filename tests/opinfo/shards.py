"""Many operators in child processes: a crash or hang loses only its own pair, and the pair is named.

In:  (operator, dtype) pairs, the number of samples.
Out: a `Result` for each, as it becomes ready.

    for result in run_all([("add", "float32"), ("abs", "bool")], samples=2, processes=2): ...

A child writes a line after each pair. A child that ends before it has written the line crashed on that pair;
a new child gets the rest of its share.
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
                    key.data.process.kill()  # its output ends, and it is handled as ended
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
    """The next result; None if the child has ended. The child writes whole lines, so a line is read whole."""
    line = child.output.readline()
    child.last_line = time.monotonic()
    if not line.endswith("\n"):
        return None
    child.pairs.popleft()
    return Result(**json.loads(line))


def ended(child: Child, waiting: deque[deque[Pair]]) -> Iterator[Result]:
    """The pair on which the child died, if any; the pairs after it wait for another child."""
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
    """The result if the database raised while it made its samples, or if this test did."""
    return Result(operator, dtype, WRONG, wrong=[f"could not be run: {type(error).__name__}: {error}"[:400]])


def main(samples: int, kinds: Sequence[str]) -> None:
    """A child: reads pairs as JSON from stdin and writes a line of JSON for each result to the original
    stdout; nothing else may write there.
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
