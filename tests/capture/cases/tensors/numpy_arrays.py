"""Arrays of arrays, arrays that are read-only, and values that a frame reads from arrays."""

from __future__ import annotations

import numpy as np
import torch

from tests.capture.cases.registry import case, show


def matrix():
    return (np.arange(12.0).reshape(3, 4),)


def single():
    return (np.arange(4, dtype=np.float32),)


def read_only():
    made = np.arange(6.0)
    made.flags.writeable = False
    return (made,)


def read_only_transposed():
    made = np.arange(6, dtype=np.int64).reshape(2, 3).T
    made.flags.writeable = False
    return (made,)


def read_only_empty():
    made = np.zeros((0, 3))
    made.flags.writeable = False
    return (made,)


@case(1, args=matrix)
def array_of_arrays(a):
    return np.array([a, a + 1]), np.asarray((a[0], a[1] * 2)), np.array([[a[0], a[1]], [a[1], a[2]]])


@case(1, args=matrix)
def array_of_numbers(a):
    return np.array([a[0, 0], 1.0, a[1, 1]]), np.array([a.sum(), 2]), np.array([[a[0, 1]], [a[2, 3]]])


@case(1, args=single)
def array_of_mixed_types(a):
    return (
        np.array([a, a.astype(np.int64)]),
        np.array([a[0], 1.0]),
        np.array([a[1], True]),
        np.array([a, a], "f8"),
    )


@case(1, args=matrix)
def array_of_arrays_with_dtype(a):
    return np.array([a, a], dtype=np.float32), np.asarray([a[0], a[1]], dtype="int32")


@case(None, args=matrix)
def array_of_rows_of_different_length(a):
    try:
        return np.array([a[0], a[0, :2]])
    except ValueError as error:
        return a + 1, str(error)[:30]


@case(1, args=read_only)
def read_only_read(a):
    return a + 1, a.sum(), np.sin(a), a.reshape(2, 3) * 2


@case(1, args=read_only_transposed)
def read_only_with_strides(a):
    return a * 2, a.T + 1, a @ a.T


@case(1, args=read_only_empty)
def read_only_of_no_elements(a):
    return a + 1, a.shape


@case(1, args=read_only)
def read_only_views_are_read_only(a):
    return a + 1, a[1:], a.reshape(2, 3), a


@case(None, args=read_only)
def flags_of_views(a):
    view, wide = a[1:], np.broadcast_to(a[:3], (2, 3))
    y = a + 1
    show("a break")
    return y, view.flags.writeable, wide.flags.writeable, y.flags.writeable, (y + 1).flags.writeable


@case(None, args=read_only)
def read_only_written(a):
    refused = []
    for write in (lambda: a.__setitem__(0, 5), lambda: a.__iadd__(1), lambda: a[1:].__setitem__(0, 1)):
        try:
            write()
        except ValueError as error:
            refused.append(str(error))
    return a + 1, refused


@case(None, args=read_only)
def read_only_copied_and_written(a):
    b = a.copy()
    b[0] = 7
    return b, torch.tensor(a) + 1, torch.from_numpy(b) * 2


@case(None, args=matrix)
def lists_and_numbers(a):
    b = a + 1
    return b.tolist(), b.sum().item(), float(b[0, 1]), int(b[1, 1]), bool(b[0, 0] > 3), a[0].tolist()


@case(None, args=lambda: (np.arange(3), np.array([True, False])))
def lists_of_other_types(a, b):
    return (a * 2).tolist(), (~b).tolist(), [type(n) for n in (a + 1).tolist()], b.any().item()
