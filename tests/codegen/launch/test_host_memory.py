"""large_heap, keep_memory_mapped and huge_pages.

The first two: large blocks come from the heap. They are tested in separate processes, because they can't be
undone. huge_pages: large results are marked for them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import capture

PROGRAM = """
import sys, torch, capture
def in_heap(tensor):
    lines = [line for line in open("/proc/self/maps") if line.rstrip().endswith("[heap]")]
    ranges = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]
    return any(low <= tensor.data_ptr() < high for low, high in ranges)
large, keep, *counts = map(int, sys.argv[1:])
for large_heap, keep_memory_mapped in (large, keep), (large, 0):  # what is set stays
    with capture.config.patch(large_heap=bool(large_heap), keep_memory_mapped=bool(keep_memory_mapped)):
        with capture.enable("eager"):
            pass
print(*(in_heap(torch.empty(count)) for count in counts))
"""


BLOCKS = ["5_000_000", "5_000_000", "20_000_000", "20_000_000"]  # elements, of 4 bytes


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's mallopt and /proc")
@pytest.mark.parametrize(
    ("large", "keep", "environment", "expected"),
    [
        ("0", "0", {}, "False True False False"),  # it has learned of the first block
        ("1", "0", {}, "True True False False"),
        ("1", "1", {}, "True True True True"),
        ("1", "0", {"MALLOC_MMAP_THRESHOLD_": "1000000"}, "False False False False"),
    ],
)
def test_blocks_come_from_the_heap(large: str, keep: str, environment: dict[str, str], expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, large, keep, *BLOCKS],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == expected, done.stderr


def is_welcome(tensor: torch.Tensor) -> bool:
    """Whether the mapping that contains the tensor's middle is marked for huge pages."""
    middle, inside = tensor.data_ptr() + tensor.nbytes // 2, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        word = line.split()[0]
        if not word.endswith(":"):
            low, high = (int(end, 16) for end in word.split("-"))
            inside = low <= middle < high
        elif inside and word == "VmFlags:":
            return "hg" in line.split()
    raise AssertionError("the tensor is in no mapping")


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="Linux with transparent huge pages"
)
@pytest.mark.parametrize("wanted", [True, False])
def test_large_results_are_marked_for_huge_pages(wanted: bool) -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x = torch.ones(20_000_000)  # more than the C library takes from the heap
    with capture.config.patch(huge_pages=wanted), capture.enable():
        assert is_welcome(double(x)) is wanted
