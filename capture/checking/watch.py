"""Checks each new graph of a program, under `config.check`.

In:  a captured graph with its inputs, the backend that the program uses.
Out: lines in the log "check"; at the end of the process a line that sums them up.

The check runs on copies: what the program computes does not change. A graph is checked with the inputs that
it is captured for.
"""

from __future__ import annotations

import atexit
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from capture.backends import registry
from capture.checking.runs import same_random_state
from capture.checking.search import Finding, Search
from capture.process.thread_state import ThreadState
from capture.report import log

if TYPE_CHECKING:
    import torch.fx

    from capture.policy.settings import CaptureSettings

#: stages before a backend, in which an error of it may lie
BEFORE = {"llvm": ("aot_eager",)}


class _Summary:
    """What was found in this process."""

    def __init__(self) -> None:
        self.checked = 0
        self.wrong: list[str] = []
        self.skipped = 0

    def __str__(self) -> str:
        parts = [f"{self.checked} graphs checked", f"{len(self.wrong)} wrong"]
        if self.skipped:
            parts.append(f"{self.skipped} could not be checked")
        return "; ".join([", ".join(parts), *self.wrong])


summary = _Summary()


def check_graph(
    module: torch.fx.GraphModule, inputs: Sequence[Any], settings: CaptureSettings, code: types.CodeType
) -> None:
    """Compare the graph's stages with eager, and write what is found."""
    if not (summary.checked or summary.skipped):
        atexit.register(lambda: log.get("check").logger.warning("%s", summary))
    name = f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"
    state = ThreadState.capture()
    try:
        with same_random_state():
            found = _first_wrong(module, inputs, settings)
    except Exception as error:  # the program goes on, whatever the check met
        summary.skipped += 1
        log.get("check").logger.warning("%s: could not be checked: %s", name, log.failure_text(error))
        return
    finally:
        state.restore()
    summary.checked += 1
    if found is None:
        log.get("check")("%s: as exact as eager", name)
        return
    summary.wrong.append(f"{name}: stage {found[0]}, {found[1].operation or 'no single operation'}")
    log.get("check").logger.warning("%s: wrong: %s", name, _text(*found))


def _first_wrong(
    module: torch.fx.GraphModule, inputs: Sequence[Any], settings: CaptureSettings
) -> tuple[str, Finding] | None:
    stages = {name: registry.lookup(name) for name in BEFORE.get(settings.backend_name, ())}
    stages[settings.backend_name] = settings.backend
    for name, backend in stages.items():
        finding = Search(module, inputs, backend).run()
        if finding is not None:
            return name, finding
    return None


def _text(stage: str, finding: Finding) -> str:
    raised = [f"raised {finding.verdict.raised}"] if finding.verdict.raised else []
    details = [*raised, *map(str, finding.verdict.differences)]
    return f"stage {stage}, {finding.operation or 'no single operation'}: " + "; ".join(details)
