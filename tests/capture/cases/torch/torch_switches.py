"""States of torch other than grad mode and autocast: kernels of attention, hooks on saved tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd.graph import disable_saved_tensors_hooks
from torch.fx._symbolic_trace import is_fx_tracing
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.capture.cases.registry import case

disabled_because = torch._C._autograd._saved_tensors_hooks_get_disabled_error_message


def queries():
    torch.manual_seed(0)
    return (torch.randn(1, 2, 16, 8),)


@case(1, 11, queries)
def one_kernel_of_attention(q):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, q, q)


@case(1, None, queries)
def kernels_of_attention(q):
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        y = F.scaled_dot_product_attention(q, q, q)
        inside = torch.backends.cuda.mem_efficient_sdp_enabled()
    return y * 2, inside, torch.backends.cuda.mem_efficient_sdp_enabled()


@case(1, 4)
def hooks_on_saved_tensors_are_disabled(x):
    with disable_saved_tensors_hooks("not here"):
        y = x * x
    return y + 1, disabled_because()


@case(1, 7)
def hooks_on_saved_tensors_are_disabled_twice(x):
    with disable_saved_tensors_hooks("outside"):
        y = x * x
        with disable_saved_tensors_hooks("inside"):
            z = y * y
            inner = disabled_because()
        outer = disabled_because()
        z = z + 1
    return z, inner, outer, disabled_because()


@case(1, 1)
def members_of_an_enumeration_in_c(x):
    kind = SDPBackend.FLASH_ATTENTION
    weights = {SDPBackend.MATH: 2, SDPBackend.FLASH_ATTENTION: 3}
    return x * weights[kind], int(kind), kind.name, kind == SDPBackend.MATH, kind in (SDPBackend.MATH, kind)


@case(1, 1)
def tracing_by_fx(x):
    return x + 1 if not is_fx_tracing() else x - 1
