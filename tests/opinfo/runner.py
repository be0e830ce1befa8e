"""One operator at one dtype: each of its programs in eager and captured, compared.

In:  the operator's name in the database, a dtype, the number of samples.
Out: `Result`: a status with the operators that were called as they are, and the differences.

    run_operator("add", "float32", 2)   ->   Result(operator="add", dtype="float32", status="native", ...)
"""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch

import capture
from capture.explain import Collector
from capture.report.errors import CaptureWarning
from capture.report.observe import observing
from codegen.autograd.training import TrainingGraph
from codegen.launch.compiled import EagerGraph
from tests.differential import compare_tensors, compare_values
from tests.opinfo.cases import ENTRIES, UNDEFINED, Case, cases, copied, tolerance

COMPILER = "capture.backends.llvm"  # where the name of compile_graph is that the backend calls
NATIVE, PARTLY, EXTERN, EAGER, WRONG = STATUSES = ("native", "partly extern", "extern", "eager", "wrong")
WIDER = {
    torch.bfloat16: torch.float64,
    torch.float16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}
REFUSALS = ("Unsupported", "RecompileLimitExceeded")  # if the graph may not break
BROKEN = ("capture failed", "the graph runs without kernels of its own", "backend 'llvm' failed")


@dataclass
class Result:
    """`status`: the worst of the programs. `externs`: operators called as they are. `reasons`: why Python ran
    something. `wrong`: differences, each with the name of its program.
    """

    operator: str
    dtype: str
    status: str = NATIVE
    programs: int = 0
    externs: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Made:
    """The captures of one program: graphs, and texts of why Python ran something."""

    graphs: list[Any] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


@dataclass
class Outcome:
    value: Any
    error: tuple[str, str] | None
    args: Any
    kwargs: Any
    random_state: torch.Tensor


# --- running ----------------------------------------------------------------------------------------------


def run_operator(
    name: str, dtype: str, samples: int, kinds: Sequence[str] = ("plain",), only: str = ""
) -> Result:
    """`kinds`: kinds of programs, by their names in `cases.KINDS`. `only`: the name of one program."""
    entry, result = ENTRIES[name], Result(name, dtype)
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for case in cases(entry, dtype, samples, kinds):
            if only and case.name != only:
                continue
            made = run_case(case, tolerance(entry, dtype), name in UNDEFINED, result)
            if made is not None:
                found.append(status_of(made))
                result.externs.extend(called_as_they_are(made))
                result.reasons.extend(reasons_of(made))
    if result.programs and not found:
        result.reasons.append("eager raises on the CPU")
    result.status = combined(found, result)
    result.externs = sorted(set(result.externs))
    result.reasons = list(dict.fromkeys(result.reasons))
    return result


def run_case(case: Case, allowed: tuple[float, float], undefined: bool, result: Result) -> Made | None:
    """None if eager raises, or warns of wrong arguments: there is nothing to compile then."""
    programs = [case, *(replace(other, within=case.within) for other in case.others)]
    plain = case.make()
    eager = [run(program, plain) for program in programs]
    capture.reset()
    with recording() as made:
        compiled = capture.compile(case.make(), **case.settings)
        for program, expected in zip(programs, eager, strict=True):
            text = differences(program, compiled, expected, allowed, undefined, made)
            if text:
                result.wrong.append(f"{program.name}, {text}"[:400])
    result.programs += len(programs)
    result.wrong.extend(f"{case.name}: {text}"[:400] for text in made.reasons if text.startswith(BROKEN))
    ran = any(expected.error is None for expected in eager)
    return made if ran and not case.name.startswith("error") else None


def differences(
    case: Case, compiled: Any, eager: Outcome, allowed: tuple[float, float], undefined: bool, made: Made
) -> str:
    """The differences of the first of two calls that differs from eager."""
    for number in range(2):
        captured = run(case, compiled)
        if case.settings.get("fullgraph") and captured.error and captured.error[0] in REFUSALS:
            made.reasons.append("refused: " + " ".join(captured.error[1].split())[:300])
            return ""
        text = difference(eager, captured, allowed, undefined)
        if is_narrow(case) and "not close" in text:
            text = difference(eager, captured, (allowed[0], 2 * error_of(eager, case)), undefined)
        if text:
            return f"call {number}: {text}"
    return ""


