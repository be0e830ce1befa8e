"""For each reason of a graph break: a program that breaks, and one that does not.

In:  a section for each reason: `breaks` and `mended` take a tensor of shape (3, 4).
Out: docs/graph_breaks.md shows them (scripts/make_graph_breaks.py); tests/test_break_examples.py runs them.
"""

import contextlib
import functools
import io
import random
import types

import numpy as np
import torch

import capture

# === aliasing


def breaks(x):
    y = x + 1
    return torch.utils.checkpoint.checkpoint(lambda t: y, x, use_reentrant=False) * 2


def mended(x):
    return torch.utils.checkpoint.checkpoint(lambda t: t + 1, x, use_reentrant=False) * 2


# === builtin

FILE = io.StringIO()


def breaks(x):
    y = x + 1
    print("seen", file=FILE)
    return y * 2


def mended(x):
    y = x + 1
    print("seen")  # to the standard output: it runs behind the graph
    return y * 2


# === call


def breaks(x):
    y = x + 1
    types.GenericAlias(list, (int,))
    return y * 2


NUMBERS = types.GenericAlias(list, (int,))


def mended(x):
    y = x + 1
    return y * 2 if NUMBERS is not None else y


# === call_disabled


@capture.disable
def log_size(x):
    return x * 3


def breaks(x):
    return log_size(x + 1) * 2


def triple(x):
    return x * 3


def mended(x):
    return triple(x + 1) * 2


# === call_of_capture


def breaks(x):
    y = x + 1
    with capture.disable():
        y = y * 2
    return y + 1


def mended(x):
    y = (x + 1) * 2
    return y + 1


# === call_skipped


def breaks(x):
    import traceback

    y = x + 1
    traceback.format_exception_only(ValueError, ValueError("v"))
    return y * 2


def mended(x):
    return (x + 1) * 2  # format the error where it is caught, outside


# === changing_items

RECORDS = [(torch.full((4,), float(i)), None if i % 3 else torch.ones(4)) for i in range(12)]


@capture.disable
def drawn():
    return random.Random(0).sample(RECORDS, 10)  # in the next call, other records lack their second part


def breaks(x):
    batch = drawn()
    following = torch.stack([second for _, second in batch if second is not None])
    return (x + 1).sum() * following.sum()


FIRST = torch.stack([first for first, _ in RECORDS])
IS_THERE = torch.tensor([second is not None for _, second in RECORDS])


def mended(x):
    following = torch.where(IS_THERE[:, None], FIRST, 0.0)
    return (x + 1).sum() * following.sum()


# === changing_number


def smoothed(x, eps):
    return torch.logit(x.sigmoid(), eps=eps) * 2


@capture.disable(recursive=False)
def annealed(x):
    for step in range(1, 8):
        x = smoothed(x, 0.01 * step)
    return x


def breaks(x):
    return annealed(x + 1)


def mended(x):
    x = x + 1
    for step in range(1, 8):
        eps = torch.tensor(0.01 * step)
        x = x.sigmoid().clamp(eps, 1 - eps).logit() * 2
    return x


# === compare


class Anything(type):
    def __eq__(cls, other):
        return True

    __hash__ = type.__hash__


class Wildcard(metaclass=Anything):
    pass


def breaks(x):
    y = x + 1
    return y * 2 if Wildcard == int else y


def mended(x):
    y = x + 1
    return y * 2 if Wildcard is int else y


# === data_dependent_jump


def breaks(x):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    return y


def mended(x):
    y = x + 1
    return torch.where(y.sum() > 0, y * 2, y)


# === data_dependent_shape


def breaks(x):
    y = x + 1
    return y[(y > 0).to(torch.uint8)].sum()


def mended(x):
    y = x + 1
    return torch.where(y > 0, y, 0).sum()


# === data_dependent_value


def breaks(x):
    y = x + 1
    phase = (y.sum() * 1j).item()  # a complex number of Python
    return y * phase.imag


def mended(x):
    y = x + 1
    phase = y.sum() * 1j
    return y * phase.imag


# === debugger


def breaks(x):
    y = x + 1
    breakpoint()
    return y * 2


def mended(x):
    y = x + 1
    return y * 2


# === explicit


def breaks(x):
    y = x + 1
    capture.graph_break("the model ends here")
    return y * 2


def mended(x):
    y = x + 1
    return y * 2


# === late_error

CALLS = []


