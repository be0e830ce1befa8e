"""torch's assumptions about unbacked sizes: no such size is 0 or 1, and strides are dense.

In:  each operation, run on fake tensors, and the conditions that it assumed (`SizeEnv.assumptions`).
Out: `Assumed`: a check of the conditions around the graph. If one does not hold, Python runs the frame.

    y = x[mask].softmax(0)   ->   torch asked whether u0 is 1; the sizes of the result are the same in both
                                  cases, so there is nothing to check
    y = x[mask].squeeze(0)   ->   with u0 == 1 the result has one dim less: each run checks u0 != 1

Sizes of 0 and 1 are common, so an operation with an assumption is run again for each of them. If the
sizes of its results are the same, the check allows this value too. Strides are not compared, because the
program can't read the strides of such tensors (`capture/variables/tensors/tensor.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph
    from codegen.fake.size_env import SizeEnv

SMALL = (0, 1)


class LikelySizes:
    """The assumed conditions, each with the values of its symbol for which it does not have to hold."""

    def __init__(self) -> None:
        self.conditions: dict[Any, tuple[bool, set[int]]] = {}

    def propagate(self, env: SizeEnv | None, run: Callable[[], Any], arguments: list[Any]) -> Any:
        """The result of `run()`, an operation on fake tensors. Collects its assumptions."""
        if env is None:
            return run()
        self.collect(env)
        before = _state_of(arguments)
        value = run()
        if env.assumptions:
            taken, env.assumptions = env.assumptions, {}
            unwritten = before == _state_of(arguments)
            harmless = _harmless(env, taken, run, value, arguments) if unwritten else set()
            self._add(taken, harmless)
        return value

    def collect(self, env: SizeEnv) -> None:
        """Collect the assumptions that the program's own questions caused."""
        self._add(env.assumptions, set())
        env.assumptions = {}

    def _add(self, conditions: dict[Any, bool], harmless: set[int]) -> None:
        for condition, answer in conditions.items():
            _, known = self.conditions.get(condition, (answer, harmless))
            self.conditions[condition] = answer, known & harmless

    def checked(self, output: OutputGraph) -> Assumed | None:
        """The conditions to check at each run, over numbers that the graph computes, or None."""
        assert output.symbols.env is not None
        conditions = self.unproved(output.symbols.env)
        texts = [_text(condition, *self.conditions[condition]) for condition in conditions]
        symbols = {symbol for condition in conditions for symbol in condition.free_symbols}
        return Assumed(output, sorted(symbols, key=str), texts) if texts else None

    def unproved(self, env: SizeEnv) -> list[Any]:
        """The conditions that only a run can decide."""
        self.collect(env)
        return [c for c, known in self.conditions.items() if not _holds_elsewhere(env, c, *known)]


def _state_of(arguments: list[Any]) -> list[Any]:
    """A state that changes when an operation writes to an argument or changes its layout."""
    tensors = [_below_transforms(a) for a in arguments if isinstance(a, torch.Tensor)]
    return [
        (
            t._version if not t.is_inference() else -1,
            t.dim(),
            t.untyped_storage()._cdata if t.layout is torch.strided else None,
        )
        for t in tensors
    ]


def _below_transforms(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor inside the wrappers of `vmap` and `grad`."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def _harmless(
    env: SizeEnv, taken: dict[Any, bool], run: Callable[[], Any], value: Any, arguments: list[Any]
) -> set[int]:
    """The small values of the only symbol with the same result. Empty if there are several symbols."""
    symbols = {symbol for condition in taken for symbol in condition.free_symbols}
    if len(symbols) != 1:
        return set()
    (symbol,) = symbols
    return {small for small in SMALL if _is_same(env, {symbol: small}, run, value, arguments)}