def run(case: Case, fn: Any) -> Outcome:
    args, kwargs = copied((case.args, case.kwargs))
    torch.manual_seed(7)
    value, error = None, None
    try:
        with case.within():
            value = fn(*args, **kwargs)
        if case.backward:
            go_backward(case.process(value), (args, kwargs) if case.twice else None)
    except Exception as raised:
        error = type(raised).__qualname__, str(raised)
    for leaf in tensors_in((args, *kwargs.values())):
        if leaf.is_leaf and leaf.grad is not None and leaf.grad.is_conj():
            leaf.grad = leaf.grad.resolve_conj()  # whether a gradient has the bit is undefined
    return Outcome(value, error, args, kwargs, torch.get_rng_state())


def go_backward(value: Any, leaves: Any = None) -> None:
    """Runs a backward with tangents that differ from element to element and have the layout of the results.

    `leaves`: also runs a backward through their gradients.
    """
    results = [item for item in tensors_in(value) if item.requires_grad and item.grad_fn is not None]
    generator = torch.Generator().manual_seed(3)
    tangents = [
        torch.empty_like(item).copy_(torch.randn(item.shape, generator=generator)) for item in results
    ]
    if results and leaves is not None:
        wanted = [leaf for leaf in tensors_in((leaves[0], *leaves[1].values())) if leaf.requires_grad]
        found = torch.autograd.grad(results, wanted, tangents, create_graph=True, allow_unused=True)
        go_backward([gradient for gradient in found if gradient is not None])
    elif results:
        torch.autograd.backward(results, tangents)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


# --- comparing --------------------------------------------------------------------------------------------


def difference(eager: Outcome, captured: Outcome, allowed: tuple[float, float], undefined: bool) -> str:
    """The difference as a text; empty if there is none."""
    try:
        compare(eager, captured, allowed, undefined)
    except AssertionError as found:
        return " ".join(str(found).split())
    return ""


def compare(eager: Outcome, captured: Outcome, allowed: tuple[float, float], undefined: bool) -> None:
    assert captured.error == eager.error, f"exception: eager {eager.error}, captured {captured.error}"
    assert torch.equal(captured.random_state, eager.random_state), "the random state differs afterwards"
    if eager.error is not None:
        return  # the values that it had written by then are undefined
    if undefined:
        for one, other in zip(tensors_in(eager.value), tensors_in(captured.value), strict=True):
            compare_tensors(torch.zeros_like(one), torch.zeros_like(other), "value", None)
    else:
        compare_values(eager.value, captured.value, "value", allowed)
        compare_values(eager.args, captured.args, "arguments", allowed)
        compare_values(eager.kwargs, captured.kwargs, "keyword arguments", allowed)
    ours = [shared_with(item, captured) for item in tensors_in(captured.value)]
    theirs = [shared_with(item, eager) for item in tensors_in(eager.value)]
    assert ours == theirs, (
        f"results that are arguments, or share memory with them: eager {theirs}, captured {ours}"
    )


def is_narrow(case: Case) -> bool:
    return any(tensor.dtype in WIDER for tensor in tensors_in((*case.args, *case.kwargs.values())))


def error_of(eager: Outcome, case: Case) -> float:
    """The largest error of eager's own results against the same in double precision.

    Sums may have another order. In half precision eager's kernels round different steps in the vectors and in
    the rest of one tensor.
    """
    wide = replace(case, args=widened(case.args), kwargs=widened(case.kwargs))
    exact = run(wide, wide.make())
    if exact.error is not None:
        return 0.0
    pairs = zip(everything(eager), everything(exact), strict=True)
    errors = [
        (one.to(other.dtype) - other).abs()
        for one, other in pairs
        if WIDER.get(one.dtype) is other.dtype and one.shape == other.shape
    ]
    return max((float(e[e.isfinite()].max()) for e in errors if e.isfinite().any()), default=0.0)


