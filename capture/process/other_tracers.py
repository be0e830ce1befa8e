"""Who else follows what the program runs: capture steps aside then, and the frames run as Python.

In:  the state of the thread: tracers of TorchScript, dispatch modes, functorch's transforms, torch.fx,
     autograd's anomaly mode, other compilers.
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

_FX_NAMES = vars(_symbolic_trace)
#: Where torch.fx notes that it traces, and the name there: a global up to torch 2.13, from 2.14 on in a
#: `threading.local`.
FX_FLAGS, FX_FLAG = (
    (_FX_NAMES, "_is_fx_tracing_flag")
    if "_is_fx_tracing_flag" in _FX_NAMES
    else (_FX_NAMES["_is_fx_tracing_tls"], "flag")
)


def torch_fx_traces() -> bool:
    flags = FX_FLAGS if isinstance(FX_FLAGS, dict) else vars(FX_FLAGS)
    return flags.get(FX_FLAG) is True


def why_followed() -> str | None:
    """A reason to run every frame of this thread in the default evaluator, or None."""
    if torch._C._get_tracing_state() is not None:
        return "torch.jit.trace records each operation"
    if torch._C._dispatch_tls_local_include_set().raw_repr() & _KEY_SET:
        return "a mode or a transform of torch sees each operation"
    if torch_fx_traces():
        return "torch.fx traces"
    if torch.is_anomaly_enabled():
        return "anomaly mode keeps the line of each operation, and names the one whose gradient is NaN"
    if callback_of_torch_compile():
        return "torch.compile captures this frame and its callees"
    if _guards.CompileContext.try_get() is not None or _guards.TracingContext.try_get() is not None:
        return "another compiler is at work"
    return None


if hasattr(_capture, "follow_other_tracers"):
    _capture.follow_other_tracers(_KEY_SET, FX_FLAGS, FX_FLAG, callback_of_torch_compile)
