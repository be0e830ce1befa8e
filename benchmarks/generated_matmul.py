"""Generated matrix products beside torch.mm, one thread: `python -m benchmarks.generated_matmul [level]`.

Prints a table in Markdown: the speed of both, and how many times as fast the generated function is. The two
run in turns in one process.
"""

from __future__ import annotations

import sys

import torch

from benchmarks.measure import compare, pin
from codegen.llvm.dense.forms import MatmulForm, Strides
from codegen.llvm.target import Target
from tests.codegen.llvm.dense.run import DTYPES, Product

SIZES = [
    (1, 512, 512),
    (8, 512, 512),
    (32, 10, 64),
    (32, 64, 64),
    (64, 64, 64),
    (128, 128, 128),
    (128, 768, 768),
    (512, 512, 512),
]
LAYOUTS = ("rows", "right transposed", "left transposed")


def measure(dtype: str, rows: int, columns: int, inner: int, layout: str, target: Target) -> str:
    """A row of the table."""
    left, right = torch.randn(rows, inner).to(DTYPES[dtype]), torch.randn(inner, columns).to(DTYPES[dtype])
    if layout == "right transposed":
        right = right.t().contiguous().t()
    if layout == "left transposed":
        left = left.t().contiguous().t()
    generated, library = (torch.empty(rows, columns, dtype=left.dtype) for _ in range(2))
    form = MatmulForm(
        dtype,
        rows,
        columns,
        inner,
        left=Strides(0, *left.stride()),
        right=Strides(0, *right.stride()),
    )
    call = Product(form, target).bound(generated, left, right)
    times = compare({"generated": call, "library": lambda: torch.mm(left, right, out=library)})
    work = 2e-9 * rows * columns * inner
    speed = {name: work / timing.seconds for name, timing in times.items()}
    noise = max(timing.noise for timing in times.values())
    return (
        f"| {dtype} | {rows} x {columns} x {inner} | {layout} | {speed['generated']:.1f} | "
        f"{speed['library']:.1f} | {speed['generated'] / speed['library']:.2f} | {noise:.0%} |"
    )


def main() -> None:
    pin()
    target = Target.level(sys.argv[1]) if len(sys.argv) > 1 else Target.host()
    print(f"{target.cpu}, torch {torch.__version__}, one thread\n")
    print("| type | rows x columns x inner | layout | generated GF/s | torch.mm GF/s | ratio | noise |")
    print("|---|---|---|---:|---:|---:|---:|")
    for dtype in ("f32", "f64"):
        for size in SIZES:
            for layout in LAYOUTS if dtype == "f32" else LAYOUTS[:1]:
                print(measure(dtype, *size, layout, target), flush=True)


if __name__ == "__main__":
    main()
