"""explain: a report about the capture of a program.

In:  a function or module, then arguments to call it with.
Out: `Explanation`: graphs, breaks with reason and line, guards, times. `str()` gives a text to read.

    print(capture.explain(toy_example)(a, b))

    2 graphs, 1 graph break, 5 operations
    graph break 1: a branch depends on the values of a tensor [data_dependent_jump] ...

The call runs once. It makes its own cache entries: it neither uses nor changes the earlier entries.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import _capture
import torch

from capture.backends.settings import make_settings
from capture.hooks import converters, switch
from capture.hooks.compiled_module import original_of
from capture.hooks.regions import Region, original_function
from capture.report.errors import UsageError
from capture.report.observe import observing
from codegen.kernel.records import dataclass

if TYPE_CHECKING:
    import torch.fx

    from capture.report.break_reasons import BreakReason
    from guards.guard_set import GuardSet

CALLS = ("call_function", "call_method", "call_module")


@dataclass(frozen=True)
class CompileTime:
    """Seconds of one phase of a capture. "total" is the whole frame; the other phases are parts of it."""

    function: str
    phase: str
    seconds: float


@dataclass
class Explanation:
    """What was captured in one call.

    graphs: each torch.fx.GraphModule, in the order of capture.
    break_reasons: each graph break, with .id .reason .hint .user_stack.
    ops_per_graph: the targets of the calls in each graph.
    guards: each guard as a text.
    recompiles: for each recompile the guard of an earlier entry that failed, with the old and the new value.
    skipped: (function, reason) of each frame that Python ran as a whole.
    """

    graphs: list[torch.fx.GraphModule] = field(default_factory=list)
    break_reasons: list[BreakReason] = field(default_factory=list)
    compile_times: list[CompileTime] = field(default_factory=list)
    recompiles: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)  # of each graph
    guarded: list[tuple[str, list[str]]] = field(default_factory=list)  # of each entry: function, its guards

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.break_reasons)

    @property
    def guards(self) -> list[str]:
        return [text for _, texts in self.guarded for text in texts]

    @property
    def ops_per_graph(self) -> list[list[Any]]:
        return [[node.target for node in gm.graph.nodes if node.op in CALLS] for gm in self.graphs]

    @property
    def op_count(self) -> int:
        return sum(map(len, self.ops_per_graph))

    def __str__(self) -> str:
        return "\n".join(_report(self))


# --- collecting ---------------------------------------------------------------------------------------------


class Collector:
    """The observer that fills an Explanation."""

    def __init__(self) -> None:
        self.found = Explanation()

    def on_graph(self, gm: torch.fx.GraphModule, code: types.CodeType) -> None:
        self.found.graphs.append(gm)
        self.found.functions.append(code.co_qualname)

    def on_break(self, reason: BreakReason, code: types.CodeType) -> None:
        self.found.break_reasons.append(reason)

    def on_guards(self, guards: GuardSet, code: types.CodeType) -> None:
        self.found.guarded.append((code.co_qualname, [guard.text for guard in guards]))

    def on_compile_time(self, phase: str, seconds: float, code: types.CodeType) -> None:
        self.found.compile_times.append(CompileTime(code.co_qualname, phase, seconds))

    def on_recompile(self, text: str, code: types.CodeType) -> None:
        self.found.recompiles.append(f"{code.co_qualname}: {text}")

    def on_skip(self, reason: str, code: types.CodeType) -> None:
        self.found.skipped.append((code.co_qualname, reason))


def explain(fn: Any, **settings: Any) -> Callable[..., Explanation]:
    """A function that calls `fn` and returns the Explanation. `settings` are the arguments of `enable`.

    Errors: UsageError if `fn` is not callable. The exceptions of `fn` pass through.
    """
    if not callable(fn):
        raise UsageError(
            f"only callables and modules can be explained, not {fn!r} of type {type(fn).__name__}"
        )
    target = original_of(fn) if isinstance(fn, torch.nn.Module) else original_function(fn)

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        collector = Collector()
        region = _fresh_region(**settings)
        try:
            with observing(collector), region:
                switch.prepare(region.hook, target)
                target(*args, **kwargs)
        finally:
            _forget(region)
        return collector.found

    return explained


def _fresh_region(hook: str = "pep523", **settings: Any) -> Region:
    made = make_settings(settings.pop("backend", "llvm"), tag=object(), **settings)
    return Region(switch.lookup(hook), made)


def _forget(region: Region) -> None:
    """Remove the entries that this call made: no later call can use them."""
    for code in _capture.all_codes():
        for entry in _capture.entries(code):
            if entry.key is region.settings:
                _capture.remove_entry(code, entry)
    assert region.settings is not None
    converters.forget(region.settings)


# --- the report ---------------------------------------------------------------------------------------------

GUARDS_SHOWN = 8  # of each entry; all are in Explanation.guards
WIDTH = 140


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _report(found: Explanation) -> list[str]:
    counts = {
        "graph": found.graph_count,
        "graph break": found.graph_break_count,
        "operation": found.op_count,
        "guard": len(found.guards),
        "recompile": len(found.recompiles),
    }
    lines = [", ".join(_count(number, noun) for noun, number in counts.items())]
    for number, (function, operations) in enumerate(zip(found.functions, found.ops_per_graph), 1):
        lines.append(_cut(f"graph {number} ({function}): " + ", ".join(map(_operation_name, operations))))
    lines += [f"graph break {number}: {reason}" for number, reason in enumerate(found.break_reasons, 1)]
    lines += [f"recompile {number}: {text}" for number, text in enumerate(found.recompiles, 1)]
    lines += [f"left to Python: {function}: {reason}" for function, reason in found.skipped]
    for function, texts in found.guarded:
        lines += _guard_lines(function, texts)
    if found.compile_times:
        lines.append("compile times: " + _times(found.compile_times))
    return lines


def _guard_lines(function: str, texts: list[str]) -> list[str]:
    lines = [f"guards of {function}:", *(_cut(f"  {text}") for text in texts[:GUARDS_SHOWN])]
    if len(texts) > GUARDS_SHOWN:
        lines.append(f"  ... and {len(texts) - GUARDS_SHOWN} more")
    return lines


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 4] + " ..."


def _times(times: list[CompileTime]) -> str:
    phases: dict[str, float] = {}
    for item in times:
        phases[item.phase] = phases.get(item.phase, 0.0) + item.seconds
    return ", ".join(f"{phase} {seconds * 1000:.1f} ms" for phase, seconds in phases.items())


def _operation_name(target: Any) -> str:
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))
