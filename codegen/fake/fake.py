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
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import _capture
import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorConverter,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from codegen.fake import own_rules  # noqa: F401 (enters its rules)
from codegen.fake.dispatch import META, rule_of
from codegen.fake.kernel_warnings import WARNING_KERNELS
from codegen.fake.known_values import can_be_known, remember_values
from codegen.fake.plain_numbers import PLAIN_NUMBERS
from codegen.fake.rules_of_torch import prepare_rules_of_torch
from codegen.fake.shapes.spec import Spec

__all__ = ["FakeMode", "FakeTensor", "fake_mode"]

aten = torch.ops.aten
#: Layers of torch that a meta kernel runs below: views, versions and gradients need no tracking there, and
#: for fake tensors both would import `torch.distributed.tensor` and sympy (0.5 to 1 s of a process).
UNTRACKED = torch._C.DispatchKey.ADInplaceOrView, torch._C.DispatchKey.AutogradFunctionality


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
        self._allow_unsafe_data_ptr_access = False  # a kernel that reads the memory raises, and never crashes
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
        self.unheard: list[Any] | None = None  # calls for which kernels warn (`kernel_warnings`)
        self.called: list[OpOverload] | None = None  # operators of the present call of the program
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
        if self.called is not None:
            self.called.append(func)
        if self.unheard is not None and func in WARNING_KERNELS:
            call = WARNING_KERNELS[func](args, kwargs or {})
            self.unheard += () if call is None else (call,)
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
        """The meta kernel's own results: plain tensors on the meta device, or the arguments themselves.

        Where there are symbols, torch's Python dispatcher is on: it takes meta kernels in Python, some of
        which give dims of size 1 other strides than eager. For numbers alone the kernels in C++ run.
        """
        was_inside = self.in_kernel_invocation
        in_c = self.symbolic is not None and not self.symbolic.is_symbolic((*args, *kwargs.values()))
        with (
            torch._C._DisableTorchDispatch(),
            torch._C._PreserveDispatchKeyGuard(),
            torch._C._DisablePythonDispatcher() if in_c else contextlib.nullcontext(),
        ):
            self.in_kernel_invocation = True
            torch._C._set_meta_in_tls_dispatch_include(True)
            for key in UNTRACKED:
                torch._C._dispatch_tls_set_dispatch_key_excluded(key, True)
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
        torch._C._set_throw_on_mutable_data_ptr(fake)
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
    prepare_rules_of_torch()
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
