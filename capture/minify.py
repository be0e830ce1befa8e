"""minify: a script of a few lines that shows what `check` finds.

In:  a function or module, arguments to call it with.
Out: a file that fails when it is run; `Minified`: its path and text, and what `check` has found.

    capture.minify(step, (batch,))      ->      capture_minified.py:  def reduced(x): return x.exp()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capture.backends import registry
from capture.check import STAGES, CheckResult, check
from capture.report.arguments import checked_arguments, shown
from capture.report.errors import UsageError
from capture.report.whole_file import write_whole
from capture_records import dataclass


@dataclass(frozen=True)
class Minified:
    """What `minify` made. `reproduces`: whether the script is wrong in the same stage in this
    process."""

    path: str
    source: str
    result: CheckResult
    reproduces: bool


@checked_arguments
def minify(
    fn: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    path: str = "capture_minified.py",
    backends: Sequence[str | Callable[..., Any]] = STAGES,
) -> Minified:
    """Write a script of a few lines that shows what `check` finds: it fails when it is run.

    The script has the operations of one graph that are enough, with small inputs. A backend that is not one
    of this package's must be registered in it.
    Errors: UsageError if nothing is wrong, if no graph is wrong alone, or for arguments that are no tuple.
    """
    from capture.checking.judge import judge  # lazy: import time
    from capture.checking.reduce import reduced  # lazy: import time
    from capture.checking.script import script_of  # lazy: import time

    if not isinstance(args, (tuple, list)):
        raise UsageError(f"minify takes the arguments as a tuple: minify(f, (x,)), not {shown(args)}")
    result = check(fn, backends=backends)(*args, **(kwargs or {}))
    if result.ok:
        raise UsageError(f"there is nothing to reproduce: {result.report()}")
    if result.finding is None:
        raise UsageError(f"no graph is wrong alone, so no script of one graph shows it: {result.report()}")
    stages = {registry.backend_name(backend): registry.resolve(backend) for backend in backends}
    backend = stages[result.stage or ""]

    def is_wrong(part: Any) -> bool:
        return judge(part, backend).wrong

    part = reduced(result.finding.part, is_wrong)
    source = script_of(part, (result.stage or "",), result.report(), is_wrong)
    write_whole(path, source)
    return Minified(path, source, result, _fails(source, path, backend))


def _fails(source: str, path: str, backend: Any) -> bool:
    """Whether the function of a script is wrong in this stage."""
    names: dict[str, Any] = {"__name__": "minified", "__file__": path}
    head, _, _ = source.partition("\nresult = ")
    exec(compile(head, path, "exec"), names)
    again = check(names["reduced"], backends=[backend])(*names["inputs"])
    return not again.ok
