"""Python interns a text that the program makes, and not an attempt at its frame: the text of the attempt
would stay in the process's table, and that of the program would be another object.
"""

from __future__ import annotations

import sys

import torch

import capture


def test_a_text_that_is_interned_is_the_programs_own() -> None:
    def f(x: torch.Tensor) -> tuple[torch.Tensor, bool]:
        y = x + 1
        text = "interned once " + str(x.shape[0])
        is_own = sys.intern(text) is text
        return y * 2, is_own

    x = torch.ones(3)
    capture.reset()
    found, is_own = capture.compile(f)(x)
    assert is_own
    torch.testing.assert_close(found, (x + 1) * 2)