def breaks(x):
    CALLS.append("begun")
    x.add_(1)
    return x[torch.tensor([2])]


def mended(x):
    y = x[torch.tensor([2])] + 1
    CALLS.append("begun")
    x.add_(1)
    return y


# === write_without_grad


SCALE = torch.nn.Parameter(torch.ones(4))


def breaks(x):
    with torch.no_grad():
        SCALE.clamp_(min=0)
    return x * SCALE


def mended(x):
    with torch.no_grad():
        SCALE.clamp_(min=0)
    return x * SCALE.detach()


# === changed_flag


SCALE = torch.nn.Parameter(torch.ones(4))


def breaks(x):
    SCALE.requires_grad = False
    y = (x + 1) * SCALE
    SCALE.requires_grad = True
    return y


def mended(x):
    return (x + 1) * SCALE.detach()


# === finalizer


class Session:
    closed = []

    def __del__(self):
        Session.closed.append(self)


def breaks(x):
    y = x + 1
    Session()
    return y * 2


SESSION = Session()


def mended(x):
    y = x + 1
    return y * 2 if SESSION else y


# === generator


def breaks(x):
    y = x + 1
    numbers = (i for i in range(3))
    next(numbers)
    try:
        numbers.throw(5)
    except TypeError:
        y = y * 2
    return y


def mended(x):
    y = x + 1
    numbers = [0, 1, 2]
    return y * numbers[2]


# === get_attr


def breaks(x):
    y = x + 1
    return y * 2, (lambda: 0).__globals__ is not None


NAMES = globals()


def mended(x):
    y = x + 1
    return y * 2, NAMES is not None


# === import


def breaks(x):
    y = x + 1
    try:
        import an_accelerator_that_is_not_installed
    except ImportError:
        pass
    return y * 2


try:
    import an_accelerator_that_is_not_installed as accelerator
except ImportError:
    accelerator = None


def mended(x):
    y = x + 1
    return y * 2 if accelerator is None else y


# === inline_depth


def deep(x, n):
    return x if n == 0 else deep(x + 1, n - 1)


def breaks(x):
    return deep(x, 80)


def mended(x):
    for _ in range(80):
        x = x + 1
    return x


# === inner_gradients


def breaks(x):
    leaf = x.detach().requires_grad_()
    return leaf, torch.autograd.grad(leaf.exp().sum(), leaf)[0]


def mended(x):
    leaf = x.detach().requires_grad_()
    return leaf.detach(), torch.autograd.grad(leaf.exp().sum(), leaf)[0]


# === iterate


class Keyed:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self is other


PARTS = {Keyed(), Keyed()}  # a set: its order may be another in the next run


def breaks(x):
    y = x + 1
    return y * sum(1 for _ in PARTS)


LIST = [Keyed(), Keyed()]


def mended(x):
    y = x + 1
    return y * sum(1 for _ in LIST)


# === method


def breaks(x):
    y = x + 1
    return y * 2, y.data_ptr() != 0


def mended(x):
    y = x + 1
    return y * 2, y.numel() != 0


# === mutation


class CountsCalls(torch.autograd.Function):
    calls = []

    @staticmethod
    def forward(ctx, x):
        CountsCalls.calls.append(1)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


WEIGHT = torch.nn.Parameter(torch.ones(3, 4))


def breaks(x):
    return CountsCalls.apply(x + WEIGHT) * 2


