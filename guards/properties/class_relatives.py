"""What a class does not hold itself: its bases, and the classes that were made from it.

In:  a class.
Out: `bases_are(cls)`, `subclasses_are(cls)`: a function of the extension and its arguments. It says whether
     `cls.__bases__` or `cls.__subclasses__()` is what it is now.

    class B(A): ...    ->    the function of subclasses_are(A), made before, gives False

The relatives are held by weak references: a guard keeps no class alive, and sees a new class at the place of
a dead one.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import _capture

Question = tuple[Any, tuple[Any, ...]]


def bases_are(cls: type) -> Question:
    return _question(cls, True, type.__dict__["__bases__"].__get__(cls))


def subclasses_are(cls: type) -> Question:
    return _question(cls, False, type.__subclasses__(cls))


def _question(cls: type, bases: bool, relatives: Sequence[type]) -> Question:
    return _capture.has_relatives, (weakref.ref(cls), bases, tuple(map(weakref.ref, relatives)))
