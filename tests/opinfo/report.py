"""The table of operators.

In:  results of a run.
Out: docs/operators.md: counts, a row for each operator, what is called as it is, and remarks.

    | add | native | native |
"""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path

from tests.opinfo.cases import DTYPES, OPERATORS
from tests.opinfo.runner import EAGER, NATIVE, STATUSES, WRONG, Result

HEAD = """# Operators

`make opinfo` (`scripts/opinfo.py`) writes this page. It takes every entry of PyTorch's operator database that
eager runs on the CPU, captures it with `capture.compile`, and compares it with eager: values, dtypes, sizes,
strides, gradients, written arguments, exceptions, the random state.

- **native**: all of it, the backward included, runs as kernels of our own, views and direct calls of BLAS
- **partly extern**: some of it, or some of the samples, calls an ATen operator
- **extern**: it is one graph, all of whose operators are calls of ATen
- **eager**: at least one sample is left to Python; the remarks say why
- **wrong**: at least one sample differs from eager
"""


def write_table(results: list[Result], path: Path, note: str = "") -> None:
    path.write_text(table(results, note))


def table(results: list[Result], note: str = "") -> str:
    """`note`: where the results come from, if they are not all from one run."""
    by_operator: dict[str, list[Result]] = {}
    for result in results:
        by_operator.setdefault(result.operator, []).append(result)
    lines = [
        HEAD,
        *counts(results),
        *(["", note] if note else []),
        "",
        "| operator | float32 | other dtypes |",
        "|---|---|---|",
    ]
    lines += [row(name, by_operator[name]) for name in sorted(by_operator)]
    lines += ["", "## ATen operators that are called as they are", ""]
    lines += items({name: externs(by_operator[name]) for name in sorted(by_operator)})
    lines += ["", "## Remarks", ""]
    lines += items({name: remarks(by_operator[name]) for name in sorted(by_operator)})
    return "\n".join(lines) + "\n"


def counts(results: list[Result]) -> list[str]:
    """The statuses by dtype, and the share of differentiable float32 operators that are native."""
    dtypes = [dtype for dtype in DTYPES if any(result.dtype == dtype for result in results)]
    by_dtype = {
        dtype: Counter(result.status for result in results if result.dtype == dtype) for dtype in dtypes
    }
    lines = [f"| | {' | '.join(dtypes)} |", "|---|" + "---|" * len(dtypes)]
    lines += [
        f"| {status} | {' | '.join(str(by_dtype[dtype][status]) for dtype in dtypes)} |"
        for status in STATUSES
    ]
    wide = [r for r in results if r.dtype == "float32" and OPERATORS[r.operator].supports_autograd]
    native = sum(result.status == NATIVE for result in wide)
    share = f"{native} of {len(wide)} ({100 * native // len(wide)} %)" if wide else "none run"
    return [*lines, "", f"Differentiable float32 operators that are all native: {share}."]


def row(name: str, results: list[Result]) -> str:
    main = next((result.status for result in results if result.dtype == "float32"), "-")
    others = Counter(result.status for result in results if result.dtype != "float32")
    other_text = (
        ", ".join(f"{count} {status}" for status, count in others.items())
        if len(others) > 1
        else ", ".join(others)
    )
    return f"| {name} | {main} | {other_text} |"


def externs(results: list[Result]) -> str:
    return ", ".join(sorted({extern for result in results for extern in result.externs}))


def remarks(results: list[Result]) -> str:
    """How results differ from eager, and why Python ran samples: the first of each."""
    found = [
        f"{result.dtype}: {text}" for result in results if result.status == WRONG for text in result.wrong[:1]
    ]
    found += [text for result in results if result.status == EAGER for text in result.reasons[:1]]
    return "; ".join(dict.fromkeys(found))


def items(texts: dict[str, str]) -> list[str]:
    """List items `- name: text` of at most 110 columns, those without a text left out."""
    shortened = {name: textwrap.shorten(text, 160, placeholder="...") for name, text in texts.items() if text}
    return [
        textwrap.fill(f"- {name}: {text}", 110, subsequent_indent="  ", break_long_words=False)
        for name, text in shortened.items()
    ]
