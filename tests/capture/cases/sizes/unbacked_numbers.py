"""Numbers that are read from tensors: `item`, `tolist`, `int`, `float`, `bool`."""

from __future__ import annotations

import math

import torch

from tests.capture.cases.registry import show
from tests.capture.cases.sizes.unbacked_registry import bools, floats, ints, reads, vectors

ANY = ints(3, 0, 1, -1, 2, 100, -9)
SIZES = ints(3, 0, 1, 8)


@reads(ANY, ops=1)
def returned(x, t):
    return t.item()


@reads(ANY, ops=3)
def in_arithmetic(x, t):
    n = t.item()
    return x * n + n


@reads(ANY, ops=3)
def read_twice(x, t):
    return x * t.item() + t.item()


@reads(ANY, ops=3)
def written_between(x, t):
    n = t.item()
    t = t + 1
    return n, t.item(), x


@reads(ANY, ops=10)
def arithmetic_of_ints(x, t):
    n = t.item()
    return n * 2 + 1, n // 2, n % 2, n / 2, -n, n**2, x + 1


@reads(ANY, ops=7)
def comparisons(x, t):
    n = t.item()
    return n > 2, n == 0, n != 1, n <= -1, max(n, 2), min(n, 0), n


@reads(ints(3, 0), ops=2)
def in_objects(x, t):
    class Box:
        pass

    box = Box()
    box.n = t.item()
    return {"n": [box.n]}, box.n, x * box.n


@reads(SIZES, ops=4)
def size_of_zeros(x, t):
    return torch.zeros(t.item())


@reads(ints(3, -1, 0, 1), ops=4, reruns=1)
def size_that_is_negative(x, t):
    return torch.ones(t.item())


@reads(SIZES, ops=4)
def size_of_arange(x, t):
    return torch.arange(t.item())


@reads(ANY, ops=2)
def filled(x, t):
    return torch.full((3,), t.item())


@reads(ANY, ops=3)
def made_a_tensor(x, t):
    return torch.tensor([t.item(), 2]) + 1


@reads(ANY, ops=8)
def bound_of_a_slice(x, t):
    return x[: t.item()] * 2


@reads(ints(3, 0, 1, 8, 9, -1), ops=7, reruns=2)
def checked_bound_of_a_slice(x, t):
    n = t.item()
    torch._check(n >= 0)
    torch._check(n <= x.size(0))
    return x[:n] * 2


@reads(ints(3, 0, -8, 8), ops=3, reruns=1)
def index_of_a_row(x, t):
    return x[t.item()] * 2


@reads(ints(3, 0, 1, 9), ops=7, reruns=1)
def narrowed(x, t):
    return x.narrow(0, 0, t.item()) * 2


@reads(ints(3, 2, 1, 0), ops=6)
def expanded(x, t):
    return x[0].unsqueeze(0).expand(t.item(), 4)


@reads(ints(4, 1, 2, 3), ops=9, reruns=2)
def checked_with_torch(x, t):
    n = t.item()
    torch._check(n > 2, lambda: "too few")
    return torch.ones(3) + n if n > 2 else x


@reads(ints(3, 0, -1), ops=6, reruns=1)
def checked_as_a_size(x, t):
    n = t.item()
    torch._check_is_size(n)
    return torch.zeros(n) + 1


@reads(ints(2, 0, -3), ops=6, reruns=2)
def asserted(x, t):
    n = t.item()
    assert n > 0, "not positive"
    return x * n


@reads(ints(4, 1, 4), ops=4, graphs=2, refused="unbacked_decision")
def decided_upon(x, t):
    n = t.item()
    if n > 2:
        return torch.ones(3) + n
    return torch.zeros(3)


@reads(ints(2, 0, 3), ops=1, refused="unbacked_decision")
def length_of_a_list(x, t):
    return [0] * t.item()


@reads(ints(2, 0, 3), ops=2, graphs=2, refused="unbacked_decision")
def index_of_a_list(x, t):
    return x * [1, 2, 3, 4, 5][t.item()]


@reads(ints(2, 1, 0), ops=2, graphs=2, refused="data_dependent_value")
def written_to_an_input(x, t):
    x.add_(1)
    return torch.zeros(t.item())


@reads(ints(2, 1, 0), ops=3)
def written_to_an_input_beside(x, t):
    x.add_(1)
    return x * t.item()


@reads(ints(2, 0), ops=2, graphs=2, refused="call_disabled")
def across_a_break(x, t):
    n = t.item()
    show(end="")
    return x * n, n + 1


@reads(ints(2, 4, 0), ops=3, reruns=1)
def quotient_as_a_float(x, t):
    return 8 / t.item(), x.shape