def _is_same(
    env: SizeEnv, hypothesis: dict[Any, int], run: Callable[[], Any], value: Any, arguments: list[Any]
) -> bool:
    import sympy  # type: ignore[import-untyped]  # lazy: imports sympy

    values = {symbol: sympy.Integer(number) for symbol, number in hypothesis.items()}
    waiting = list(env.pending_fresh_unbacked_symbols)
    try:
        with env.under(values):
            other = run()
    except Exception:
        return False  # after any exception, each run must check the condition
    finally:
        env.pending_fresh_unbacked_symbols[:] = waiting
        env.assumptions = {}
    return _sizes(value, values, arguments) == _sizes(other, values, arguments)


def _sizes(value: Any, values: dict[Any, Any], arguments: list[Any]) -> Any:
    """Everything that the translation may conclude from a result.

    This is its structure, its sizes and dtypes, and which arguments it is identical to.
    """
    if isinstance(value, torch.Tensor):
        itself = [i for i, argument in enumerate(arguments) if argument is value]
        return [_number(size, values) for size in value.shape], value.dtype, itself
    if isinstance(value, (tuple, list)):
        return type(value), [_sizes(item, values, arguments) for item in value]
    return _number(value, values)


def _number(value: Any, values: dict[Any, Any]) -> Any:
    is_symbolic = isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
    return value.node.expr.xreplace(values) if is_symbolic else value


# --- checks after the graph -------------------------------------------------------------------------------


def _holds_elsewhere(env: SizeEnv, condition: Any, answer: bool, harmless: set[int]) -> bool:
    """Whether only harmless values of the symbol give another answer: `u0 == 1` is false for all others."""
    if len(condition.free_symbols) != 1 or not harmless:
        return False
    (symbol,) = condition.free_symbols
    is_equality = type(condition).__name__ == "Equality" and not answer
    if is_equality and condition.args[0] is symbol and condition.args[1] in harmless:
        return True
    return env.holds_from(condition, symbol, max(harmless) + 1) is answer and _from_zero(
        env, symbol, harmless
    )


def _from_zero(env: SizeEnv, symbol: Any, harmless: set[int]) -> bool:
    """Whether `harmless` has all possible values of the symbol up to the largest value in `harmless`."""
    return bool(env.var_to_range[symbol].lower >= 0) and harmless == set(range(len(harmless)))


def _text(condition: Any, answer: bool, harmless: set[int]) -> str:
    from torch.utils._sympy.printers import PythonPrinter  # lazy: imports sympy

    text = f"bool({PythonPrinter().doprint(condition)}) is {answer}"
    if not harmless:
        return text
    (symbol,) = condition.free_symbols
    return f"({symbol} in {tuple(sorted(harmless))} or {text})"


class UnlikelySizes(Exception):
    """An assumption does not hold, so Python must run the frame."""


class Assumed:
    """Conditions on numbers that the graph returns after its results."""

    def __init__(self, output: OutputGraph, symbols: list[Any], texts: list[str]) -> None:
        self.nodes = [output.symbols.node_of_symbol(symbol) for symbol in symbols]
        names = ", ".join(map(str, symbols))
        self.holds = eval(f"lambda {names}: {' and '.join(texts)}", {"math": math})  # sees only numbers


class Retried:
    """Calls a graph whose checks may fail. After a failure the random state is as before the call.

    The numbers for `assumed` are the last results of the graph.
    """

    may_fail = True

    def __init__(self, graph: Callable[..., Any], assumed: Assumed | None, draws: bool) -> None:
        self.graph = graph
        self.holds = assumed.holds if assumed is not None else None
        self.count = len(assumed.nodes) if assumed is not None else 0
        self.draws = draws

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        if not self.draws:
            return self.run(args)
        state = torch.get_rng_state()
        try:
            return self.run(args)
        except BaseException:
            torch.set_rng_state(state)
            raise

    def run(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        results: tuple[Any, ...] = tuple(self.graph(*args))
        if self.holds is None:
            return results
        places = len(results) - self.count
        if not self.holds(*results[places:]):
            raise UnlikelySizes
        return results[:places]
