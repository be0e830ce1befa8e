"""Who else follows what the program runs: capture steps aside then, and the frames run as Python.

In:  the state of the thread: tracers of TorchScript, dispatch modes, functorch's transforms, torch.fx, other
     compilers.
Out: `why_followed()`: a reason, or None. The extension asks for all but compilers at work at each frame,
     because an entry must not run either.

    torch.jit.trace(capture.compile(net), x)    ->    the operations of net are in the trace
"""

from __future__ import annotations

import functools
import operator

import _capture
import torch
from torch import _guards
from torch.fx import _symbolic_trace

#: dispatch keys of a thread whose operations somebody records or changes
FOLLOWING_KEYS = (
    "Tracer",
    "Python",
    "PythonTLSSnapshot",
    "PythonDispatcher",
    "PreDispatch",
    "Functionalize",
    "FuncTorchDynamicLayerFrontMode",
    "FuncTorchDynamicLayerBackMode",
)


def _bits(names: tuple[str, ...]) -> int:
    sets = (torch._C.DispatchKeySet(torch._C._dispatch_key_parse(name)) for name in names)
    return functools.reduce(operator.or_, (keys.raw_repr() for keys in sets))


#: the callback of this thread; None or False if torch.compile is not active (in C: no import of its Python)
callback_of_torch_compile = torch._C._dynamo.eval_frame.get_eval_frame_callback

_KEY_SET = _bits(FOLLOWING_KEYS)


def why_followed() -> str | None:
    """A reason to run every frame of this thread in the default evaluator, or None."""
    if torch._C._get_tracing_state() is not None:
        return "torch.jit.trace records each operation"
    if torch._C._dispatch_tls_local_include_set().raw_repr() & _KEY_SET:
        return "a mode or a transform of torch sees each operation"
    if _symbolic_trace._is_fx_tracing_flag:
        return "torch.fx traces"
    if callback_of_torch_compile():
        return "torch.compile captures this frame and its callees"
    if _guards.CompileContext.try_get() is not None or _guards.TracingContext.try_get() is not None:
        return "another compiler is at work"
    return None


if hasattr(_capture, "follow_other_tracers"):
    _capture.follow_other_tracers(_KEY_SET, vars(_symbolic_trace), callback_of_torch_compile)
