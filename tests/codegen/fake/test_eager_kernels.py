"""codegen/fake/eager_kernels.py: which calls eager is asked about."""

from __future__ import annotations

import pytest
import torch

import capture
from codegen.fake.eager_kernels import is_usual


class Compared(int):
    """An int that must not be compared with others: a range would do so with each of its own."""

    def __eq__(self, other):
        raise AssertionError("compared")

    __hash__ = int.__hash__


def test_ints_of_a_subclass_are_usual() -> None:
    assert is_usual([Compared(3)], True)
    assert not is_usual([Compared(0)], True)
    assert not is_usual([Compared(1 << 40)], False)


@pytest.mark.parametrize(
    "refused", [lambda x: x & x, lambda x: x ^ 3, lambda x: x.bitwise_not(), lambda x: x.gcd(x)]
)
def test_an_operation_without_a_kernel_for_floats_raises_where_nothing_reads_it(refused) -> None:
    def run(x):
        try:
            refused(x)
        except RuntimeError as error:
            return str(error)
        return x + 1

    x = torch.ones(3)
    assert capture.compile(run)(x) == run(x)
