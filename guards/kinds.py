"""The kinds of guards: one table, in the order of what they cost.

In:  nothing.
Out: `GuardKind`, read by the factories (`guards.guard`), the twin's checks (`guards.checks`), the encoder
     (`guards.encoders`) and the texts.

`cost` orders the guards of one level: what is cheap and fails often comes first.
"""

from __future__ import annotations

import enum


class GuardKind(enum.Enum):
    """name = cost in tenths of a nanosecond, roughly. (Values are distinct: an Enum would merge equal ones.)"""

    TYPE = 2  # exact type
    ID = 4  # the same object
    OBJECT_ALIASING = 5  # two places hold the same object
    NOT_NONE = 6
    LENGTH = 8  # raw length of a container
    BOOL = 9  # truth of a list, tuple, dict, set, str by its length
    GRAD_NONE = 10  # tensor.grad is None, or is not
    CONSTANT = 12  # equal constant of the same type
    CONTENTS = 14  # equal int, float, str and the like in an instance of a class on top of it
    INT_RANGE = 13  # an int between two bounds
    WEAKREF_ALIVE = 16
    ITERATOR_STATE = 15  # how far a built-in iterator has come
    TENSOR_MATCH = 30  # dtype, shape, strides, device, requires_grad, dispatch keys, type
    TENSOR_UNWRITTEN = 32  # not written to since: version and memory
    FUNCTION = 31  # code, defaults, keyword defaults, closure
    BUFFER = 35  # class, element format, shape, strides of an object with a buffer (a NumPy array)
    GLOBAL_STATE = 40  # grad mode, inference mode, autocast, default dtype, deterministic flags, modes
    NO_ATTRIBUTE = 50  # the instance dict lacks the name
    HAS_ATTRIBUTE = 51  # outcome of hasattr
    CLASS_LACKS = 49  # no class of the MRO has the name
    DICT_CONTAINS = 52  # key present or absent
    DICT_KEYS = 60  # exactly these keys in this order
    SET_CONTENTS = 80
    SET_LAYOUT = 81  # where the elements lie in the set's table, which decides their order
    OBJECTS_DISTINCT = 90  # no two places hold the same object
    TENSOR_ALIASING = 100  # which tensors share storage
    SHAPE_EXPRESSION = 110

    __hash__ = object.__hash__  # there is one of each; Enum's own is a function in Python

    @property
    def cost(self) -> int:
        return int(self.value)
