"""Tensor subclasses with their own operations, methods and attributes; objects with `__torch_function__`."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function, has_torch_function_unary
from torch.utils._pytree import tree_map

import capture
from tests.capture.cases import registry

case = functools.partial(registry.case, fresh=True)


class Plain(Tensor):
    pass


class Logging(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func.__name__, [t.__name__ for t in types], len(args), sorted(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)


class Swapped(Tensor):
    """Adds instead of subtracting."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in (torch.sub, Tensor.sub):
            func = torch.add
        return super().__torch_function__(func, types, args, kwargs or {})


class Scaled(Tensor):
    @staticmethod
    def __new__(cls, data, scale=2.0):
        result = data.as_subclass(cls)
        result.scale = scale
        return result

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def scaled(self):
        return self * self.scale

    @property
    def twice(self):
        return self.scale * 2


class Disabled(Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


def plain(*shape: int):
    return lambda: (torch.randn(*shape or (3, 4)).as_subclass(Plain),)


def logging() -> tuple[Any, ...]:
    return (torch.randn(3, 4).as_subclass(Logging),)


def swapped() -> tuple[Any, ...]:
    return (torch.randn(3, 4).as_subclass(Swapped),)


@case(graphs=1, ops=3, args=plain())
def subclass_methods(x):
    y = x.sin().cos().sum()
    return y, type(y) is Plain, isinstance(y, Tensor), isinstance(y, Plain)


@case(graphs=1, ops=2, args=lambda: (torch.ones(3).as_subclass(Plain), nn.Parameter(torch.ones(3))))
def subclass_beside_parameter(x, w):
    return x * w + w


@case(graphs=1, ops=2)
def made_a_subclass(x):
    return x.as_subclass(Plain) * 2 + 1


@case(graphs=1, ops=2, args=plain())
def made_plain_again(x):
    return x.as_subclass(Tensor) * 2 + 1


@case(graphs=1, ops=1)
def subclass_constructed(x):
    return Plain(x) + 1


@case(graphs=1, ops=2)
def subclass_made_detached(x):
    return Tensor._make_subclass(Plain, x) * 2


@case(graphs=1, ops=1)
def constructor_with_attributes(x):
    y = Scaled(x, 3.0)
    return y.scaled(), y, y.twice


@case(graphs=1, ops=3, args=lambda: (Scaled(torch.ones(3)),))
def subclass_attributes(x):
    first = x.scaled()
    x.scale = 5.0
    x.note = "seen"
    return first, x * x.scale, hasattr(x, "missing")


@case(graphs=0, ops=0, args=lambda: (Scaled(torch.ones(3)),))
def only_attributes_written(x):
    x.scale = 5.0
    return x.shape[0]


@case(graphs=1, ops=1, args=logging)
def handler_that_prints(x):
    return torch.sin(x)


@case(graphs=1, ops=1, args=swapped)
def function_replaced(x):
    return torch.sub(x, 1.0)


@case(graphs=1, ops=1, args=swapped)
def operator_replaced(x):
    return x - 1.0


@case(graphs=1, ops=1, args=swapped)
def reflected_operator_is_another_function(x):
    return 1.0 - x


@case(graphs=1, ops=2, args=swapped)
def disabled_for_subclasses(x):
    with torch._C.DisableTorchFunctionSubclass():
        first = torch.sub(x, 1.0)
        inside = torch._C._is_torch_function_enabled()
    return first, torch.sub(x, 1.0), inside, torch._C._is_torch_function_enabled()


@case(graphs=1, ops=2, args=lambda: (torch.ones(3).as_subclass(Disabled),))
def handler_disabled(x):
    return torch.sin(x).cos()


class Recording(Tensor):
    seen: list[str] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


@case(graphs=1, ops=11, args=lambda: (torch.randn(3, 4).as_subclass(Recording),))
def what_the_handler_sees(x):
    Recording.seen.clear()
    y = x * x.shape[0] + x.ndim + x.size(1) + (1 if x.requires_grad else 2) + len(x)
    y = nn.functional.relu(y) + nn.functional.softmax(y, -1)
    y += 2 - x
    y[0] = 1.0
    return y, list(Recording.seen)


@case(graphs=1, ops=10, args=lambda: (torch.randn(3, 4).as_subclass(Recording),))
def iterating_a_subclass(x):
    Recording.seen.clear()
    total = 0
    for row in x:
        total = total + row.sum()
    return total, list(Recording.seen)


@case(graphs=1, ops=5, args=plain())
def named_tuples_of_subclasses(x):
    return torch.max(x, dim=0), x.max(dim=1).values


@case(graphs=1, ops=2, args=plain())
def subclass_changed_in_place(x):
    y = x.add_(1)
    x *= 2
    return y is x, x


@case(graphs=1, ops=1, args=lambda: (torch.randn(3).as_subclass(Plain), torch.randn(3)))
def list_with_a_subclass(x, y):
    return torch.cat([y, x])


class OfRight(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class Declining(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if OfRight in types:
            return NotImplemented
        return super().__torch_function__(func, types, args, kwargs or {})


@case(
    graphs=1, ops=1, args=lambda: (torch.ones(3).as_subclass(Declining), torch.ones(3).as_subclass(OfRight))
)
def first_handler_declines(x, y):
    return x + y


@case(graphs=0, args=lambda: (torch.ones(3).as_subclass(Declining), torch.ones(3).as_subclass(Plain)))
def nobody_takes_it(x, y):
    try:
        return x + y
    except TypeError as error:
        return str(error)[:30]


class Overriding(Tensor):
    def sin(self):
        return super().sin() + 10

    def __add__(self, other):
        return super().__add__(other) * 2

    def __getitem__(self, key):
        return super().__getitem__(key) * 100

    @property
    def shape(self):
        return (7, 7)


@case(graphs=1, ops=5, args=lambda: (torch.randn(3, 4).as_subclass(Overriding),))
def methods_overridden(x):
    return x.sin(), x[0], x.shape


@case(graphs=1, ops=2, args=lambda: (torch.randn(3, 4).as_subclass(Plain),))
def unwrapped_by_hand(x):
    def unwrap(value):
        return value.as_subclass(Tensor) if isinstance(value, Plain) else value

    return tree_map(unwrap, {"a": [x * 2]})["a"][0] + 1


def offset(x):
    if has_torch_function_unary(x):
        return handle_torch_function(offset, (x,), x)
    return x * 7


class Handling(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is offset:
            func = torch.sin
        return super().__torch_function__(func, types, args, kwargs or {})


@case(graphs=1, ops=2, args=lambda: (torch.randn(3, 4).as_subclass(Handling),))
def function_of_the_program_overridden(x):
    return offset(x), offset(x.as_subclass(Tensor)), has_torch_function((x, 1))


class Getting(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func == Tensor.shape.__get__:
            return "a shape"
        if func.__name__ == "__get__" and func.__self__.__name__ == "dtype":
            return "a dtype"
        return super().__torch_function__(func, types, args, kwargs or {})


@case(graphs=1, ops=1, args=lambda: (torch.randn(3, 4).as_subclass(Getting),))
def attributes_overridden(x):
    return x.shape, x.dtype, x.ndim, x.sin()


# --- parameters -------------------------------------------------------------------------------------------


class Weight(nn.Parameter):
    def doubled(self):
        return self * 2

    @property
    def half(self):
        return self / 2


class HandlingWeight(nn.Parameter):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Layer(nn.Module):
    def __init__(self, kind: type) -> None:
        super().__init__()
        self.w = kind(torch.arange(4.0))
        self.w.tag = "tagged"
        self.register_buffer("offset", torch.ones(4).as_subclass(Plain))

    def forward(self, x):
        return x * self.w if self.w.tag == "tagged" else x


@case(graphs=1, ops=5, args=lambda: (torch.ones(3, 4), Layer(Weight)))
def parameter_with_methods(x, layer):
    return layer(x) * layer.w.doubled() + layer.w.half


@case(graphs=1, ops=2, args=lambda: (torch.ones(3, 4), Layer(HandlingWeight)))
def parameter_with_a_handler(x, layer):
    return layer(x) + 1


@case(graphs=2, ops=4, args=lambda: (torch.ones(3, 4), Layer(Weight)))
def parameter_trained(x, layer):
    layer(x).sin().sum().backward()
    return layer.w.grad * 1, type(layer.w).__name__


@case(graphs=1, ops=2, args=lambda: (torch.ones(3, 4), Layer(Weight)))
def buffer_of_a_subclass(x, layer):
    return layer(x) + layer.offset


# --- objects that are no tensors --------------------------------------------------------------------------


class Wrapper:
    def __init__(self, tensor, note=None):
        self.tensor = tensor
        self.note = note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        notes = [a.note for a in args if isinstance(a, Wrapper)]
        args = [a.tensor if isinstance(a, Wrapper) else a for a in args]
        return Wrapper(func(*args, **(kwargs or {})), notes[0])


@case(graphs=1, ops=3)
def object_that_wraps_a_tensor(x):
    w = torch.sin(torch.add(Wrapper(x, "kept"), x))
    return torch.sum(w, dim=1).tensor, w.note


class Joined(Wrapper):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is not torch.cat:
            return NotImplemented
        return torch.cat([a.tensor if isinstance(a, Joined) else a for a in args[0]], **(kwargs or {}))


@case(graphs=1, ops=1)
def objects_in_a_list(x):
    return torch.cat([Joined(x), x], dim=1)


class First:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "first", [t.__name__ for t in types]


class Second(First):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "second", [t.__name__ for t in types]


@case(graphs=1, ops=1)
def subclass_of_the_other_goes_first(x):
    return torch.add(First(), Second()), torch.add(x, First()), torch.sin(x)


class Diagonal:
    handlers: dict[Any, Any] = {}

    def __init__(self, size, value):
        self.size, self.value = size, value

    def tensor(self):
        return self.value * torch.eye(self.size)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in cls.handlers or not all(issubclass(t, (Tensor, Diagonal)) for t in types):
            return NotImplemented
        return cls.handlers[func](*args, **(kwargs or {}))


Diagonal.handlers[torch.mean] = lambda d: float(d.value) / d.size
Diagonal.handlers[torch.add] = lambda a, b: Diagonal(a.size, a.value + b.value)
Diagonal.handlers[torch.mm] = lambda a, b: torch.mm(a, b.tensor())


@case(graphs=1, ops=4)
def handlers_in_a_table(x):
    d = Diagonal(4, 2)
    return torch.mm(x, torch.add(d, d)) + torch.mean(d)


@case(graphs=1, ops=1)
def constructor_before_a_break(x):
    y = Scaled(x, 3.0)
    capture.graph_break()
    return y.scaled(), y, y.twice


@case(graphs=1, ops=1)
def plain_tensor_on_the_memory_of_another(x):
    y = x.as_subclass(Tensor)
    z = x + 1
    return y, y is x, z, z.as_subclass(Tensor) is z


@case(graphs=1, ops=2)
def in_place_on_a_list_of_a_class(x):
    tensors = [Plain(x)]
    result = torch._foreach_add_(tensors, 1.0)
    return result is tensors, result[0] is tensors[0], x + 1


@case(graphs=2, ops=2)
def checkpoint_of_a_class(x):
    y = Plain(x) + 1
    z = torch.utils.checkpoint.checkpoint(torch.sin, y, use_reentrant=False)
    return z, x + 1


@case(graphs=2, ops=2)
def transform_of_a_class(x):
    y = Plain(x) + 1
    return torch.vmap(torch.sin)(y), x + 1
