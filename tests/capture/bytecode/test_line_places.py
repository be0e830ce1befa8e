"""The line tables of new code, for any columns of the program's lines."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import _capture
import torch

import capture

SOURCE = """
def program(x, loud):
    y = x.sin()
    z = (y.sum() + {padding}torch.tanh(x).sum()).item()  # far to the right
    if z > -1e9: loud(z); {filler}x = x + z; loud(x.sum().item())
    return (x * 2).sum().item() + {padding}z
""".format(padding="0 + " * 40, filler="pass; " * 40)


def codes() -> Iterator[types.CodeType]:
    for code in _capture.all_codes():
        for entry in _capture.entries(code):
            if entry.code is not None:
                yield entry.code
                yield from (item for item in entry.code.co_consts if isinstance(item, types.CodeType))


def test_lines_far_to_the_right() -> None:
    space: dict[str, Any] = {"torch": torch}
    exec(SOURCE, space)
    seen: list[float] = []
    program = space["program"]
    x = torch.randn(3)
    compiled = capture.compile(program)
    results = [compiled(x, seen.append) for _ in range(3)]
    torch.testing.assert_close(results, [program(x, seen.append)] * 3, rtol=1e-5, atol=1e-5)
    found = [code for code in codes() if code.co_name == "program"]
    assert found
    for code in found:
        assert max(end for _, end, _ in code.co_lines()) == len(code.co_code)
