"""With statements: modes of torch, contextlib, user classes, and early exits from a block."""

from __future__ import annotations

import contextlib
import warnings

import torch

from tests.capture.cases.breaks.breaks import Quiet, managed
from tests.capture.cases.registry import case, show


@case(1, 3, lambda: (torch.ones(2, requires_grad=True),))
def no_grad_block(x):
    with torch.no_grad():
        y = x * 2
    return y, y.requires_grad


@torch.no_grad()
def decorated_no_grad(x):
    return x * 2


@case(1, None, lambda: (torch.ones(2, requires_grad=True),))
def no_grad_decorator(x):
    y = decorated_no_grad(x)
    z = x * 3
    return y, z, y.requires_grad, z.requires_grad


@case(1, None, lambda: (torch.ones(2, requires_grad=True),))
def grad_modes_nested(x):
    out = []
    with torch.no_grad():
        out.append((x * 1).requires_grad)
        with torch.enable_grad():
            out.append((x * 2).requires_grad)
            with torch.set_grad_enabled(False):
                out.append((x * 3).requires_grad)
        out.append((x * 4).requires_grad)
    return x * 5, out


@case(None, None, lambda: (torch.ones(2, requires_grad=True),))
def set_grad_enabled_as_function(x):
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return y, y.requires_grad, (x * 2).requires_grad


@case(None, None)
def inference_mode_block(x):
    with torch.inference_mode():
        y = x * 2
    return y + 0, y.is_inference()


@case(1, None)
def autocast_block(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
        z = y + 1
    return y, z, (x @ x.t()).dtype


@case(None, None)
def break_in_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
        show(y.dtype)
        z = x @ x.t()
    return z.dtype, (x @ x.t()).dtype, y


@case(None, None)
def record_function_block(x):
    with torch.profiler.record_function("block"):
        y = x + 1
    return y * 2


@case(1, 2)
def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(managed(log))
        stack.callback(log.append, "callback")
        y = x + 1
    return y * 2, log


@case(1, 1)
def closing_context(x):
    log = []

    class_ = Closable(log)
    with contextlib.closing(class_) as c:
        y = x + c.k
    return y, log


class Closable:
    def __init__(self, log):
        self.log, self.k = log, 2

    def close(self):
        self.log.append("closed")


@case(1, 2)
def nullcontext_value(x):
    with contextlib.nullcontext(5) as k:
        y = x * k
    with torch.no_grad() if False else contextlib.nullcontext():
        return y + 1


@case(None, None)
def catch_warnings_block(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x + 1
    return y * 2


@case(1, 2)
def contextmanager_exception(x):
    log = []
    try:
        with managed(log):
            x = x + 1
            raise KeyError("k")
    except KeyError:
        log.append("caught")
    return x * 2, log


class AsDecorator(contextlib.ContextDecorator):
    log: list = []

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, *exc):
        self.log.append("out")
        return False


@AsDecorator()
def in_decorator(x):
    return x + 1


@case(1, 1)
def context_decorator(x):
    AsDecorator.log.clear()
    return in_decorator(x), list(AsDecorator.log)


@case(1, 1)
def early_return_in_with(x):
    log = []

    def f(v):
        with Quiet(log):
            return v + 1

    return f(x), log


@case(1, 3)
def loop_control_in_with(x):
    log = []
    for i in range(4):
        with Quiet(log):
            if i == 1:
                continue
            if i == 3:
                break
            x = x + 1
    return x * 2, len(log)


@case(graphs=1, ops=2)
def record_function_as_a_decorator(x):
    @torch.profiler.record_function("range")
    def double(y):
        return y * 2

    return double(x) + 1, double.__name__
