"""Internals of torch's Python libraries (`torch.distributions`) that only Python could follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.distributions.utils import _lazy_property_and_property

from capture.rules import rule
from capture.variables.base import Variable
from guards.source import ConstantSource

if TYPE_CHECKING:
    from capture.translator import Translator


@rule(_lazy_property_and_property)
def _lazy_property_of_class(tx: Translator, wrapped: Variable) -> Variable:
    """A lazy property asked of its class. Whoever asks wants to know that it is one, so one object does for all."""
    made = _lazy_property_and_property(wrapped.real_value())
    return tx.wrap(made, ConstantSource(made))
