"""torch's rules in Python, without the packages that they import when they run.

In:  the functions behind torch's operators: decompositions, references, shape kernels.
Out: the same functions; their calls import neither `torch._dynamo` nor sympy.

    relu6(x)   ->   its rule promotes dtypes, and for that imports sympy: 0.3 s in the first capture

Nothing that these functions compute changes.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
import torch._meta_registrations
import torch._prims_common


@functools.cache
def prepare_rules_of_torch() -> None:
    keep_dynamo_out()
    keep_sympy_out()


# --- torch._dynamo ----------------------------------------------------------------------------------------

WRAPPED = ("fn", "f", "prim")  # what torch's decorators call the function that they wrap


def keep_dynamo_out() -> None:
    """Marks torch's functions so that they do not import `torch._dynamo`.

    Many of torch's Python reference kernels (the meta kernels of most operators) are wrapped by
    `torch._disable_dynamo`. It imports `torch._dynamo` at the first call, unless the function already carries
    its wrapped form. So each function gets itself as this form.
    """
    marker = torch._compile._disable_dynamo(lambda: None).__code__
    seen: set[int] = set()
    pending: list[Any] = [*torch._decomp.decomposition_table.values(), *torch._decomp.meta_table.values()]
    for module in (
        torch._refs,
        torch._refs.nn.functional,
        torch._refs.special,
        torch._refs.linalg,
        torch._refs.fft,
    ):
        pending.extend(vars(module).values())
    while pending:
        function = pending.pop()
        if not isinstance(function, types.FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        if function.__closure__ is None:
            continue
        for name, cell in zip(function.__code__.co_freevars, function.__closure__):
            if name in WRAPPED:
                pending.append(cell.cell_contents)
                if function.__code__ is marker and name == "fn":
                    vars(cell.cell_contents).setdefault("__dynamo_disable", cell.cell_contents)


# --- sympy ------------------------------------------------------------------------------------------------


class NoSympy:
    """Stands where the promotion of dtypes asks whether an argument is a number of sympy's: none is while
    nobody has imported it.
    """

    class Basic:
        pass


def keep_sympy_out() -> None:
    """Gives torch's promotion of dtypes, which imports sympy at each call, a form that does not.

    It is a copy that runs the same bytecode. Only its import is another one: sympy if it is loaded.
    """
    original = torch._prims_common.elementwise_dtypes
    if "sympy" not in original.__code__.co_names:
        return
    copy = importing(original, {"sympy": NoSympy})
    for module in (torch._prims_common, torch._meta_registrations):
        module.elementwise_dtypes = copy  # type: ignore[attr-defined]


def importing(function: Callable[..., Any], stand_ins: dict[str, Any]) -> Callable[..., Any]:
    """A copy of a function whose import statements find `stand_ins` in the place of modules that are not
    loaded.
    """

    def find(name: str, *rest: Any) -> Any:
        missing = name in stand_ins and name not in sys.modules
        return stand_ins[name] if missing else builtins.__import__(name, *rest)

    own = vars(builtins) | {"__import__": find}
    names = function.__globals__ | {"__builtins__": own}
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(copy, function)
