"""How an operator runs on fake tensors, decided once for each operator.

In:  an ATen operator, and the `FakeMode` that sees its call.
Out: `rule_of(func)`: the function that gives the results.

    sum, add                          ->    our shape rule (`codegen.fake.shapes`)
    empty, zeros_like                 ->    the meta kernel, with the meta device as an argument
    an operator without meta kernel   ->    eager's kernel on zeros, for the layout of its result
    item, nonzero                     ->    the data decide: symbols, or an error

Operators that none of this fits have rules of their own (`codegen.fake.own_rules`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    UnsupportedOperatorException,
)

from codegen.fake.foreign import run_foreign
from codegen.fake.known_values import is_still_constant, tensors_in
from codegen.fake.plain_numbers import PLAIN_NUMBERS
from codegen.fake.shapes.spec import Spec
from codegen.fake.shapes.table import SHAPE_RULES
from codegen.fake.supported import check_supported
from codegen.kernel.errors import UnsupportedTensor
from codegen.kernel.foreign import is_foreign

if TYPE_CHECKING:
    from codegen.fake.fake import FakeMode

    Rule = Callable[[FakeMode, OpOverload, tuple[Any, ...], dict[str, Any]], Any]

aten = torch.ops.aten
META = torch.device("meta")
CPU = torch.device("cpu")
ON_CPU = (None, CPU, "cpu")

RULES: dict[OpOverload, Rule] = {}


def rule(*funcs: OpOverload) -> Callable[[Rule], Rule]:
    def register(body: Rule) -> Rule:
        RULES.update(dict.fromkeys(funcs, body))
        return body

    return register


@functools.cache
def rule_of(func: OpOverload) -> Rule:
    """How the operator runs on fake tensors, decided once for each operator."""
    if func in RULES:
        return RULES[func]
    if func in SHAPE_RULES:
        rule = run_shape_rule(func)
        return of_one_dtype(rule) if func in OF_ONE_DTYPE else rule
    written = [i for i, argument in enumerate(func._schema.arguments) if _is_written_list(argument)]
    general = foreign_rule_of(func) if is_foreign(func) else general_rule_of(func)
    if func in OF_ONE_DTYPE:
        return of_one_dtype(general)
    if func._opname.startswith("_fused_") and not func._schema.returns:
        general = write_nothing
    if func._opname.startswith("_foreach_"):
        general = rule_for_each(func, general)
    return counting_writes(general, written) if written else general


#: operators that eager refuses for floats of several dtypes; rules and meta kernels of torch take them
OF_ONE_DTYPE = frozenset((
    aten.native_batch_norm.default, aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit.no_stats, aten.native_layer_norm.default, aten.lerp.Scalar,
    aten.lerp.Tensor, aten.nll_loss_forward.default, aten.nll_loss2d_forward.default,
    aten._cdist_forward.default, aten.linalg_cross.default, aten.put.default, aten.put_.default,
    aten.grid_sampler_2d.default, aten.grid_sampler_3d.default,
))  # fmt: skip


def are_mixed(args: tuple[Any, ...]) -> bool:
    """Whether the arguments are floats of several dtypes."""
    return len({tensor.dtype for tensor in tensors_in(args) if tensor.is_floating_point()}) > 1


def of_one_dtype(rule: Rule) -> Rule:
    """Other dtypes run on real zeros, for eager's own answer (statistics of half precision) or error."""

    def run(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        small = are_mixed(args) and sum(tensor.numel() for tensor in tensors_in(args)) < LARGE
        return (run_on_zeros if small else rule)(mode, func, args, kwargs)

    return run


def foreign_rule_of(func: OpOverload) -> Rule:
    general = general_rule_of(func)

    def run(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return run_foreign(mode, func, args, kwargs, general)

    return run


def _is_written_list(argument: Any) -> bool:
    return argument.is_write and str(argument.type).startswith("List[Tensor")


def counting_writes(rule: Rule, places: list[int]) -> Rule:
    """Counts the writes to lists of tensors (`torch._foreach_add_`).

    Fake tensors do not count them; eager does.
    """

    def run(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        results = rule(mode, func, args, kwargs)
        names = [func._schema.arguments[place].name for place in places]
        lists = [args[i] if i < len(args) else kwargs.get(name, ()) for i, name in zip(places, names)]
        torch._C._increment_version([t for t in tensors_in(lists) if not t.is_inference()])
        return results

    return run


def run_rule(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs the operator on fake tensors of `mode`, which is the innermost mode."""
    symbolic = mode.symbolic
    if symbolic is not None and (symbolic.is_symbolic(args) or symbolic.is_symbolic(kwargs.values())):
        return func(*args, **kwargs)
    with PLAIN_NUMBERS:
        return rule_of(func)(mode, func, args, kwargs)


def general_rule_of(func: OpOverload) -> Rule:
    if torch.Tag.data_dependent_output in func.tags or func is torch.ops.prims.item.default:
        return raise_data_dependent
    if torch.Tag.dynamic_output_shape in func.tags:
        return raise_dynamic_shape
    if any(argument.name == "device" for argument in func._schema.arguments):
        return run_with_device
    if func.namespace == "prims":
        return run_prim
    if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "Meta"):
        return run_plain
    if func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
        # a call of it as a meta kernel would give the same, but imports torch.distributed.tensor (0.2 s)
        return run_decomposed
    if torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), "Meta"):
        return run_plain
    return run_on_zeros


def write_nothing(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A fused optimizer: it changes contents alone, and fake tensors have none."""
    common_device(mode, func, args, kwargs)  # refuses tensors that are not of this mode


def wrap_results(mode: FakeMode, results: Any, device: torch.device) -> Any:
    if isinstance(results, torch.Tensor):
        return mode.wrap(results, device)
    if isinstance(results, (list, tuple)):
        return type(results)(wrap_results(mode, result, device) for result in results)
    return results


def common_device(
    mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> torch.device:
    """The device of the results.

    Any other device wins over the device of a zero-dim CPU tensor. All tensors must belong to this mode.
    """
    found: torch.device | None = None
    for tensor in tensors_in((*args, *kwargs.values())):
        if not (isinstance(tensor, FakeTensor) and tensor.fake_mode is mode):
            raise UnsupportedTensor(
                f"{func} was called with a tensor that is not a fake tensor of this mode: {type(tensor)}"
            )
        if found is None or (found.type == "cpu" and tensor._fake_device != found):
            found = tensor._fake_device
    return found or CPU


LARGE = 1 << 20  # elements of zeros; an operator is not run on more
NOT_OF_ZEROS = frozenset(
    [torch.Tag.nondeterministic_seeded, torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output]
)


def rule_for_each(func: OpOverload, general: Rule) -> Rule:
    """An operator over lists of tensors: the operator on each tensor, where we know it."""
    from codegen.kernel.foreach import FOREACH  # lazy: import time

    each = FOREACH.get(func)
    if each is None:
        return general

    def run(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        common_device(mode, func, args, kwargs)  # refuses tensors that are not of this mode
        with mode:
            results = each(*args, **kwargs)
        return general(mode, func, args, kwargs) if results is NotImplemented else results

    return run


def run_shape_rule(func: OpOverload) -> Rule:
    """Results by our own shape rule.

    Where the rule is not sure, the operator runs on real zeros, for eager's own answer or error. It does not
    run on zeros if it draws random numbers or if its result depends on values.
    """
    shape_rule, general = SHAPE_RULES[func], general_rule_of(func)
    on_zeros = run_on_zeros if NOT_OF_ZEROS.isdisjoint(func.tags) else general

    def run(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        specs = shape_rule(args, kwargs)
        if kwargs.get("device", CPU) not in ON_CPU:
            return general(mode, func, args, kwargs)
        if specs is NotImplemented:
            small = sum(tensor.numel() for tensor in tensors_in(args)) < LARGE
            return (on_zeros if small else general)(mode, func, args, kwargs)
        device = common_device(mode, func, args, kwargs)
        if type(specs) is Spec:
            return mode.new(specs, device)
        if type(specs) is tuple:
            return tuple(mode.new(spec, device) if type(spec) is Spec else spec for spec in specs)
        return specs

    return run


def run_plain(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    device = common_device(mode, func, args, kwargs)
    try:
        results = mode.run_meta(func, args, kwargs)
    except NotImplementedError:
        return run_on_zeros(mode, func, args, kwargs)
    return (
        mode.wrap(results, device)
        if isinstance(results, torch.Tensor)
        else wrap_results(mode, results, device)
    )


def run_prim(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Elementwise prims, which take zero-dim CPU tensors together with other tensors.

    Their meta kernels recognise such a tensor by its device, which is another one there.
    """
    shapes = {value.shape for value in args if isinstance(value, torch.Tensor) and value.dim()}
    if len(shapes) == 1:
        (shape,) = shapes
        with mode:
            args = tuple(v.expand(shape) if isinstance(v, torch.Tensor) and not v.dim() else v for v in args)
    return run_plain(mode, func, args, kwargs)


def run_with_device(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Constructors, `*_like` and `_to_copy`, which have the device as an argument.

    The meta kernel gets the meta device in its place.
    """
    device = kwargs.get("device")
    positional = next((i for i, value in enumerate(args) if isinstance(value, torch.device)), None)
    if device is None and positional is not None:
        device = args[positional]
        args = (*args[:positional], META, *args[positional + 1 :])
    has_tensor = next(tensors_in((*args, *kwargs.values())), None) is not None
    if device is None:
        device = common_device(mode, func, args, kwargs) if has_tensor else torch.get_default_device()
    if positional is None:
        kwargs = {**kwargs, "device": META}
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False
    return wrap_results(mode, mode.run_meta(func, args, kwargs), torch.device(device))


def run_decomposed(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A composite operator without a meta kernel: its body runs on fake tensors."""
    with mode:
        return func.decompose(*args, **kwargs)


UNTAGGED_DIVISIONS = (aten.floor_divide.default, aten.floor_divide_.Tensor)


def run_on_zeros(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs the operator on real zeros and takes the layout of the result.

    Operators that draw random numbers or change sizes in place are refused.
    """
    unsafe = torch.Tag.nondeterministic_seeded in func.tags or torch.Tag.inplace_view in func.tags
    if unsafe or func.namespace not in ("aten", "prims"):
        raise UnsupportedOperatorException(func)
    device = common_device(mode, func, args, kwargs)
    divides = torch.Tag.pointwise in func.tags or func in UNTAGGED_DIVISIONS
    fill = 1 if divides else 0  # zero is a good index and a bad divisor
    twins: list[tuple[torch.Tensor, FakeTensor]] = []

    def to_zeros(value: Any) -> Any:
        if isinstance(value, FakeTensor):
            extent = (
                1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride()))
                if value.numel()
                else 0
            )
            offset = value.storage_offset() if value.storage_offset() + extent < LARGE else 0
            zeros = torch.full((offset + extent,), fill, dtype=value.dtype, device=value._fake_device)
            zeros = zeros.as_strided(value.shape, value.stride(), offset)
            twins.append((zeros, value))
            return zeros
        if isinstance(value, (list, tuple)):
            return type(value)(to_zeros(item) for item in value)
        return value

    def to_fake_again(value: Any) -> Any:
        if isinstance(value, (bool, int, float)):
            raise DataDependentOutputException(func)  # a value of the zeros, not of the program
        if isinstance(value, torch.Tensor):
            itself = next((fake for zeros, fake in twins if zeros is value), None)
            check_supported(value)  # of another kind than its arguments: quantised, sparse
            meta = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=META)
            if value.storage_offset():
                whole = torch.empty(value.untyped_storage().nbytes(), dtype=torch.uint8, device=META)
                place = value.storage_offset(), value.shape, value.stride()
                meta = torch.empty(0, dtype=value.dtype, device=META).set_(whole.untyped_storage(), *place)
            return mode.make(meta, device) if itself is None else itself
        return (
            type(value)(to_fake_again(item) for item in value) if isinstance(value, (list, tuple)) else value
        )

    with torch._C._DisableTorchDispatch():
        results = func(*to_zeros(args), **{name: to_zeros(value) for name, value in kwargs.items()})
        return to_fake_again(results)


def raise_data_dependent(
    mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if func in (aten._local_scalar_dense.default, aten.item.default) and is_still_constant(args[0]):
        with torch._C._DisableTorchDispatch():
            return args[0].constant.item()
    if mode.symbolic is not None:
        return mode.symbolic.read_scalar(mode, func, args, kwargs)
    raise DataDependentOutputException(func)


def raise_dynamic_shape(
    mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if mode.symbolic is not None:
        return mode.symbolic.with_unbacked_sizes(mode, func, args, kwargs)
    raise DynamicOutputShapeException(func)


rule(aten.item.default)(raise_data_dependent)
