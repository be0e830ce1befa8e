"""The programs to run for an operator, made of its sample inputs.

In:  an entry of `op_db`, a dtype, the number of samples.
Out: `Case`s: a function to capture, its arguments, and whether to run a backward.

    cases(OPERATORS["add"], torch.float32, 2)
    ->  forward, backward, inplace, inplace backward, out= of two samples; wrong inputs
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.common_methods_invocations import op_db, python_ref_db
from torch.testing._internal.common_utils import noncontiguous_like
from torch.testing._internal.opinfo.core import OpInfo

DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "float64": torch.float64,
    "int64": torch.int64,
    "bool": torch.bool,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
FURTHER_DTYPES: dict[str, torch.dtype] = {  # run on request; the table has no column for them
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "uint16": torch.uint16,
    "uint32": torch.uint32,
    "uint64": torch.uint64,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}
ALL_DTYPES = {**DTYPES, **FURTHER_DTYPES}
COMPLEX = ("complex64", "complex128")
WITH_BACKWARD = ("float32", "float64", *COMPLEX)
TOLERANCES: dict[str, tuple[float, float]] = {  # relative, absolute: those of torch.testing.assert_close
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "bfloat16": (1.6e-2, 1e-5),
    "float16": (1e-3, 1e-5),
}
SINGLE = (1.3e-6, 1e-5)  # of float32, and of results of ints that are floats; ints have to be equal
OPERATORS: dict[str, OpInfo] = {entry.full_name: entry for entry in op_db}
ENTRIES = OPERATORS | {entry.full_name: entry for entry in python_ref_db}  # with torch's own ones in Python
UNDEFINED = frozenset(  # eager leaves some elements of these results undefined
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_ resize_as_".split()
)
# The runner sets the seed itself; code that would set it can't be captured.
for _module in (common_methods_invocations,):
    _module.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
READ_AT_MOST = 300  # samples of an operator; some of them are chosen


@dataclass
class Case:
    """A program. `make()` gives the function; each run gets copies of `args` and `kwargs`.

    `process` takes the result before the backward.
    """

    name: str
    make: Callable[[], Callable[..., Any]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    backward: bool = False
    process: Callable[[Any], Any] = field(default=lambda result: result)
    settings: dict[str, Any] = field(default_factory=dict)  # of `capture.compile`
    twice: bool = False  # also the gradients of the gradients
    within: Callable[[], Any] = contextlib.nullcontext  # the context in which it is called
    others: tuple[Case, ...] = ()  # the same captured function runs them after this one


def supported_dtypes(entry: OpInfo, dtypes: Iterable[str] = DTYPES) -> list[str]:
    supported = entry.supported_dtypes("cpu")
    return [name for name in dtypes if ALL_DTYPES[name] in supported]


def tolerance(entry: OpInfo, dtype: str) -> tuple[float, float]:
    """The operator's own tolerance: the default of its dtype, or the widest that the database gives for one
    of its tests.
    """
    relative, absolute = TOLERANCES.get(dtype, SINGLE)
    for decorate in entry.decorators:
        for decorator in getattr(decorate, "decorators", [decorate]):
            if isinstance(decorator, toleranceOverride) and ALL_DTYPES[dtype] in decorator.d:
                own = decorator.d[ALL_DTYPES[dtype]]
                relative, absolute = max(relative, own.rtol), max(absolute, own.atol)
    return relative, absolute


def has_backward(entry: OpInfo, dtype: str) -> bool:
    return (
        dtype in WITH_BACKWARD
        and entry.supports_autograd
        and ALL_DTYPES[dtype] in entry.supported_backward_dtypes("cpu")
    )


def cases(entry: OpInfo, dtype: str, samples: int, kinds: Sequence[str] = ("plain",)) -> Iterator[Case]:
    """The programs, always in the same order. Raises the database's errors while it makes its samples."""
    for kind in kinds:
        yield from KINDS[kind](entry, dtype, samples)


