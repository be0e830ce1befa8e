"""Fake tensors: the layout of a tensor without its data.

In:  `torch._subclasses.FakeTensor`s of one `FakeMode` (`codegen.fake.twins` makes them of real tensors).
Out: ATen operators called on them compute sizes, strides and dtypes only.

    mode = fake_mode()
    x = to_fake(mode, torch.randn(3, 4))          # FakeTensor(..., size=(3, 4))
    with mode:
        (x @ x.t()).shape                         # torch.Size([3, 3]), nothing was computed

torch's own `FakeTensorMode` imports `torch._dynamo` in its constructor, and again at its first dispatch (by a
decorator that `TorchDispatchMode` puts around `__torch_dispatch__`). Most operators then import
`symbolic_shapes` (0.3 s). So `FakeMode` is a subclass that fills the attributes itself, turns that decorator
off, and has its own dispatch. It asks our shape rules (`codegen.fake.shapes`), else it runs the operator's
meta kernel, and wraps the results. It still is a `FakeTensorMode` for `isinstance`. Sizes are static, unless
`to_fake` gets symbols: then the rules of `codegen.fake.symbolic` run the operators on them.
"""

from __future__ import annotations

import contextlib
import functools
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import _capture
import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorConverter,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from codegen.fake.foreign import run_foreign
from codegen.fake.known_values import can_be_known, is_still_constant, remember_values, tensors_in
from codegen.fake.plain_numbers import PLAIN_NUMBERS
from codegen.fake.shapes.spec import Spec
from codegen.fake.shapes.table import SHAPE_RULES
from codegen.kernel.errors import UnsupportedTensor
from codegen.kernel.foreign import is_foreign

__all__ = ["FakeMode", "FakeTensor", "fake_mode"]

aten = torch.ops.aten
META = torch.device("meta")
CPU = torch.device("cpu")
ON_CPU = (None, CPU, "cpu")


