"""Arguments and results as plain data: which tensors, in which tuples, lists and dicts.

In:  a value of tensors, numbers and texts in tuples, lists and dicts.
Out: its tensors in order, each with its path; the form of the value without them, which JSON holds.

    {"a": (x, 3)}   ->   [("a[0]", x)],  {"dict": {"a": {"tuple": [{"tensor": 0}, {"value": 3}]}}}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from capture.report.arguments import shown
from capture.report.errors import ExportError

PLAIN = (type(None), bool, int, float, str)
#: sequences with named fields that torch's operators return
RETURN_TYPES = tuple(value for value in vars(torch.return_types).values() if isinstance(value, type))

Form = dict[str, Any]


class Flattened:
    """The form of a value, and its tensors by path."""

    def __init__(self, value: Any, path: str, what: str) -> None:
        self.tensors: list[tuple[str, torch.Tensor]] = []
        self.what = what
        self.form = self._form(value, path)

    def plain_values(self) -> Iterator[bool | int | float | str]:
        """The numbers and texts among the values."""
        pending = [self.form]
        while pending:
            ((kind, content),) = pending.pop().items()
            if kind == "value" and content is not None:
                yield content
            elif kind in ("dict", "list", "tuple"):
                pending += content.values() if kind == "dict" else content

    def _form(self, value: Any, path: str) -> Form:
        if isinstance(value, torch.Tensor):
            self.tensors.append((path, value))
            return {"tensor": len(self.tensors) - 1}
        if type(value) in PLAIN:
            return {"value": value}
        if type(value) in (tuple, list) or isinstance(value, RETURN_TYPES):
            kind = "list" if type(value) is list else "tuple"
            return {kind: [self._form(item, f"{path}[{i}]") for i, item in enumerate(value)]}
        if type(value) is dict and all(isinstance(key, str) for key in value):
            return {"dict": {key: self._form(item, f"{path}[{key!r}]") for key, item in value.items()}}
        raise ExportError(
            f"{self.what} {path or 'it'} is {shown(value)}: an exported function takes and gives tensors, "
            "numbers and texts, in tuples, lists and dicts with texts as keys"
        )