def everything(outcome: Outcome) -> list[torch.Tensor]:
    """Results and arguments, each followed by its gradient."""
    found: list[torch.Tensor] = []
    for item in tensors_in((outcome.value, outcome.args, *outcome.kwargs.values())):
        found.append(item.detach())
        if item.is_leaf and item.grad is not None:
            found.append(item.grad)
    return found


def widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        wide = WIDER.get(value.dtype)
        return value.detach().to(wide).requires_grad_(value.requires_grad) if wide else value
    if isinstance(value, (list, tuple)):
        return type(value)(map(widened, value))
    return {k: widened(v) for k, v in value.items()} if isinstance(value, dict) else value


def shared_with(value: torch.Tensor, outcome: Outcome) -> tuple[int | None, int | None]:
    """The position of the argument that it is, and of the argument whose memory it uses."""
    given = list(tensors_in((*outcome.args, *outcome.kwargs.values())))
    same = next((place for place, tensor in enumerate(given) if tensor is value), None)
    if value.layout is not torch.strided or value.numel() == 0 or value._is_zerotensor():
        return same, None
    memory = value.untyped_storage().data_ptr()
    within = (
        place
        for place, tensor in enumerate(given)
        if tensor.layout is torch.strided and tensor.untyped_storage().data_ptr() == memory
    )
    return same, next(within, None)


# --- what was compiled ------------------------------------------------------------------------------------


@contextlib.contextmanager
def recording() -> Iterator[Made]:
    """Graphs that the compiler gives in the block, and the messages on those that it could not compile."""
    made, compiler = Made(), sys.modules[COMPILER]
    compile_graph = compiler.compile_graph  # type: ignore[attr-defined]

    def compiled_and_kept(*args: Any, **kwargs: Any) -> Any:
        graph = compile_graph(*args, **kwargs)
        made.graphs.append(graph)
        return graph

    log, handler = logging.getLogger("capture.codegen"), Keeper(made.reasons)
    log.addHandler(handler)
    collector = Collector()
    compiler.compile_graph = compiled_and_kept  # type: ignore[attr-defined]
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            with observing(collector):
                yield made
        finally:
            compiler.compile_graph = compile_graph  # type: ignore[attr-defined]
            log.removeHandler(handler)
    made.reasons.extend(str(w.message) for w in given if issubclass(w.category, CaptureWarning))
    made.reasons.extend(reason for _, reason in collector.found.skipped)
    made.reasons.extend(f"graph break: {reason.reason}" for reason in collector.found.break_reasons)


class Keeper(logging.Handler):
    """Keeps warnings of the compiler as texts, with their exception."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.texts.append(
            record.getMessage() + (f": {type(error).__name__}: {error}" if error is not None else "")
        )


def parts_of(made: Made) -> Iterator[Any]:
    for graph in made.graphs:
        if isinstance(graph, TrainingGraph):
            yield from graph.parts_compiled()
        else:
            yield graph


def called_as_they_are(made: Made) -> list[str]:
    return [
        readable(name)
        for part in parts_of(made)
        if not isinstance(part, EagerGraph)
        for name in part.extern_calls
    ]


def readable(name: str) -> str:
    return "draw" if name.startswith("<function draw") else name


def reasons_of(made: Made) -> list[str]:
    return made.reasons + [part.reason for part in parts_of(made) if isinstance(part, EagerGraph)]


def status_of(made: Made) -> str:
    """The status of one program."""
    if not made.graphs or reasons_of(made):
        return EAGER
    if not called_as_they_are(made):
        return NATIVE
    own = any(part.kernels for part in parts_of(made))
    return PARTLY if own else EXTERN


def combined(found: list[str], result: Result) -> str:
    """The status of all programs: the worst one, but native and extern together are partly extern."""
    if result.wrong:
        return WRONG
    kinds = set(found)
    if EAGER in kinds:
        return EAGER
    return kinds.pop() if len(kinds) == 1 else PARTLY if kinds else EAGER


__all__ = ["STATUSES", "Result", "run_operator"]
