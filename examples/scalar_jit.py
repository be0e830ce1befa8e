"""A Python function of numbers as native code: called from Python and through its C pointer."""

from __future__ import annotations

import math

import torch

import capture


def damped(t, amplitude, decay):
    return amplitude * math.exp(-decay * t) * math.cos(2 * math.pi * t)


def main() -> None:
    native = capture.jit_scalar(damped)
    print(native)
    for t in (0.0, 0.25, 1.5):
        print(f"t = {t}: {native(t, 2.0, 0.5): .6f}   Python: {damped(t, 2.0, 0.5): .6f}")
    print("through the C pointer:", native.cfunc(0.0, 2.0, 0.5))
    step = capture.jit_scalar(lambda n: torch.where(n % 2 == 0, n // 2, 3 * n + 1), torch.int64)
    n, steps = 27, 0
    while n != 1:
        n, steps = step(n), steps + 1
    print(f"27 reaches 1 after {steps} steps")
    print(native.optimized_ir)


if __name__ == "__main__":
    main()
