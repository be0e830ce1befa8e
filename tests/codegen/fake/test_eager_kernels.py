"""codegen/fake/eager_kernels.py: which calls eager is asked about."""

from __future__ import annotations

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
