"""The text of a rewritten frame: the function that runs in place of the program's own.

In:  the code object that `capture/output` has made; texts that say what its slots hold.
Out: `Decompiled`: Python source, and the objects that its names stand for. Where there is no Python for what
     the instructions do, the text is their listing, and `is_whole` is False.

    decompile(code).text    ->    def f(x):
                                      (out_0,) = graph(x)
                                      after_0 = print(out_0)  # line 3
                                      return Continuation(rest_of_f, (after_0,))

The source compiles by itself: where the code has free variables, it stands in a function that has them.
Two things are not as in Python. `except` blocks of the text run outside of the exception's handling, so
`sys.exc_info()` does not have it there. A local that `# released` names lets go of its object, and so do
new locals as soon as nothing reads them.
"""

from __future__ import annotations

import re
import types
from collections.abc import Sequence
from typing import Any

from capture.bytecode.dialects import dialect
from capture.decompile import opcodes as _opcodes  # noqa: F401  (fills the table)
from capture.decompile.expressions import written
from capture.decompile.flow import Flow
from capture.decompile.names import HELPERS, Names
from capture.decompile.reader import NotReadable, Shared
from capture_records import dataclass


@dataclass(frozen=True)
class Decompiled:
    text: str
    objects: dict[str, Any]
    is_whole: bool


def decompile(code: types.CodeType, slots: Sequence[str] = (), graph: Any = None) -> Decompiled:
    """`slots` has a text for each argument that the guards load; `graph` is what the code calls first."""
    names = Names(code, slots, graph)
    try:
        body = written(Flow(code, Shared(code, names)).path(0, ()), 1)
    except (NotReadable, RecursionError) as error:
        listing = [f"# not shown as Python: {error}", dialect.listing(code)]
        return Decompiled("\n".join(listing), {}, False)
    count = code.co_argcount + code.co_kwonlyargcount
    arguments = ", ".join(names.local(name) for name in code.co_varnames[:count])
    name = code.co_name if code.co_name.isidentifier() else "function"
    function = _enclosed(code, name, names, [f"def {name}({arguments}):", *body])
    return Decompiled("\n".join([*_notes(body, names), *function]), names.objects, True)


def _enclosed(code: types.CodeType, name: str, names: Names, function: list[str]) -> list[str]:
    """The function, in one that has its free variables."""
    if not code.co_freevars:
        return function
    free = ", ".join(map(names.local, code.co_freevars))
    inner = [function[0], f"    nonlocal {free}", *function[1:]]
    return [
        f"def {names.fresh('enclosing')}({free}):",
        *(f"    {line}" for line in inner),
        f"    return {name}",
    ]


def _notes(body: list[str], names: Names) -> list[str]:
    """What the names stand for that the text reads."""
    words = set(re.findall(r"\w+", "\n".join(body)))
    objects = [f"# {name}: {names.meaning(name)}" for name in names.objects if name in words]
    return objects + [f"# {text}" for name, text in HELPERS.items() if name in words]
