"""jit_scalar: a function of numbers as native code.

In:  a Python function or a `torch.fx.GraphModule` over scalars; a dtype.
Out: `codegen.scalar.native.NativeScalar`: callable from Python, and a C function pointer.

    f = capture.jit_scalar(lambda x, y: math.sin(x) * y)
    f(1.0, 2.0), f.cfunc, f.ir, f.optimized_ir, f.asm
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from capture.report.arguments import checked_arguments, shown
from capture.report.errors import UsageError
from codegen.kernel.errors import EmitError

if TYPE_CHECKING:
    from codegen.scalar.native import NativeScalar


@checked_arguments
def jit_scalar(
    function: Callable[..., Any] | torch.fx.GraphModule, dtype: torch.dtype = torch.float64
) -> NativeScalar:
    """A native function of numbers of `dtype`, with one result of it.

    function: a GraphModule, or a Python function that `torch.fx` can trace: no branches on its arguments.
    dtype: torch.float64, float32, int64 or int32, of all arguments and the result.

    The functions of `operator`, `math`, `torch` and some of `builtins` and `torch.nn.functional` are known.
    Floats follow IEEE as in torch: `x / 0` is infinity or NaN. Integers wrap around.
    Errors: UsageError names what has no native form, with its line.
    """
    from codegen.scalar.native import C_TYPES, compile_scalar  # the emitter: `import capture` does without

    if dtype not in C_TYPES:
        known = ", ".join(map(str, C_TYPES))
        raise UsageError(f"jit_scalar: dtype must be one of {known}, not {shown(dtype)}")
    if not callable(function):
        raise UsageError(f"jit_scalar takes a function or a GraphModule, not {shown(function)}")
    try:
        return compile_scalar(_traced(function), dtype)
    except EmitError as error:
        raise UsageError(f"jit_scalar: {error}") from None


def _traced(function: Any) -> torch.fx.GraphModule:
    from codegen.scalar.trace import trace

    if isinstance(function, torch.fx.GraphModule):
        return function
    try:
        return trace(function)
    except (torch.fx.proxy.TraceError, TypeError) as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise UsageError(f"jit_scalar: torch.fx can't trace {name}: {error}") from error
