"""Sizes that change: a symbol from the second size on, or from the start where the program marks it."""

from __future__ import annotations

import torch

import capture


def mean_of_rows(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1).mean(0)


def main() -> None:
    fast = capture.compile(mean_of_rows)
    for rows in (8, 12, 5, 100, 3):
        x = torch.randn(rows, 16)
        torch.testing.assert_close(fast(x), mean_of_rows(x))
    print(f"unmarked: {capture.counters['frames']['captured']} captures for five sizes")

    capture.reset()
    fast = capture.compile(mean_of_rows)
    for rows in (8, 12, 5, 100, 3):
        x = torch.randn(rows, 16)
        capture.mark_dynamic(x, 0, min=2)
        torch.testing.assert_close(fast(x), mean_of_rows(x))
    print(f"marked: {capture.counters['frames']['captured']} capture for five sizes")


if __name__ == "__main__":
    main()
