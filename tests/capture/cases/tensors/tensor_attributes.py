"""Attributes of tensors: torch's own ones and those that a program adds."""

from __future__ import annotations

import torch

from tests.capture.cases.registry import case, show


def tensor_with_attributes():
    x = torch.ones(3)
    x.scale = 3
    x.other = torch.ones(3)
    return (x,)


@case(graphs=1, ops=2)
def set_on_result(x):
    y = x * 2
    y.factor = 3
    return y + y.factor


@case(graphs=1, ops=1)
def set_on_argument(x):
    x.factor = 5
    return x + x.factor


@case(graphs=1, ops=2)
def result_keeps_attributes(x):
    y = x + 1
    y.tag = "a"
    y.other = x
    return y.other * 2, y


@case(graphs=1, ops=2)
def set_unless_there(x):
    if hasattr(x, "doubled"):
        return x
    x.doubled = x + 1
    return x.doubled * 2


@case(graphs=1, ops=2)
def set_and_deleted(x):
    before = hasattr(x, "temporary")
    x.temporary = x + 1
    between = hasattr(x, "temporary")
    del x.temporary
    return before, between, hasattr(x, "temporary"), x * 2


@case(graphs=2, ops=2)
def tensors_that_hold_each_other(x):
    y = x + 1
    y.me = y
    y.parts = [y, x]
    show("between")
    return y * 2, y.me is y, y.parts[0] is y


@case(graphs=1, ops=2)
def result_changed_in_place(x):
    y = x.sin()
    y.count = 1
    y.add_(1)
    y.next = y.count + 1
    return [y], y.next


@case(graphs=1, ops=3)
def new_tensors_have_none(x):
    y = x.sin()
    y.tag = 1
    return hasattr(y.detach(), "tag"), hasattr(y + 1, "tag"), y


@case(graphs=1, ops=2, args=tensor_with_attributes)
def read_of_argument(x):
    return x * x.scale + x.other


@case(graphs=1, ops=2, args=tensor_with_attributes)
def changed_of_argument(x):
    x.scale = x.scale + 1
    return x * x.scale


@case(graphs=1, ops=1, args=tensor_with_attributes)
def deleted_of_argument(x):
    del x.scale
    return x + 1, hasattr(x, "scale")


@case(graphs=1, ops=1)
def missing_attribute(x):
    try:
        return x.nothing
    except AttributeError as error:
        return x + 1, str(error)


@case(graphs=1, ops=1)
def missing_attribute_deleted(x):
    try:
        del x.nothing
    except AttributeError as error:
        return x + 1, str(error)


@case(graphs=1, ops=2)
def function_as_attribute(x):
    y = x + 1
    y.twice = lambda t: t * 2
    return y.twice(y)


@case(graphs=1, ops=3)
def detached_in_place(x):
    y = x * 2
    y.detach_()
    return y + 1


def leaf():
    return (torch.ones(3, requires_grad=True),)


@case(graphs=1, ops=5, args=leaf)
def detached_in_place_of_autograd(x):
    y = x * 2
    z = y * 3
    y.detach_()
    return (z + y).sum(), y.requires_grad, y.grad_fn


class Holder:
    pass


@case(graphs=1, ops=2, args=lambda: (torch.ones(3), Holder()))
def object_attribute_set_and_deleted(x, holder):
    holder.temporary = x + 1
    y = holder.temporary * 2
    del holder.temporary
    return y, hasattr(holder, "temporary")


@case(graphs=1, ops=1, args=lambda: (torch.arange(12.0).view(3, 4)[1:], torch.ones(2, 4)))
def questions_to_arguments_that_no_guard_asks(view, own):
    return view._is_view(), own._is_view(), own.is_shared(), own._is_zerotensor(), view + own


@case(graphs=1, ops=1)
def named_tensors_are_gone(x):
    try:
        return x.names
    except AttributeError as error:
        return x + 1, str(error)


@case(1, 1)
def names_that_the_class_of_tensors_has(x):
    names = ("__call__", "mro", "__name__", "__bases__", "__subclasses__", "__len__", "add")
    return x + 1, [hasattr(x, name) for name in names], getattr(x, "mro", 3), callable(x)
