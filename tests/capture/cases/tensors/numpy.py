"""NumPy's arrays and functions in the graph, and operations that make them leave it."""

from __future__ import annotations

import numpy as np
import torch

from tests.capture.cases.registry import case, show


def array():
    return (np.random.default_rng(0).standard_normal((3, 4)),)


def two_arrays():
    make = np.random.default_rng(0).standard_normal
    return make((3, 4)).astype(np.float32), make((3, 4))


def integers():
    return (np.arange(12).reshape(3, 4),)


# --- between tensors and arrays ---


@case(graphs=1, ops=2)
def tensor_to_array(x):
    return x.numpy().sum()


@case(graphs=1, ops=4)
def to_array_and_back(x):
    return torch.from_numpy(x.numpy() * 2) + 1


@case(graphs=1, ops=2)
def array_shares_memory(x):
    a = x.numpy()
    a += 1
    return x, a


@case(graphs=1, ops=3)
def tensor_changed_under_the_array(x):
    y = x * 2
    a = y.numpy()
    y.add_(1)
    return a


@case(graphs=1, ops=5, args=array)
def tensors_of_an_array(a):
    return torch.as_tensor(a) + torch.from_numpy(a), torch.tensor(a)


@case(graphs=1, ops=7, args=array)
def arrays_of_a_tensor(a):
    x = torch.as_tensor(a).sin()
    return x.numpy(), np.asarray(x), np.array(x)


def needs_grad():
    return (torch.ones(3, requires_grad=True),)


@case(graphs=1, ops=3, args=needs_grad)
def detached_array(x):
    return x.detach().numpy() + 1


@case(graphs=0, ops=0, args=needs_grad)
def array_of_a_tensor_that_needs_grad(x):
    try:
        return x.numpy()
    except RuntimeError as error:
        return str(error)


# --- functions, methods, operators ---


@case(graphs=1, ops=3, args=array)
def elementwise(a):
    b = np.sin(a) + 1
    return np.exp(b), b.shape, b.dtype, b.ndim, b.size, b.itemsize


@case(graphs=1, ops=7, args=array)
def reductions(a):
    return (
        np.sum(a, axis=0),
        a.mean(1),
        a.max(),
        a.std(axis=1, keepdims=True),
        np.argmax(a),
        a.any(),
        np.ptp(a),
    )


@case(graphs=1, ops=6, args=two_arrays)
def mixed_precision(a, b):
    return a + b, np.add(a, b), a @ b.T, np.where(a > 0, a, b)


@case(graphs=1, ops=11, args=integers)
def integer_operators(a):
    return a // 2, a % 3, a**2, a / 2, a & 1, a << 1, -a, abs(a), ~a, a == 3, a > 2


@case(graphs=1, ops=1, args=integers)
def integer_power_of_an_array(a):
    return a**a, a + 1


case(graphs=1, ops=1, args=integers)(lambda a: 2**a + 1)


@case(graphs=1, ops=5, args=array)
def dtypes(a):
    converted = a.astype(np.float32), a.astype("int64"), a.astype(int), a.astype(np.dtype("float16"))
    return converted, a.dtype == np.float64, a.dtype == "float32", converted[0].dtype == a.dtype, a * 1


@case(graphs=1, ops=10, args=array)
def shapes(a):
    return (
        a.reshape(-1), a.ravel(), a.flatten(), a.reshape(4, 3), a.transpose(1, 0), a[None], a[..., None],
        a[1:, ::2], a[0]
    )  # fmt: skip


@case(graphs=1, ops=10, args=array)
def indexing(a):
    return a[[0, 2]], a[np.array([0, 1])], a[:, np.arange(2)], a[-1], a[0, 1], a[np.newaxis, :, 1]


@case(graphs=1, ops=None, args=array)
def appended(a):
    rows = np.zeros((0, a.shape[1])).astype(np.float32)
    for i in range(2):
        rows = np.append(rows, a * i, axis=0)
    return rows, np.append(a, [1, 2]), np.append(a.astype(np.int64), a, axis=1), np.append(a, 0.5)


@case(graphs=1, ops=6, args=array)
def joined(a):
    return np.stack([a, a]), np.concatenate([a, a], axis=1), np.vstack((a, a)), np.split(a, 2, axis=1)


