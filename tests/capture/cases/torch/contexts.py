"""torch's contexts: inference mode, autocast, grad mode, profilers; as blocks, decorators, across breaks."""

from __future__ import annotations

import contextlib
import warnings

import torch

from tests.capture.cases.registry import case, show


@case(1, 3)
def inference_block(x):
    with torch.inference_mode():
        y = x + 1
    return y, torch.is_inference_mode_enabled()


@case(1, 4)
def inference_off(x):
    with torch.inference_mode(False):
        y = x + 1
    return y * 2


@torch.inference_mode()
def in_inference_mode(x):
    return x * 3


@case(1, 3)
def inference_decorator(x):
    return in_inference_mode(x)


@case(2, 4)
def inference_across_break(x):
    with torch.inference_mode():
        y = x + 1
        show(torch.is_inference_mode_enabled())
        z = y * 2
    return z.is_inference(), torch.is_inference_mode_enabled(), torch.is_grad_enabled()


@case(2, 7)
def inference_nested_across_break(x):
    with torch.inference_mode():
        y = x + 1
        with torch.inference_mode(False):
            z = x + 2
            show(torch.is_inference_mode_enabled())
    return z + 1, torch.is_inference_mode_enabled(), z.is_inference(), y.is_inference()


@case(1, 3)
def inference_left_by_exception(x):
    try:
        with torch.inference_mode():
            y = x + 1
            raise ValueError("left")
    except ValueError:
        pass
    return y.is_inference(), torch.is_inference_mode_enabled()


@case(1, 8)
def inference_in_no_grad(x):
    with torch.no_grad(), torch.inference_mode():
        y = x + 1
        with torch.enable_grad():
            y = y * 2
    return y.is_inference(), torch.is_grad_enabled()


@case(1, 5)
def autocast_block(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.T
    return y + 1


@case(1, 9)
def autocast_nested(x):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        a = x @ x.T
        with torch.autocast(device_type="cpu", enabled=False):
            b = x @ x.T
        c = a @ a
    return a, b, c


@torch.autocast("cpu", dtype=torch.bfloat16)
def in_autocast(x):
    return x @ x.T


@case(1, 5)
def autocast_decorator(x):
    return in_autocast(x) + 1


@case(3, None)
def autocast_across_breaks(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.T
        show(torch.is_autocast_enabled("cpu"))
        with torch.autocast("cpu", enabled=False):
            y = y.float() @ x
            show(torch.is_autocast_enabled("cpu"))
            y = y + 1
        y = y @ x.T
    depth = torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    show(depth)
    return y, torch.is_autocast_enabled("cpu")


@case(1, 4)
def set_grad_enabled_block(x):
    with torch.set_grad_enabled(False):
        y = x * 2
    return y + 1, torch.is_grad_enabled()


@case(1, 5)
def no_grad_nested(x):
    with torch.no_grad():
        y = x + 1
        with torch.no_grad():
            y = y * 2
    return y + 1


@case(1, 4)
def no_grad_blocks_in_loop(x):
    for i in range(3):
        with torch.no_grad():
            if i == 1:
                continue
            x = x + 1
            if i == 2:
                break
    return x


@case(2, 4)
def grad_mode_set_across_break(x):
    torch.set_grad_enabled(False)
    y = x + 1
    show(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    return y * 2


@case(3, 3)
def torch_function_disabled_across_break(x):
    with torch._C.DisableTorchFunctionSubclass():
        y = x + 1
        show(torch._C._is_torch_function_enabled())
        y = y * 2
    return y + 1, torch._C._is_torch_function_enabled()


@case(1, 2)
def torch_function_disabled(x):
    with torch._C.DisableTorchFunction():
        y = x + 1
    return y * 2, torch._C._is_torch_function_enabled()


@case(2, 4)
def profiler_that_nobody_reads(x):
    y = x**2
    with torch.profiler.profile():
        y = y + 2
        with torch.profiler.record_function("range"):
            z = y**3
            z.tolist()
            z = z + 1
    return z


@case(1, 1)
def profiler_that_is_read(x):
    with torch.autograd.profiler.profile() as profile:
        y = x + 1
    return y, len(profile.function_events) > 0


@case(1, 1)
def exit_stack_moved(x):
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(contextlib.nullcontext())
        stack.pop_all().close()
        return x + 1


@case(1, 4)
def autocast_without_its_device(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = product_under_autocast_of_cuda(x)
    return y, [str(warning.message) for warning in found]


def product_under_autocast_of_cuda(x):
    with torch.autocast("cuda", enabled=not torch.cuda.is_available()):
        return x @ x.t()


def modes():
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


@case(1, 1)
def inference_mode_brings_back_the_grad_mode_before_it(x):
    seen = []
    with torch.no_grad():
        show("no grad")
    with torch.inference_mode():
        show("inference")
    seen.append(modes())
    with torch.no_grad():
        with torch.inference_mode():
            show("inside")
        seen.append(modes())
        with torch.enable_grad(), torch.inference_mode():
            show("grad around")
        seen.append(modes())
    return x + 1, seen, modes()


@case(None)
def inference_mode_within_itself(x):
    seen = []
    with torch.inference_mode():
        with torch.enable_grad():
            with torch.inference_mode():
                show("inside", modes())
            seen.append(modes())
        seen.append(modes())
    return x + 1, seen, modes()
