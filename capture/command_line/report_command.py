"""python -m capture report FOLDER [--perfetto] [--tlparse]

In:  a folder that `capture.trace` has written.
Out: one HTML page, one file for Perfetto, or a log for tlparse of each process; the paths are printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from capture.pages import write_report
from capture.tracing.perfetto import write_perfetto
from capture.tracing.tlparse_log import write_tlparse


def report(
    folder: Annotated[Path, typer.Argument(help="what capture.trace or CAPTURE_TRACE has written")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="FOLDER/report.html")] = None,
    eager_seconds: Annotated[
        float | None, typer.Option(help="what the program takes without capture, for the break-even")
    ] = None,
    perfetto: Annotated[
        bool, typer.Option("--perfetto", help="write FOLDER/trace.json for ui.perfetto.dev instead")
    ] = False,
    tlparse: Annotated[
        bool, typer.Option("--tlparse", help="write FOLDER/tlparse-PID.log for tlparse instead")
    ] = False,
) -> None:
    """Write one HTML page of a trace: what the run cost, what to do, graphs, breaks, kernels."""
    if perfetto:
        print(write_perfetto(folder, output or folder / "trace.json"))
        return
    if tlparse:
        for path in write_tlparse(folder):
            print(path)
        return
    print(write_report(folder, output or folder / "report.html", eager_seconds))