@case(graphs=1, ops=9, args=array)
def iterated(a):
    total = 0
    for row in a:
        total = total + row.sum()
    return total, len(a)


@case(graphs=1, ops=7)
def created(x):
    return (
        np.zeros((2, 3)), np.ones(3, dtype=np.int32), np.arange(5), np.array([1, 2, 3]), np.linspace(0, 1, 5),
        np.eye(3), x + 1
    )  # fmt: skip


@case(graphs=1, ops=5, args=array)
def linear_algebra(a):
    return np.linalg.norm(a), np.linalg.norm(a, axis=1), np.dot(a, a.T), np.einsum("ij,kj->ik", a, a)


@case(graphs=1, ops=3, args=array)
def results_written_to(a):
    out = np.empty_like(a)
    np.add(a, 1, out=out)
    np.sin(out, out)
    return out


@case(graphs=1, ops=5, args=array)
def written_in_place(a):
    a += 1
    a[0] = 3
    a[:, 1] *= 2
    return a


@case(graphs=1, ops=2, args=array)
def views_and_copies(a):
    same, copied = a, a.copy()
    same[0, 0] = 9
    return same is a, copied


@case(graphs=0, ops=0, args=lambda: (np.ones(3), np.ones(3)))
def write_with_two_arrays(a, b):
    a += b
    return a


@case(graphs=1, ops=1, args=array)
def one_object(a):
    return {"a": a, "b": [a * 2, a]}


OFFSETS = np.arange(4.0)


@case(graphs=1, ops=2, args=array)
def global_array(a):
    return a + OFFSETS, np.pi * a


@case(graphs=1, ops=3, args=array)
def numbers_of_numpy(a):
    return np.float32(2.5) * a, a * np.float64(2), np.sqrt(2.0) + a


class Scaler:
    def __init__(self):
        self.scale = np.full((3, 4), 2.0)

    def __call__(self, a):
        return self.scale * a + self.scale


@case(graphs=1, ops=2, args=lambda: (Scaler(), np.ones((3, 4))))
def array_in_an_object(scaler, a):
    return scaler(a)


# --- what leaves the graph ---


@case(graphs=1, ops=3, args=array)
def number_read(a):
    return float(a[0, 0]) + 1, a + 1


@case(graphs=2, ops=3, args=array)
def branch_on_an_array(a):
    if a.sum() > 0:
        return a + 1
    return a - 1


@case(graphs=2, ops=2, args=array)
def shape_by_values(a):
    return a[a > 0], np.nonzero(a > 0), np.unique(a)


@case(graphs=1, ops=2, args=array)
def random_stream(a):
    np.random.seed(4)
    return np.random.rand(3) + a.sum()


@case(graphs=2, ops=2, args=array)
def printed(a):
    b = a * 2
    show(b.shape)
    return b + 1


@case(graphs=1, ops=2, args=array)
def view_that_tensors_lack(a):
    return np.flip(a), a + 1, a * 2


@case(graphs=1, ops=1, args=lambda: (np.array(["a"]), torch.ones(2)))
def array_of_text(a, x):
    return x + 1, a


@case(graphs=1, ops=1, args=lambda: (np.ones((4, 3))[::-1],))
def negative_strides(a):
    return a * 2


# --- NumPy's numbers as arguments of torch's operations ---


@case(graphs=1, ops=1)
def divided_by_a_numpy_float(x):
    return x / np.sqrt(4)


@case(graphs=1, ops=4)
def numpy_numbers_as_arguments(x):
    return x.reshape(np.int64(2), -1)[np.int64(0)], x.clamp(np.float32(0.1)), torch.zeros(np.int32(3))


@case(graphs=1, ops=3)
def tensors_of_numpy_numbers(x):
    return (
        torch.tensor(np.float64(2)),
        torch.tensor([np.float32(2), np.float32(3)]),
        torch.tensor(np.int16(3)),
    )


@case(graphs=1, args=lambda: (torch.arange(4.0).expand(3, 4),))
def arrays_of_expanded_tensors(x):
    return np.exp(x.numpy()) + x.numpy().T.sum(), x + 1
