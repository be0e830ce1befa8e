"""Two runs that take turns, step by step, on one core.

So they have the same neighbours, and see the same changes of the processor's speed.

In:  commands; each gets two pipes as its last argument, `READ,WRITE`. In front of each step, a run says
     through one that its turn is over, and waits for the next one at the other (`Turns`).
Out: `in_turns`: what each run has written at its end.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO


class Turns:
    """In the run. Without pipes, it never waits."""

    def __init__(self, pipes: str) -> None:
        self.pipes = [int(pipe) for pipe in pipes.split(",")] if pipes else None

    def next(self) -> None:
        if self.pipes is not None:
            their_turn, our_end = self.pipes
            os.write(our_end, b".")
            os.read(their_turn, 1)


class Failed(Exception):
    """A run ended with an error."""


class Started:
    """Beside the runs: one that waits for its first turn.

    It writes into files: into a pipe that nobody reads before its end, it could write 64 KB.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        their_turn, self.give = os.pipe()
        self.over, their_end = os.pipe()
        self.written, self.errors = (tempfile.TemporaryFile("w+") for _ in range(2))  # noqa: SIM115 (`ended`)
        self.process = subprocess.Popen(
            [*command, f"{their_turn},{their_end}"],
            env=environment,
            pass_fds=(their_turn, their_end),
            stdout=self.written,
            stderr=self.errors,
        )
        os.close(their_turn)
        os.close(their_end)
        os.read(self.over, 1)

    def takes_a_turn(self) -> bool:
        """Whether it will take another one."""
        try:
            os.write(self.give, b".")
        except BrokenPipeError:
            return False
        return os.read(self.over, 1) != b""

    def ended(self) -> tuple[str, str]:
        """What it has written to its output, and to its errors."""
        self.process.wait()
        os.close(self.give)
        os.close(self.over)
        return _whole(self.written), _whole(self.errors)


def _whole(file: IO[str]) -> str:
    with file:
        file.seek(0)
        return file.read()


def in_turns(commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> list[tuple[str, str]]:
    started = [Started(command, environment) for command in commands]
    running = started
    while running:
        running = [one for one in running if one.takes_a_turn()]
    found = [one.ended() for one in started]
    for one, (_, errors) in zip(started, found):
        if one.process.returncode != 0:
            raise Failed(f"{one.process.args} failed with {one.process.returncode}:\n{errors[-4000:]}")
    return found