class Doubles(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def mended(x):
    return Doubles.apply(x + WEIGHT) * 2


# === not_a_graph_argument


def breaks(x):
    y = x + 1
    try:
        return torch.add(y, object())
    except TypeError:
        return y * 2


def mended(x):
    y = x + 1
    return torch.add(y, 3)


# === not_constant


class Name(str):
    pass


def breaks(x):
    y = x + 1
    return y * getattr(x, Name("ndim"))


def mended(x):
    y = x + 1
    return y * x.ndim


# === numpy_differs


def breaks(x):
    y = x + 1
    return y * 2, np.arange(3, dtype=np.float16) * np.float16(0.1)


def mended(x):
    y = x + 1
    return y * 2, np.arange(3, dtype=np.float32) * np.float32(0.1)


# === numpy_random


def breaks(x):
    return x * np.random.choice([2.0])


def mended(x):
    return x * torch.rand(())


# === opcode

EITHER = int | str


def breaks(x):
    y = x + 1
    try:
        match 3:
            case EITHER():
                y = y - 1
    except TypeError:
        y = y + 1
    return y * 2


def mended(x):
    y = x + 1
    match 3:
        case int() | str():
            y = y - 1
    return y * 2


# === operator


def breaks(x):
    y = x + 1
    return y * len([0] * 1_000_000)


def mended(x):
    y = x + 1
    return y * 1_000_000


# === property


class Cached:
    @classmethod
    @functools.lru_cache
    def size(cls):
        return 3


def breaks(x):
    y = x + 1
    return y * Cached().size()


class Plain:
    def size(self):
        return 3


def mended(x):
    y = x + 1
    return y * Plain().size()


# === raised


def check(x):
    if x.dim() != 4:
        raise ValueError(f"{x.dim()} dimensions in place of 4")


def breaks(x):
    y = x + 1
    check(y)
    return y * 2


def mended(x):
    y = (x + 1)[None, None]
    check(y)
    return y * 2


# === reconstruct


def breaks(x):
    y = x + 1
    return y * 2, (i for i in range(3))


def mended(x):
    y = x + 1
    return y * 2, [i for i in range(3)]


# === recurrent_length


GRU = torch.nn.GRU(4, 4, batch_first=True)
HALF = torch.nn.GRU(4, 4, batch_first=True).bfloat16()
STEPS = torch.ones(3, 5, 4)
capture.maybe_mark_dynamic(STEPS, 1)  # as after calls with several lengths


def breaks(x):
    return HALF((STEPS * x[0]).bfloat16())[0]


def mended(x):
    return GRU(STEPS * x[0])[0]


# === set_attr


def breaks(x):
    def f(k=1):
        return k

    y = x + 1
    f.__kwdefaults__ = {}
    return y * f()


def mended(x):
    f = functools.partial(lambda k=1: k, k=2)
    y = x + 1
    return y * f()


# === subclass


class Sub(torch.Tensor):
    def __getattr__(self, name):
        raise AttributeError(name)


SUB = torch.ones(4).as_subclass(Sub)


def breaks(x):
    y = x + 1
    return y * 2, SUB + 1


PLAIN = torch.ones(4)


def mended(x):
    y = x + 1
    return y * 2, PLAIN + 1


# === too_many_instructions


def breaks(x):
    y = x + 1
    total = 0
    for i in range(100_000):
        total += i % 7
    return y * total


TOTAL = sum(i % 7 for i in range(100_000))


def mended(x):
    y = x + 1
    return y * TOTAL


# === too_many_places

LONG = list(range(50_000))


def breaks(x):
    y = x + 1
    return y * max(LONG)


LONG_TENSOR = torch.arange(50_000)


def mended(x):
    y = x + 1
    return y * LONG_TENSOR.max()


# === torch_op_failed


def breaks(x):
    y = x + 1
    try:
        return y @ y
    except RuntimeError:
        return y


def mended(x):
    y = x + 1
    return y @ y.T


# === truth_value


class Quiet(Exception):
    def __bool__(self):
        return False


def breaks(x):
    y = x + 1
    error = Quiet()
    return y * (2 if error else 3)


def mended(x):
    y = x + 1
    error = Quiet()
    return y * (2 if error is not None else 3)


# === unbacked_decision


def breaks(x):
    y = x + 1
    n = int(y.sum())  # stays in the graph under fullgraph=True or config.capture_scalar_outputs
    return y * 2 if n > 3 else y


def mended(x):
    y = x + 1
    return torch.where(y.sum() > 3, y * 2, y)


# === unknown_type

MEMORY = memoryview(b"abc")


def breaks(x):
    y = x + 1
    return y * len(MEMORY.tolist())


LENGTH = len(MEMORY)


def mended(x):
    y = x + 1
    return y * LENGTH


# === unsupported_tensor

SPARSE = torch.eye(3).to_sparse()


def breaks(x):
    y = x + 1
    return SPARSE @ y


DENSE = torch.eye(3)


def mended(x):
    y = x + 1
    return DENSE @ y


# === unsupported_torch_function


def breaks(x):
    y = x + 1
    torch.set_flush_denormal(False)
    return y * 2


torch.set_flush_denormal(False)


def mended(x):
    y = x + 1
    return y * 2


# === with_context


@contextlib.contextmanager
def nothing():
    yield


def breaks(x):
    y = x + 1
    with nothing:  # the call is missing: Python raises a TypeError
        y = y * 2
    return y


def mended(x):
    y = x + 1
    with nothing():
        y = y * 2
    return y
