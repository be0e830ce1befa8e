"""Texts of sizes and questions about them that do not fix them; operations that take sizes as data.

See dynamic_registry.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.capture.cases.registry import show
from tests.capture.cases.sizes.dynamic_registry import calls, rows, tensor

# --- texts -------------------------------------------------------------------------------------------------


@calls(rows(5, 6, 9), graphs=1, ops=1)
def texts_are_returned(x):
    n = x.shape[0]
    return (
        x + 1,
        f"{n} rows",
        f"{x.shape!r} {n:>4} {n / 2:.2f}",
        str(n),
        repr(x.shape),
        format(n, "x"),
        str(n > 5),
    )


@calls(rows(5, 6, 9), graphs=1)
def a_text_that_nobody_reads(x):
    text = f"shape {x.shape}"  # noqa: F841
    return x + 1


@calls(rows(5, 6, 9), graphs=2, dynamic=None)
def a_message_of_an_assertion(x):
    assert x.shape[0] > 2, f"{x.shape[0]} is too small"
    return x + 1


@calls(rows(5, 6, 3), graphs=2)
def a_message_of_an_exception(x):
    try:
        if x.shape[0] > 4:
            raise ValueError(f"bad {x.shape}")
    except ValueError as error:
        return x * 3, type(error)
    return x * 2


@calls(rows(5, 6, 9), graphs=2)
def a_text_across_a_break(x):
    text = f"{x.shape} here"
    x = x + 1
    show(text)
    return x * 2


@calls(rows(5, 6, 9), graphs=3)
def the_length_of_a_text(x):
    return x + len(f"{x.shape[0]} rows")


@calls(rows(5, 6, 9), graphs=3)
def a_text_as_a_key(x):
    return x + {"5": 1}.get(str(x.shape[0]), 2), {f"{x.shape[0]}": 1}


@calls(rows(5, 6, 9), graphs=3)
def texts_put_together(x):
    text = f"{x.shape[0]}"
    return (
        x + 1,
        ",".join(f"{n}" for n in x.shape),
        "%s" % text,
        "x{}".format(text),
        text + "a",
        text.zfill(3),
    )


@calls(rows(5, 6, 9), graphs=3)
def questions_about_a_text(x):
    text = f"{x.shape[0]}"
    return x + 1, isinstance(text, str), text[0], list(text), text in "abc5", text == "5", bool(text)


# --- which of several sizes -------------------------------------------------------------------------------


@calls(rows(5, 6, 9, 3), graphs=2)
def one_of_a_tuple(x):
    return x + 1 if x.shape[0] in (5, 6) else x - 1


@calls(rows(5, 6, 9, 3), graphs=2)
def none_of_a_list(x):
    return x + 1 if x.shape[0] not in [5, 6, 4] else x - 1


@calls(rows(5, 6, 9), graphs=2)
def a_number_among_sizes(x):
    return x + 1 if 5 in x.shape else x - 1


@calls(rows(5, 6, 9), graphs=1)
def a_number_that_is_among_the_sizes_anyway(x):
    return x + 1 if x.shape[0] in (x.shape[0], 5) else x - 1


@calls(rows(5, 6, 9), graphs=3)
def one_of_what_is_not_all_numbers(x):
    return x + 1 if x.shape[0] in (None, 5, 6) else x - 1


# --- ranges that are given ---


@calls([(tensor(3, 4), range(n)) for n in (2, 3, 5)], graphs=2, dynamic=None)
def the_stop_of_a_range(x, r):
    return x + r.stop, r


@calls([(tensor(3, 4), range(n, 9, 2)) for n in (1, 2, 5)], graphs=1)
def the_bounds_of_a_range(x, r):
    return x.new_zeros(r.stop - r.start) + r.step


@calls([(tensor(3, 4), range(n)) for n in (2, 3, 5)], graphs=3, dynamic=None)
def a_range_that_is_run_through(x, r):
    for i in r:
        x = x + i
    return x, len(r), list(r), 1 in r, r[-1]


# --- sizes as data ----------------------------------------------------------------------------------------


@calls(rows(2, 3, 5), graphs=1)
def a_new_tensor_of_sizes(x):
    n = x.shape[0]
    return (
        x.new_tensor([n, 1]),
        x.new_tensor(n, dtype=torch.int64),
        x.new_tensor([[n], [2]], requires_grad=True),
        x.new_tensor([1.0, 2.0]),
    )


@calls([(tensor(3, 4), [n, 2]) for n in (2, 3, 5)], graphs=2, dynamic=None)
def a_new_tensor_of_an_argument(x, sizes):
    return x.new_tensor(sizes)


@calls(rows(2, 3, 5), graphs=1)
def sizes_as_tensors(x):
    n = x.shape[0]
    return torch.as_tensor(n) + x, torch.asarray([n, 1]), torch.as_tensor(n / 2)


@calls(rows(5, 7, 9), graphs=1)
def positions_in_floats(x):
    n = x.shape[0]
    return (
        torch.arange(float(n)),
        torch.arange(0.0, n, 0.5),
        torch.arange(start=1, end=float(n), step=2),
        torch.arange(0, float(n), dtype=torch.int32),
        torch.arange(n - 1, -1, -1.0),
        torch.arange(n, dtype=torch.float64),
    )


@calls(rows(5, 6, 9), graphs=1)
def roots_by_torch(x):
    n = x.shape[0]
    return x * torch.sym_sqrt(n), x.new_zeros(math.floor(torch.sym_sqrt(n)))


# --- images -----------------------------------------------------------------------------------------------

IMAGES = [(tensor(1, 1, n, 4),) for n in (4, 5, 6)]


@calls(IMAGES, graphs=2)
def one_image_of_one_channel(x):
    return F.interpolate(x, scale_factor=2), F.max_pool2d(x, 2), x.flatten(1)


@calls([(tensor(1, 1, n, 6).to(memory_format=torch.channels_last),) for n in (4, 5, 7)])
def one_image_with_channels_last(x):
    return F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] * 2), mode="bilinear")


@calls([(tensor(1, n, 1, 1, 4),) for n in (5, 6, 7)])
def dims_of_one_between_others(x):
    return x.sum(1), x.reshape(x.shape[1], -1), x.squeeze()


@calls([(np.arange(n * 2.0).reshape(n, 2),) for n in (3, 4, 5)], graphs=3, dynamic=None)
def sizes_of_arrays_are_fixed(a):
    return np.sum(a, axis=0) * a.shape[0]
