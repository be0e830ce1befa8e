"""What a `BufferGuard` remembers of an object with a buffer, such as a NumPy array.

In:  the object.
Out: `BufferProperties`: class, element format, shape, strides, and whether the buffer is read-only.
     `mismatch` says how another object differs.

    np.ones((2, 3), np.float32)   ->   ndarray of 'f', shape (2, 3), strides (12, 4)
"""

from __future__ import annotations

from typing import Any

from capture_records import dataclass
from guards.values import ObjectRef


@dataclass(frozen=True)
class BufferProperties:
    cls: ObjectRef
    format: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    readonly: bool

    @classmethod
    def of(cls, value: Any) -> BufferProperties:
        view = memoryview(value)
        return cls(
            ObjectRef(type(value)),
            view.format,
            tuple(view.shape or ()),
            tuple(view.strides or ()),
            view.readonly,
        )

    @property
    def text(self) -> str:
        frozen = ", read-only" if self.readonly else ""
        return f"{self.cls.text} of {self.format!r}, shape {self.shape}, strides {self.strides}{frozen}"

    def mismatch(self, value: Any) -> str | None:
        """How `value` differs, or None where it fits."""
        if type(value) is not self.cls.get():
            return type(value).__name__
        try:
            found = BufferProperties.of(value)
        except (BufferError, ValueError, TypeError) as error:
            return f"no such buffer: {error}"
        return None if found == self else found.text

    def words(self) -> list[Any]:
        """The operands of CHECK_BUFFER: class, the characters of the format as one number, readonly, sizes
        and strides.
        """
        packed = int.from_bytes(self.format.encode().ljust(8, b"\0"), "little")
        return [self.cls, packed, int(self.readonly), *self.shape, *self.strides]


LONGEST_FORMAT = 7  # characters of a format that fit into a word with the zero at the end
