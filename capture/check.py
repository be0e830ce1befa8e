"""check: whether a captured program computes what it computes in eager.

In:  a function or module, arguments to call it with.
Out: `CheckResult`: `.ok`; else the first stage, graph and operation that is further from the truth than eager
     by more than rounding. `print(...)` gives a text to read.

    print(capture.check(step)(batch))

    wrong: stage llvm, graph 1 (step), operation relu6 (model.py:12, in forward): y = F.relu6(x)
      result 0: 3 of 64 elements; at [2, 1] eager has 1.5, the stage 7.5, the truth is 1.5

Each stage runs the program with a backend, forward and backward. The stages start from the same random
numbers and from the same contents of arguments, parameters and buffers, which are put back at the end. The
truth is a run in float64. Results that differ only because an input lies on an edge (ReLU6 at 6, equal values
under argmax) are told apart: they are in `.edges`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import torch
import torch.utils._pytree as pytree

from capture.backends import registry
from capture.backends.settings import make_settings
from capture.explain import forget_entries
from capture.hooks import switch
from capture.hooks.compiled_module import original_of
from capture.hooks.regions import Region, original_function
from capture.report.arguments import checked_arguments, shown
from capture.report.config import config
from capture.report.errors import CaptureError, UsageError
from capture.report.log import failure_text
from capture_records import dataclass

if TYPE_CHECKING:
    import torch.fx

    from capture.checking.compare import Difference
    from capture.checking.runs import Results
    from capture.checking.search import Finding, Operation
    from capture.checking.state import State

STAGES = ("eager", "aot_eager", "llvm")


@dataclass
class CheckResult:
    """What `check` found.

    ok: no stage is further from the truth than eager by more than rounding.
    stage: the backend of the first stage that is.
    graph: the name of its graph. None: no graph is wrong alone.
    operation: the operation in it, with .call .file .line .function .source. None: no single one is wrong.
    differences: the results that are wrong, with the values of their worst elements.
    raised: the exception of the backend or of the program in this stage.
    edges: operations whose inputs lie on an edge, so that rounding decides on their results.
    graphs: how many graphs were checked.
    finding: the operations that show it, for `minify`.
    """

    graphs: int = 0
    stage: str | None = None
    graph: str | None = None
    operation: Operation | None = None
    differences: list[Difference] = field(default_factory=list)
    raised: str | None = None
    edges: list[Operation] = field(default_factory=list)
    finding: Finding | None = None

    @property
    def ok(self) -> bool:
        return self.stage is None

    def report(self) -> str:
        """The whole result as a text."""
        lines = [self._headline()]
        if self.raised is not None:
            lines.append(f"  raised {self.raised}")
        lines += [f"  {difference}" for difference in self.differences]
        lines += [f"on an edge, rounding decides: {operation}" for operation in self.edges]
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.ok:
            graphs = "1 graph" if self.graphs == 1 else f"{self.graphs} graphs"
            return f"ok: {graphs}, as exact as eager"
        parts = [f"wrong: stage {self.stage}"]
        if self.graph is not None:
            parts.append(f"graph {self.graph}")
        if self.operation is not None:
            parts.append(f"operation {self.operation}")
        return ", ".join(parts)

    __str__ = report

    def __bool__(self) -> bool:
        return self.ok


@checked_arguments
def check(
    fn: Callable[..., Any],
    *args: Any,
    backends: Sequence[str | Callable[..., Any]] = STAGES,
    fullgraph: bool = False,
    dynamic: bool | None = None,
) -> Callable[..., CheckResult]:
    """A function that calls `fn` in each stage and returns the CheckResult.

    backends: the stages, from the one that does the least. The others are arguments of `enable`.
    Errors: UsageError if `fn` is not callable or if its arguments are given here. What `fn` raises in eager
    passes through.
    """
    if args:
        raise UsageError("check takes the function alone: write capture.check(fn)(*args)")
    if not callable(fn):
        raise UsageError(
            f"only callables and modules can be checked, not {shown(fn)} of type {type(fn).__name__}"
        )
    if isinstance(backends, str):
        raise UsageError(f"backends is a list of backends: write backends=[{backends!r}]")
    settings: dict[str, Any] = {"fullgraph": fullgraph, "dynamic": dynamic}
    make_settings("eager", **settings)  # a wrong one is an error here, not at the call
    stages = {registry.backend_name(backend): registry.resolve(backend) for backend in backends}
    target = original_of(fn) if isinstance(fn, torch.nn.Module) else original_function(fn)

    def checked(*args: Any, **kwargs: Any) -> CheckResult:
        from capture.checking.state import State  # lazy: import time

        state = State(target, args, kwargs)
        try:
            return _Check(target, args, kwargs, state, stages, settings).run()
        finally:
            state.restore()

    return checked


class _Check:
    """One check of one call."""

    def __init__(
        self,
        target: Any,
        args: Any,
        kwargs: Any,
        state: State,
        stages: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        self.call = target, args, kwargs
        self.state = state
        self.stages = stages
        self.settings = settings
        self.runs_backward = True
        self.result = CheckResult()
        self.found: list[tuple[int, str, Finding]] = []  # number of the stage, graph

    def run(self) -> CheckResult:
        eager = self.eager()
        truth = None if self.state.drew_random_numbers() else self.truth()
        whole = self.whole_runs(eager, truth)
        number, graph, finding = min(
            self.found, key=lambda found: found[0], default=(len(self.stages), "", None)
        )
        names = list(self.stages)
        if whole is not None and whole[0] < number:
            number, differences, raised = whole
            if not (self.result.edges and raised is None):  # behind an edge other results are no wonder
                self.result.stage, self.result.differences = names[number], differences
                self.result.raised = raised
        elif finding is not None:
            self.result.stage, self.result.graph, self.result.finding = names[number], graph, finding
            self.result.operation = finding.operation
            self.result.differences = finding.verdict.differences
            self.result.raised = finding.verdict.raised
        return self.result

    def eager(self) -> Results:
        """The results of eager. If the program has run the backward of what it returns, no stage does it."""
        try:
            return self.results()
        except BackwardFailed:
            self.runs_backward = False
            return self.results()

    def whole_runs(
        self, eager: Results, truth: Results | None
    ) -> tuple[int, list[Difference], str | None] | None:
        """The first stage in which the whole program is wrong: its number, what is wrong, what it raised.

        Where a graph of an earlier stage is wrong, the later stages need not run.
        """
        from capture.checking.compare import differences  # lazy: import time

        self.captured(self.look_at_graph)
        for number, backend in enumerate(self.stages.values()):
            if any(place <= number for place, *_ in self.found):
                return None
            try:
                found = self.second_look(eager, differences(eager, self.captured(backend), truth))
            except Exception as error:  # eager raised nothing: whatever this is, it is what is looked for
                return number, [], failure_text(error)
            if found:
                return number, found, None
        return None

    def second_look(self, eager: Results, found: list[Difference]) -> list[Difference]:
        """The differences that are larger than those of eager when its inputs move by a rounding."""
        from capture.checking.judge import SAMPLES, Moves, move  # lazy: import time

        floats = [difference.name for difference in found if difference.places is not None]
        moves = {name: Moves(eager[name]) for name in floats}
        for sample in range(SAMPLES if moves else 0):
            self.state.restore()
            move(list(self.state.tensors.values()), sample)
            moved = self.results(restore=False)
            for name in moves:
                moves[name].add(moved.get(name))
        return [d for d in found if d.name not in moves or not moves[d.name].explain(d)]

    def look_at_graph(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        """The backend of the first captured run: it checks each graph alone."""
        from capture.checking.search import Search  # lazy: import time

        self.result.graphs += 1
        name = f"{self.result.graphs} ({type(gm).__name__.removeprefix('Captured_')})"
        for number, backend in enumerate(self.stages.values()):
            if any(place <= number for place, *_ in self.found):
                break
            if number == 0 and backend is registry.lookup("eager"):
                continue  # it runs the graph call by call: nothing to compare
            search = Search(gm, example_inputs, backend)
            finding = search.run()
            self.result.edges += [edge for edge in search.edges if edge not in self.result.edges]
            if finding is not None:
                self.found.append((number, name, finding))
        return gm.forward

    def captured(self, backend: Any) -> Results:
        made = make_settings(backend, tag=object(), **self.settings)
        region = Region("pep523", made)
        try:
            with config.patch(raise_on_error=True):
                return self.results(region)
        finally:
            forget_entries(region)

    def truth(self) -> Results | None:
        with self.state.in_float64() as possible:
            if not possible:
                return None
            try:
                return self.results(restore=False)
            except Exception:  # whatever the program says to float64: there is no truth then
                return None

    def results(self, region: Any = contextlib.nullcontext(), restore: bool = True) -> Results:
        """Run the program, then the backward of its results, and take what it left."""
        target, args, kwargs = self.call
        if restore:
            self.state.restore()
        with region:
            if hasattr(region, "hook"):
                switch.prepare(region.hook, target)
            value = target(*args, **kwargs)
        if self.runs_backward:
            self.backward_of(value)
        return self.state.results(value)

    @staticmethod
    def backward_of(value: Any) -> None:
        """Run the backward of what the program returned, where it has one."""
        from capture.checking.runs import cotangents  # lazy: import time

        tensors = [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
        starts = [tensor for tensor in tensors if tensor.requires_grad and tensor.grad_fn is not None]
        if starts:
            try:
                torch.autograd.backward(starts, cotangents(starts))
            except RuntimeError as error:
                raise BackwardFailed(failure_text(error)) from error


class BackwardFailed(CaptureError):
    """The backward of what a program returned raised."""