class SymbolicRules(Protocol):
    """The functions that a mode calls where sizes and numbers may be symbols."""

    def is_symbolic(self, values: Any) -> bool: ...

    def run_symbolic(
        self, mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...

    def read_scalar(
        self, mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...

    def with_unbacked_sizes(
        self, mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...


def device_in_c(dispatch: Callable[..., Any], owner: str | None = None) -> Any:
    """`dispatch` as `__torch_dispatch__` of a mode that sees fake tensors, without `prim.device`.

    autograd asks for the device at each of its steps, inside of functions that end the process where Python
    raises (an interrupt, no memory). C answers, and no function of ours runs there.
    `owner`: the attribute that holds the `FakeMode`.
    """
    return _capture.FakeDispatch(torch.ops.prim.device.default, META, dispatch, owner)


class FakeMode(FakeTensorMode):
    """A `FakeTensorMode` that does not import `torch._dynamo`.

    Each translation has its own; threads do not share it.
    """

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)
        self.allow_fallback_kernels = True
        self.propagate_real_tensors = False
        self.fake_tensor_converter = FakeTensorConverter(copy_data=False, export=False)
        self.static_shapes = True
        self.shape_env = None
        self.symbolic: SymbolicRules | None = None  # set by `codegen.fake.symbolic.use_sizes`
        self.allow_scalar_outputs = False
        self._allow_unsafe_data_ptr_access = True
        self.allow_meta = False
        self.cache_enabled = False
        self.cache_crosscheck_enabled = False
        self.allow_non_fake_inputs = False
        self.in_kernel_invocation = False
        self.enter_stack = []
        self._stack_trace = traceback.StackSummary()
        self._stack = None
        self._mode_key = torch._C._TorchDispatchModeKey.FAKE
        self.nt_tensor_id_initial_count = 0
        self.nt_tensor_id_counter = 0
        self.epoch = 0  # torch's cache of known values reads it
        self.templates: dict[torch.device, dict[str, Any]] = {}
        self.tried: set[Any] = set()  # kinds of calls on symbolic sizes that eager accepts
        self.has_drawn = False  # whether an operator drew random numbers
        self.has_hooks = False  # whether a graph registered a hook on a gradient
        self.memo: WeakIdKeyDictionary = WeakIdKeyDictionary()
        self.storages: dict[int, tuple[StorageWeakRef, torch.UntypedStorage]] = {}
        self._avoids_devices: bool = FakeTensorMode.avoid_device_init.fget(self)  # type: ignore[attr-defined]

    @property
    def avoid_device_init(self) -> bool:
        """Asked at each entry of the mode, thus for each operation: torch looks for the drivers each time."""
        return self._avoids_devices

    def forget_tensors(self) -> None:
        """Forgets which real tensors the fake ones stand for.

        `torch.utils.swap_tensors` refuses a tensor that has weak references.
        """
        self.memo.clear()
        self.storages.clear()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the decorator that this switches off imports torch._dynamo at its first call

    def run_operator(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not isinstance(func, OpOverload):
            raise UnsupportedOperatorException(func)
        self.has_drawn |= draws(func)
        symbolic = self.symbolic
        if symbolic is not None and (
            symbolic.is_symbolic(args) or (kwargs and symbolic.is_symbolic(kwargs.values()))
        ):
            return symbolic.run_symbolic(self, func, args, kwargs or {})
        with PLAIN_NUMBERS:
            result = rule_of(func)(self, func, args, kwargs or {})
        if can_be_known(result, args):
            remember_values(func, args, kwargs or {}, result)
        return result

    __torch_dispatch__ = device_in_c(run_operator)

    def run_meta(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The meta kernel's own results: plain tensors on the meta device, or the arguments themselves."""
        was_inside = self.in_kernel_invocation
        with torch._C._DisableTorchDispatch(), torch._C._PreserveDispatchKeyGuard():
            self.in_kernel_invocation = True
            torch._C._set_meta_in_tls_dispatch_include(True)
            # torch's kernel for this key imports torch.distributed.tensor (0.5 s) for fake tensors, and views
            # and versions need no tracking here
            torch._C._dispatch_tls_set_dispatch_key_excluded(torch._C.DispatchKey.ADInplaceOrView, True)
            try:
                return func(*args, **kwargs)
            finally:
                self.in_kernel_invocation = was_inside

    def new(self, spec: Spec, device: torch.device) -> FakeTensor:
        with torch._C._DisableTorchDispatch():
            meta = torch.empty_strided(spec.shape, spec.strides, dtype=spec.dtype, device=META)
            return self.make(meta, device)

    def like(self, fake: FakeTensor) -> FakeTensor:
        """A new tensor of the same layout on its own memory."""
        return self.new(Spec(tuple(fake.shape), tuple(fake.stride()), fake.dtype), fake._fake_device)

    def make(self, meta: torch.Tensor, device: torch.device) -> FakeTensor:
        """`FakeTensor(self, meta, device)` in a quarter of the time.

        The attributes that its constructor sets in Python are copied from an earlier tensor.
        """
        template = self.templates.get(device)
        if template is None:
            first = FakeTensor(self, meta, device)
            self.templates[device] = dict(vars(first))
            return first
        fake = torch.Tensor._make_subclass(
            FakeTensor, meta, meta.requires_grad, dispatch_device=True, device_for_backend_keys=device
        )
        torch._C._set_warn_deprecated_on_mutable_data_ptr(fake)
        vars(fake).update(template)
        return fake

    def wrap(self, meta: torch.Tensor, device: torch.device) -> FakeTensor:
        return meta if isinstance(meta, FakeTensor) else self.make(meta, device)


@functools.cache
def draws(func: OpOverload) -> bool:
    """Whether the operator draws random numbers from a generator."""
    return torch.Tag.nondeterministic_seeded in func.tags


def fake_mode() -> FakeMode:
    """A new mode. Enter it (`with mode:`) to call torch operators that make tensors."""
    keep_dynamo_out()
    return FakeMode()


@contextlib.contextmanager
def mode_of_a_trace() -> Iterator[FakeMode]:
    """A new mode, without entering it. At the end it forgets which real tensors it has seen: the mode itself
    lives in cycles until a collection, and no weak reference to a parameter may stay for so long.
    """
    mode = fake_mode()
    try:
        yield mode
    finally:
        mode.forget_tensors()


WRAPPED = ("fn", "f", "prim")  # what torch's decorators call the function that they wrap


@functools.cache
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


# --- dispatch ---------------------------------------------------------------------------------------------

Rule = Callable[[FakeMode, OpOverload, tuple[Any, ...], dict[str, Any]], Any]
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
        return run_shape_rule(func)
    written = [i for i, argument in enumerate(func._schema.arguments) if _is_written_list(argument)]
    general = foreign_rule_of(func) if is_foreign(func) else general_rule_of(func)
    if func._opname.startswith("_fused_") and not func._schema.returns:
        general = write_nothing
    if func._opname.startswith("_foreach_"):
        general = rule_for_each(func, general)
    return counting_writes(general, written) if written else general


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


SUM, MAXIMUM = 0, 2  # modes of embedding_bag
BAG_ARGUMENTS = ((4, "mode"), (7, "include_last_offset"))


@rule(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def run_embedding_bag(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Differs from torch's meta kernel in two points.

    In eager, sums of bfloat16 rows take the fast path of float16, and keep as little for the backward. A call
    without a backward has other sizes of its last two results.
    """
    weight, *rest = args
    device = common_device(mode, func, args, kwargs)
    is_wide = weight.dtype is not torch.bfloat16
    with mode:
        layout = weight.shape, weight.stride()
        twin = weight if is_wide else torch.empty_strided(*layout, dtype=torch.float16, device=device)
        results = wrap_results(mode, mode.run_meta(func, (twin, *rest), kwargs), device)
        sums, bag_of_index, counts, largest = results
        reduction, has_last = (args[i] if len(args) > i else kwargs.get(name, 0) for i, name in BAG_ARGUMENTS)
        if func is aten._embedding_bag_forward_only.default:
            bags = counts.shape[0] - bool(has_last and reduction != SUM)
            counts = counts.new_empty(bags)
            largest = largest if reduction == MAXIMUM else counts.new_empty(bags)
        return sums if is_wide else sums.to(weight.dtype), bag_of_index, counts, largest


# Only the library that it calls knows the size of its workspace.
rule(aten.mkldnn_rnn_layer.default)(run_on_zeros)
# The library decides the order of the dims of their results.
prims = torch.ops.prims
rule(prims.fft_c2r.default, prims.fft_r2c.default, prims.fft_c2c.default)(run_on_zeros)
rule(aten.complex.out, aten.polar.out)(run_on_zeros)  # their meta kernels take an `out` of any dtype


@rule(aten.index.Tensor, aten._unsafe_index.Tensor)
def run_index(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for index in args[1]:
        if index is not None and index.dtype in (torch.bool, torch.uint8):
            return raise_dynamic_shape(mode, func, args, kwargs)
    small = sum(tensor.numel() for tensor in tensors_in(args)) < LARGE
    return (run_on_zeros if small else run_plain)(mode, func, args, kwargs)


@rule(aten.lift_fresh.default, aten.lift_fresh_copy.default, aten.lift.default)
def run_lift(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`torch.tensor(...)` made a real tensor; the fake twin keeps it in `.constant`."""
    (tensor,) = args
    if isinstance(tensor, FakeTensor):
        return tensor
    with torch._C._DisableTorchDispatch():
        meta = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=META)
    return FakeTensor(mode, meta, tensor.device, constant=tensor)


@rule(aten.permute.default)
def run_permute(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Permutes the sizes and strides directly.

    torch's own kernel reads the layout of the Python object, which imports `torch.distributed.tensor` and
    sympy.
    """
    tensor, dims = args
    rank = tensor.dim()
    if len(dims) != rank or len({dim % rank for dim in dims if -rank <= dim < rank}) != rank:
        return run_on_zeros(mode, func, args, kwargs)
    order = [dim % rank for dim in dims]
    shape, strides = [tensor.shape[dim] for dim in order], [tensor.stride(dim) for dim in order]
    with torch._C._DisableTorchDispatch():
        meta = torch.empty(0, dtype=tensor.dtype, device=META)
        meta.set_(tensor.untyped_storage(), tensor.storage_offset(), shape, strides)
        meta = torch._conj(meta) if tensor.is_conj() else meta
        meta = torch._neg_view(meta) if tensor.is_neg() else meta
        return mode.make(meta, tensor._fake_device)


@rule(aten._unpack_dual.default)
def run_unpack_dual(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the tensor without a tangent: below autograd no tensor has one.

    torch calls this operator for the text of a tensor, for each argument that an overload does not accept.
    Its own kernel fails there, and leaves a switch behind that breaks later calls in the thread.
    """
    return args[0], None
