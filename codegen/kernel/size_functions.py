"""The functions in expressions over sizes, by the names of their classes in sympy and in torch.

In:  values of their arguments: ints, or open numbers.
Out: the value.

    FUNCTIONS["FloorDiv"](7, 2)   ->   3
"""

from __future__ import annotations

import math
import operator
from typing import Any

FUNCTIONS: dict[str, Any] = {
    "Add": lambda *terms: sum(terms),
    "Mul": lambda *factors: math.prod(factors),
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "Max": lambda *values: max(values),
    "Min": lambda *values: min(values),
    "StrictLessThan": operator.lt,
    "LessThan": operator.le,
    "StrictGreaterThan": operator.gt,
    "GreaterThan": operator.ge,
    "Equality": operator.eq,
    "Unequality": operator.ne,
    "Not": operator.not_,
    "And": lambda *parts: all(parts),
    "Or": lambda *parts: any(parts),
}