def plain(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """The operator as the database calls it, its in-place and out= forms, and wrong calls."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        given = (sample.input, *sample.args)
        yield Case(f"forward {number}", lambda: calling(entry.op), given, sample.kwargs)
        if has_backward(entry, dtype):
            process = sample.output_process_fn_grad
            marked = requiring_grad(given), requiring_grad(sample.kwargs)
            yield Case(f"backward {number}", lambda: calling(entry.op), *marked, True, process)
        if number < (samples + 1) // 2:
            yield from variants(entry, dtype, number, sample)
    if dtype == "float32" and entry.error_inputs_func is not None:
        for number, error in enumerate(chosen(entry.error_inputs("cpu"), samples)):
            sample = error.sample_input
            yield Case(
                f"error {number}", lambda: calling(entry.op), (sample.input, *sample.args), sample.kwargs
            )


def gapped(value: object) -> object:
    """A tensor with gaps in memory; other values, sparse tensors among them, as they are."""
    is_strided = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return noncontiguous_like(value) if is_strided else value


def noncontiguous(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Every tensor has gaps in memory."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        yield from both(entry, dtype, f"noncontiguous {number}", calling(entry.op), sample.transform(gapped))


def dynamic(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """All sizes are symbols."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        for case in both(entry, dtype, f"dynamic {number}", calling(entry.op), sample):
            yield replace(case, settings={"dynamic": True})


def method(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Called as a method of the first argument."""
    if entry.method_variant is None:
        return
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        yield from both(entry, dtype, f"method {number}", calling(entry.method_variant), sample)


def lazy(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Tensors are negated, or conjugated, by a bit."""
    allowed = (
        (entry.test_neg_view, torch._neg_view)
        if dtype not in COMPLEX
        else (entry.test_conjugated_samples, torch.conj)
    )
    if not allowed[0] or dtype == "bool" or entry.name in DISREGARD_BITS:
        return
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return entry.op(*with_bit(args, allowed[1]), **with_bit(kwargs, allowed[1]))

        yield from both(entry, dtype, f"lazy {number}", wrapped, sample)


DISREGARD_BITS = ("nn.functional.max_pool1d",)  # eager reads the memory as it is


def with_bit(value: Any, make: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return make(value) if value.is_floating_point() or value.is_complex() else value
    if isinstance(value, dict):
        return {key: with_bit(item, make) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(with_bit(item, make) for item in value)
    return value


def both(entry: OpInfo, dtype: str, name: str, fn: Callable[..., Any], sample: Any) -> Iterator[Case]:
    """Runs without gradients and with them."""
    given = (sample.input, *sample.args)
    yield Case(f"{name} forward", lambda: fn, given, sample.kwargs)
    if has_backward(entry, dtype):
        marked = requiring_grad(given), requiring_grad(sample.kwargs)
        yield Case(f"{name} backward", lambda: fn, *marked, True, sample.output_process_fn_grad)


def reference(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """The database's larger set of samples: extremes, broadcasting, mixed dtypes, layouts."""
    for number, sample in enumerate(
        chosen(entry.reference_inputs("cpu", ALL_DTYPES[dtype]), REFERENCES * samples)
    ):
        yield from both(entry, dtype, f"reference {number}", calling(entry.op), sample)


def second(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Gradients of gradients."""
    if not (has_backward(entry, dtype) and entry.supports_gradgrad):
        return
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        marked = requiring_grad((sample.input, *sample.args)), requiring_grad(sample.kwargs)
        yield Case(
            f"second {number}",
            lambda: calling(entry.op),
            *marked,
            True,
            sample.output_process_fn_grad,
            twice=True,
        )


def empty(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """The last dim of every tensor has no elements: a result, or eager's error."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        yield from both(
            entry, dtype, f"empty {number}", calling(entry.op), sample.transform(without_elements)
        )


def without_elements(value: Any) -> Any:
    strided = isinstance(value, torch.Tensor) and value.layout is torch.strided and value.dim() > 0
    return value[..., :0] if strided else value


def sequence(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """One captured function is called with one sample after another: other sizes, layouts, dtypes, arguments;
    then again with all of them.
    """
    programs = [
        case
        for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), 4 * samples))
        for case in list(both(entry, dtype, f"sequence {number}", calling(entry.op), sample))[-1:]
    ]
    if programs:
        yield replace(programs[0], others=(*programs[1:], *programs))


def layouts(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Matrices are transposed, images are channels-last: without gaps, in another order."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), 2 * samples)):
        other = sample.transform(laid_out_otherwise)
        yield Case(f"layouts {number}", lambda: calling(entry.op), (other.input, *other.args), other.kwargs)


CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def laid_out_otherwise(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.dim() < 2:
        return value
    if value.dim() in CHANNELS_LAST:
        return value.detach().clone(memory_format=CHANNELS_LAST[value.dim()])
    return value.detach().mT.clone(memory_format=torch.contiguous_format).mT


def amid(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """The operator is between other operations, and its result leaves the graph beside a view of it."""

    def program(*args: Any, **kwargs: Any) -> list[Any]:
        result = entry.op(*[in_front(arg) for arg in args], **kwargs)
        found = []
        for item in result if isinstance(result, (tuple, list)) else (result,):
            found.append(item)
            if isinstance(item, torch.Tensor) and item.layout is torch.strided and item.dim() > 0:
                found.append(item.transpose(0, -1))
        return found

    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        yield from both(entry, dtype, f"amid {number}", program, sample)


def in_front(value: Any) -> Any:
    floats = isinstance(value, torch.Tensor) and value.is_floating_point() and value.layout is torch.strided
    return value * 1 if floats else value


def fullgraph(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """As plain, but the graph may not break."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        for case in both(entry, dtype, f"fullgraph {number}", calling(entry.op), sample):
            yield replace(case, settings={"fullgraph": True})


def autocast(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Under autocast to bfloat16."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        for case in both(entry, dtype, f"autocast {number}", calling(entry.op), sample):
            yield replace(case, within=lambda: torch.autocast("cpu", torch.bfloat16))


def inference(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Under inference mode."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        case = next(both(entry, dtype, f"inference {number}", calling(entry.op), sample))
        yield replace(case, within=torch.inference_mode)


def batched(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Under torch.func.vmap, with the batch dim first in every tensor; and its directional derivative
    (torch.func.jvp).
    """
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        given = (sample.input, *sample.args)
        if not isinstance(sample.input, torch.Tensor) or sample.input.layout is not torch.strided:
            continue
        kwargs = sample.kwargs

        def mapped(*args: Any) -> Any:
            return torch.func.vmap(lambda *items: entry.op(*items, **kwargs), randomness="same")(*args)

        def directional(*args: Any) -> Any:
            tensor, tangent = args[:2]
            return torch.func.jvp(lambda item: entry.op(item, *args[2:], **kwargs), (tensor,), (tangent,))

        if all(isinstance(item, torch.Tensor) and item.layout is torch.strided for item in given):
            stacked = tuple(torch.stack([item.detach(), item.detach()]) for item in given)
            yield Case(f"batched {number}", lambda fn=mapped: fn, stacked, {})
        if entry.supports_forward_ad and has_backward(entry, dtype):
            tangent = torch.ones_like(sample.input).detach()
            first = sample.input.detach()
            yield Case(f"directional {number}", lambda fn=directional: fn, (first, tangent, *sample.args), {})


class Holding(torch.nn.Module):
    """A module that holds the operator and all arguments but the first."""

    def __init__(self, op: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.op, self.args, self.kwargs = op, list(args), kwargs
        for number, item in enumerate(args):
            if isinstance(item, torch.Tensor):
                self.register_buffer(f"item{number}", item)

    def forward(self, first: Any) -> Any:
        args = [getattr(self, f"item{number}", item) for number, item in enumerate(self.args)]
        return self.op(first, *args, **self.kwargs)


def frozen(entry: OpInfo, dtype: str, samples: int) -> Iterator[Case]:
    """Arguments after the first are buffers of a module, and constants of the graph."""
    for number, sample in enumerate(chosen(entry.sample_inputs("cpu", ALL_DTYPES[dtype]), samples)):
        args, kwargs = copied(sample.args), copied(sample.kwargs)
        if args:
            yield Case(
                f"frozen {number}",
                lambda args=args, kwargs=kwargs: Holding(entry.op, args, kwargs),
                (sample.input,),
                {},
                settings={"options": {"freeze": True}},
                within=torch.no_grad,
            )


KINDS = {
    "plain": plain,
    "noncontiguous": noncontiguous,
    "method": method,
    "dynamic": dynamic,
    "lazy": lazy,
    "reference": reference,
    "second": second,
    "empty": empty,
    "sequence": sequence,
    "layouts": layouts,
    "amid": amid,
    "fullgraph": fullgraph,
    "autocast": autocast,
    "inference": inference,
    "batched": batched,
    "frozen": frozen,
}
REFERENCES = 4  # so many times as many of them


def variants(entry: OpInfo, dtype: str, number: int, sample: Any) -> Iterator[Case]:
    """In place, and with given output tensors."""
    given = (sample.input, *sample.args)
    if (
        entry.inplace_variant is not None
        and not sample.broadcasts_input
        and isinstance(sample.input, torch.Tensor)
    ):
        yield Case(f"inplace {number}", lambda: calling(entry.inplace_variant), given, sample.kwargs)
        if has_backward(entry, dtype) and entry.supports_inplace_autograd:
            marked = requiring_grad(given), requiring_grad(sample.kwargs)
            yield Case(
                f"inplace backward {number}", lambda: calling_on_copy(entry.inplace_variant), *marked, True
            )
    if entry.supports_out:
        out = out_of(entry, sample)
        if out is not None:
            yield Case(f"out {number}", lambda: calling(entry.op), given, {**sample.kwargs, "out": out})


def out_of(entry: OpInfo, sample: Any) -> Any:
    """Zeros like the results; None if there are none, or if they are not strided tensors."""
    given = copied((sample.input, *sample.args), False)
    try:
        result = entry.op(*given, **copied(sample.kwargs, False))
    except (RuntimeError, NotImplementedError, TypeError):
        return None  # `forward` compares the exceptions
    results = result if isinstance(result, (tuple, list)) else (result,)
    if not all(isinstance(item, torch.Tensor) and item.layout is torch.strided for item in results):
        return None
    outs = [torch.zeros_like(item).detach() for item in results]
    return (
        outs[0]
        if isinstance(result, torch.Tensor)
        else type(outs)(outs)
        if isinstance(result, list)
        else tuple(outs)
    )


def calling(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: op(*args, **kwargs)


def calling_on_copy(op: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place operator on a copy, for a first argument that is a leaf that requires grad."""
    return lambda first, *args, **kwargs: op(first.clone(), *args, **kwargs)


def chosen(samples: Any, count: int) -> list[Any]:
    """`count` samples, evenly spread over the first READ_AT_MOST."""
    found = list(itertools.islice(samples, READ_AT_MOST))
    if len(found) <= count:
        return found
    if count == 1:
        return found[:1]
    return [found[i * (len(found) - 1) // (count - 1)] for i in range(count)]


def copied(value: Any, grad: bool | None = None, memo: dict[int, Any] | None = None) -> Any:
    """The same value with new leaf tensors on separate storages, with the same layout. `grad` None: those
    that required grad still do.
    """
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            wants = (
                value.requires_grad
                if grad is None
                else grad and (value.is_floating_point() or value.is_complex())
            )
            memo[id(value)] = copied_tensor(value).requires_grad_(wants)
        return memo[id(value)]
    if isinstance(value, dict):
        return {key: copied(item, grad, memo) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [copied(item, grad, memo) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def copied_tensor(tensor: torch.Tensor) -> torch.Tensor:
    plain = tensor.detach()
    strided = (
        plain.layout is torch.strided
        and plain.device.type == "cpu"
        and not (plain.is_conj() or plain.is_neg())
    )
    if not strided:
        return plain.clone()
    storage = plain.untyped_storage().clone()
    return torch.empty(0, dtype=plain.dtype).set_(
        storage, plain.storage_offset(), plain.shape, plain.stride()
    )


def requiring_grad(value: Any) -> Any:
    return copied(value, True)