@reads(ints(2, 4, -3, 0), ops=2, reruns=1)
def quotient_as_an_int(x, t):
    return 8 // t.item()


@reads(ints(2, 4, -3, 0), ops=4, reruns=1)
def remainder(x, t):
    n = t.item()
    return x * (9 % n), 9 // n


@reads(ints(2, 0, -8, 8), ops=12, reruns=1)
def written_at_an_index(x, t):
    y = x.clone()
    y[t.item()] = 0
    return y


@reads(ints(2, 0, -8, 9), ops=3)
def written_at_a_slice(x, t):
    y = x.clone()
    y[: t.item()] = 5
    return y


NUMBERS = floats(2.5, 0.0, 1.0, -0.0, 1e30)


@reads(NUMBERS, ops=2)
def float_in_arithmetic(x, t):
    return x * t.item()


@reads(NUMBERS, ops=7)
def floats_returned(x, t):
    n = t.item()
    return n * 2 + 1, n / 2, torch.ones(2)


@reads(floats(2.5, 4.0, -1.0, math.inf), ops=4, reruns=2)
def functions_of_floats(x, t):
    n = t.item()
    return math.sqrt(n), math.floor(n), x


@reads(floats(2.5, -4.0, math.inf), ops=3, reruns=1)
def float_as_an_int(x, t):
    return x * int(t)


@reads(ints(3, -1), ops=3)
def int_as_a_float(x, t):
    return x * float(t)


@reads(ints(3, 0), ops=3)
def int_as_a_bool(x, t):
    return x + bool(t)


@reads(bools, ops=8)
def bool_in_arithmetic(x, t):
    return torch.ones(3) * t.item()


@reads(vectors([1, 2, 3], [0, 0, -1]), ops=10)
def list_of_numbers(x, t):
    a, b, c = t.tolist()
    return torch.ones(3) * a + b * c


@reads(vectors([[1, 2], [3, 4]]), ops=10)
def nested_list(x, t):
    return t.tolist()


@reads(vectors([3, 5], [8, 0], [1, 7], [4, 5]), ops=18, reruns=1)
def sizes_of_parts(x, t):
    return torch.split(x, t.tolist())


@reads(floats(2.5, 0.0, -1.0), ops=4)
def in_lists_of_a_tensor(x, t):
    n = t.item()
    return torch.tensor([n]), torch.tensor([[n, 2], [1, n]]), torch.as_tensor((1.0, n))


# --- tensors of which it is known what they hold, until something is written to them ------------------------


@reads(ANY, ops=2)
def known_number(x, t):
    made = torch.tensor(3.0)
    return x * made.item(), made.item() == 3


@reads(ANY, ops=4)
def known_number_added_to(x, t):
    made = torch.tensor(0.0)
    made += 1
    return x * made.item()


@reads(ANY, ops=5)
def known_number_written_by_way_of_a_view(x, t):
    made = torch.tensor([0.0])
    made.view(()).add_(2)
    return x * float(made)


@reads(ANY, ops=4)
def known_number_written_in_a_list(x, t):
    made = torch.tensor([5.0])
    torch._foreach_zero_([made])
    return x * made.item()


# --- as indices ---------------------------------------------------------------------------------------------

INSIDE = ints(1, 0, 2, -1, -3)


@reads(INSIDE, ops=6)
def tensors_as_indices(x, t):
    t = t.sum()
    return x[t], x[t, 1], x[..., t], x[None, t, None]


@reads(ints(1, 0, 2, -1, 9, -9), ops=27)
def tensors_as_bounds_of_slices(x, t):
    t = t.sum()
    return x[t:], x[:t] + 1, x[1:2, t:]


@reads(INSIDE, ops=19)
def written_at_indices(x, t):
    n = t.item()
    x = x * 1
    x[n] = 1
    x[:, n] = torch.tensor(2.0)
    x[n, n] = 3
    view = x[t.sum()]
    view.add_(1)
    return x


@reads(INSIDE, ops=8)
def places_of_maxima(x, t):
    return x[x.argmax(1)[0]], x[0, x[1].argmax()]


@reads(ints(1, 3, -3), ops=5)
def numbers_in_branches(x, t):
    n, size = t.item(), x.shape[0]
    return torch.cond(x.sum() > 0, lambda a: a * n + size, lambda a: a - n, (x,))


@reads(ints(1, 0, 3, 7, -1), ops=33, reruns=3)
def a_window_that_is_moved(x, t):
    return x.narrow(0, t.sum(), 1) * 2


@reads(ANY, ops=4)
def of_an_array(x, t):
    n = (t.numpy() + 1).item()
    return x * n


@reads(vectors([1, 2], [5, -3]), ops=8)
def list_of_an_array(x, t):
    first, second = (t.numpy() * 2).tolist()
    return x * first + second
