"""Profilers show the names of the program for the code that replaces its frames.

In: a captured function that breaks. Out: names, files and lines of the frames that run.
"""

from __future__ import annotations

import sys

import torch

import capture


def callee(seen):
    frame = sys._getframe(1)
    code = frame.f_code
    seen.append((code.co_name, code.co_qualname, code.co_filename, frame.f_lineno))


class Model:
    def step(self, x, seen):
        y = x * 2
        callee(seen)
        y = y + 1
        callee(seen)
        return y


def test_frames_of_rewritten_code_have_the_names_of_the_program():
    """py-spy and cProfile read these fields of the running frames."""
    captured, plain = [], []
    fast = capture.compile(Model().step, backend="eager")
    for _ in range(2):
        captured.clear()
        fast(torch.ones(3), captured)
    Model().step(torch.ones(3), plain)
    assert captured == plain and len({line for *_, line in captured}) == 2
