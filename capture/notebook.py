"""Notebooks: the magics of IPython.

In:  `%load_ext capture`, then `%%captured` above a cell, or `%captured on`.
Out: the cell runs in a block of `capture.enable`. IPython's own `%%capture`, for output, stays what it is.

    %%captured --explain --fullgraph
    train(model, loader)
"""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from capture.api import enable
from capture.explain import Collector
from capture.report.config import config
from capture.report.errors import UsageError
from capture.report.observe import observing


@magics_class
class CaptureMagics(Magics):
    """`%captured` and `%%captured`."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.run_cell = shell.run_cell
        self._region: enable | None = None
        self._open: enable | None = None
        shell.events.register("pre_run_cell", self._before_cell)
        shell.events.register("post_run_cell", self._after_cell)

    def capture_cells(self, region: enable | None) -> None:
        """From the next cell on, run all of them in `region`."""
        self._region = region

    @magic_arguments()
    @argument("state", nargs="?", choices=("on", "off"), help="capture all later cells, or no longer")
    @argument("--backend", default="llvm", help="llvm, aot_eager, eager, or a registered name")
    @argument("--fullgraph", action="store_true", help="a graph break is an error")
    @argument("--dynamic", action="store_true", help="sizes are symbols from the start")
    @argument("--explain", action="store_true", help="print what was captured, after the cell")
    @line_cell_magic
    def captured(self, line: str, cell: str | None = None) -> None:
        """Run a cell captured; without a cell: `%captured on` and `%captured off` for all later ones."""
        given = parse_argstring(self.captured, line)
        if (cell is None) == (given.state is None):
            raise UsageError("write `%%captured` above a cell, or `%captured on` or `%captured off` alone")
        region = enable(given.backend, fullgraph=given.fullgraph, dynamic=given.dynamic or None).is_used()
        if cell is None:
            self.capture_cells(region if given.state == "on" else None)
            return
        # a cell is run by hand, and a user who marks it wants to see it captured: at the first call
        collector = Collector()
        with config.patch(when="first"), observing(collector), region:
            self.run_cell(cell, store_history=False)
        if given.explain:
            print(collector.found)

    def _before_cell(self, info: Any) -> None:
        if self._region is not None and self._open is None:
            self._open = self._region
            self._open.__enter__()

    def _after_cell(self, result: Any) -> None:
        if self._open is not None:
            self._open.__exit__(None, None, None)
            self._open = None


def load(shell: Any) -> None:
    shell.register_magics(CaptureMagics(shell))
