"""Counts the operators of PyTorch's operator database that `capture.primitives` shows as primitives alone.

    python scripts/primitives_table.py            # replaces the table in docs/primitives.md
    python scripts/primitives_table.py --list     # also tells of each other operator

One sample of each operator, float32, on the CPU. Each graph runs, too, and its results are compared with
eager's; random numbers and empty tensors are not compared.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db

import capture
from codegen.primitives.decompose import DRAWS

PAGE = Path(__file__).parents[1] / "docs" / "primitives.md"
BEGIN, END = "<!-- table: scripts/primitives_table.py -->", "<!-- end of the table -->"
ROWS = {
    "whole": "primitives alone",
    "part": "primitives and calls of other operators",
    "none": "calls of other operators alone",
    "refused": "not traced: values of tensors, sizes that depend on them, other limits",
    "wrong": "results that differ from eager's",
}


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def verdict(op: Any) -> tuple[str, str]:
    """A key of ROWS, and what there is to say."""
    sample = next(iter(op.sample_inputs("cpu", torch.float32)))
    args = (sample.input, *sample.args)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            graph = capture.primitives(op.get_op())(*args, **sample.kwargs)
    except (capture.UsageError, NotImplementedError, AssertionError) as error:
        return "refused", str(error)
    given = list({id(tensor): tensor for tensor in tensors((args, sample.kwargs))}.values())
    found, expected = tensors(graph(*given)), tensors(op.get_op()(*args, **sample.kwargs))
    kept = graph.meta["kept"]
    if DRAWS not in kept.values() and not op.name.startswith(("empty", "new_empty")):
        for one, other in zip(found, expected, strict=True):
            if (
                not torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
                or one.dtype != other.dtype
            ):
                return "wrong", f"{one} instead of {other}"
    shown = [node for node in graph.graph.nodes if str(node.target).startswith("prims.")]
    reasons = "; ".join(f"{name}: {why}" for name, why in kept.items())
    return "whole" if not kept else "part" if shown else "none", reasons


def main() -> None:
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for op in op_db:
        if torch.float32 not in op.dtypes:
            continue
        torch.manual_seed(0)
        try:
            found, said = verdict(op)
        except Exception as error:  # told as a wrong result
            found, said = "wrong", f"{type(error).__name__}: {error}"
        counts[found] += 1
        if said and "--list" in sys.argv:
            print(f"{found} {op.formatted_name}: {said[:300]}", flush=True)
    lines = ["| operators | shown as |", "|---:|---|"]
    lines += [f"| {counts[key]} | {text} |" for key, text in ROWS.items() if counts[key]]
    lines.append(f"| {sum(counts.values())} | all that take float32 on the CPU |")
    table = "\n".join(lines)
    print(table)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
