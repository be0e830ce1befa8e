"""Writes the contents of the tables that families fill (`codegen/kernel/families.py`).

python scripts/contents.py            writes the modules `contents`
python scripts/contents.py --check    exit status 1 if one of them is out of date
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import textwrap
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from codegen.kernel.families import Table, name_of, release

ROOT = Path(__file__).parent.parent
#: contents of tables -> the module of each table
TABLES: dict[str, dict[str, str]] = {
    "codegen.lower.contents": {"LOWERINGS": "codegen.lower.registry"},
    "codegen.rewrite.contents": {"FUNCTIONS": "codegen.rewrite.rows", "OPERATORS": "codegen.rewrite.rows"},
    "codegen.llvm.contents": {"EMITTERS": "codegen.llvm.arithmetic"},
    "capture.interpret.opcodes.contents": {"HANDLERS": "capture.interpret.opcodes.registry"},
    "capture.variables.core.contents": {
        "CALLS": "capture.variables.core.rules",
        "BY_CODE": "capture.variables.core.rules",
        "LATE": "capture.variables.core.rules",
        "WRAPPERS": "capture.variables.core.wrap",
        "MAKERS": "capture.variables.core.makers",
        "CONSTANTS": "capture.variables.core.makers",
        "CONSTANT_BASES": "capture.variables.core.makers",
        "STRING_METHODS": "capture.variables.core.constant",
        "POLYFILLS": "capture.variables.callables.polyfills",
        "TENSOR_ATTRIBUTES": "capture.variables.tensors.tensor",
        "TENSOR_STORES": "capture.variables.tensors.tensor",
        "TENSOR_METHODS": "capture.variables.tensors.tensor",
    },
}
#: the packages with the families
PACKAGES = (
    "codegen.lower",
    "codegen.rewrite",
    "codegen.llvm",
    "capture.interpret.opcodes",
    "capture.variables",
)
HEAD = '''"""Which module has which keys of the tables. `scripts/contents.py` writes it."""

from __future__ import annotations

MADE_WITH = "{release}"
'''

#: table -> module -> names of the keys that the module enters
Found = dict[str, dict[str, set[str]]]


class Watch:
    """Looks at the tables before and after the body of each module."""

    def __init__(self) -> None:
        self.found: dict[str, Found] = {
            contents: {table: {} for table in tables} for contents, tables in TABLES.items()
        }
        self.seen: dict[tuple[str, str, Any], int] = {}

    def entries(self) -> Iterator[tuple[tuple[str, str, Any], int]]:
        """What stands in the tables now: the identity of each value, or the number of rows of a key."""
        for contents, tables in TABLES.items():
            for name, module in tables.items():
                table = getattr(sys.modules.get(module), name, {})
                for key, value in dict.items(table):
                    yield (contents, name, key), len(value) if isinstance(value, list) else id(value)

    def note(self, module: str) -> None:
        """What is new comes from `module`: those that it imports were noted before."""
        now = dict(self.entries())
        for (contents, table, key), value in now.items():
            if self.seen.get((contents, table, key)) != value:
                self.found[contents][table].setdefault(module, set()).add(name_of(key))
        self.seen = now


def find() -> dict[str, Found]:
    """Import all modules of the packages, in a process that has imported none of the families."""
    watch = Watch()
    execute = SourceFileLoader.exec_module

    def watched(self: SourceFileLoader, module: ModuleType) -> None:
        execute(self, module)
        if module.__name__.startswith(PACKAGES):
            watch.note(module.__name__)

    Table.__setitem__ = dict.__setitem__  # type: ignore[method-assign] # all keys count
    SourceFileLoader.exec_module = watched  # type: ignore[method-assign]
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    return watch.found


def text_of(found: Found) -> str:
    parts = [HEAD.format(release=release())]
    for table, families in sorted(found.items()):
        rows = (
            f'    "{family}": """\n{_lines(names)}\n    """,\n' for family, names in sorted(families.items())
        )
        parts.append(f"{table} = {{\n{''.join(rows)}}}\n")
    return "\n".join(parts)


def _lines(names: set[str]) -> str:
    indent = " " * 8
    return textwrap.fill(
        " ".join(sorted(names)), 110, initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    texts = {(ROOT / name.replace(".", "/")).with_suffix(".py"): text_of(f) for name, f in find().items()}
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if arguments == ["--check"]:
        for path in stale:
            print(f"{path} is out of date: run `make contents`", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(texts[path])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
