"""Checks that Python and the libraries have versions that capture knows.

In:  the running Python; the libraries that this `import` finds.
Out: `check()` returns, or raises an ImportError of one line that says what was found, and what to install.

    capture needs torch >=2.13,<2.16, but 2.12.1 is installed: `pip install torch==2.13.0`

Our own modules use names that other versions do not have. So the check comes before they are imported.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from typing import NamedTuple

Version = tuple[int, ...]

#: of this package, as in pyproject.toml
CAPTURE = "0.1.0"


class Needed(NamedTuple):
    """The first version that is good enough, the first that is too new, and what to give to `pip install`."""

    library: str
    first: Version
    too_new: Version | None
    install: str


PYTHON = Needed("Python", (3, 11), (3, 12), "")
#: The ranges of pyproject.toml.
LIBRARIES = (
    Needed("torch", (2, 13), (2, 16), "torch==2.13.0"),
    Needed("llvmlite", (0, 50), (0, 51), "'llvmlite>=0.50,<0.51'"),
    Needed("bytecode", (0, 19), None, "'bytecode>=0.19'"),
    Needed("numpy", (1, 26), None, "'numpy>=1.26'"),
)


def parse(text: str) -> Version:
    """The numbers at the start of a version: (2, 14, 0) of "2.14.0a0+git1234"."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def text_of(needed: Needed) -> str:
    first, too_new = (".".join(map(str, version or ())) for version in (needed.first, needed.too_new))
    return f">={first}" + (f",<{too_new}" if too_new else "")


def problem(needed: Needed, found: str | None) -> str | None:
    """What is wrong with the version found, where None stands for a library that is not there."""
    version = parse(found) if found is not None else ()
    if version >= needed.first and (needed.too_new is None or version < needed.too_new):
        return None
    found_text = f"{found} is installed" if found is not None else "it is not installed"
    return (
        f"capture needs {needed.library} {text_of(needed)}, but {found_text}: `pip install {needed.install}`"
    )


def _python_problem() -> str | None:
    found = sys.version.split()[0]
    if problem(PYTHON, found) is None:
        return None
    return (
        f"capture needs Python {text_of(PYTHON)}, but this is {found}: "
        "make an environment by `python3.11 -m venv`"
    )


def _found(library: str) -> str | None:
    try:
        return _written(library) or str(importlib.import_module(library).__version__)
    except ModuleNotFoundError as missing:
        if missing.name != library:
            raise
        return None


def _written(library: str) -> str | None:
    """The version in a file of a library that is not imported yet: the import of `bytecode` takes 8 ms."""
    spec = importlib.util.find_spec(library) if library not in sys.modules else None
    if spec is None or spec.origin is None:
        return None
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), "rb") as file:
            found = re.search(rb'^__version__ = "(.+)"\s*$', file.read(), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else found[1].decode()


def check() -> None:
    """Raise an ImportError for the first version that does not fit."""
    text = _python_problem()
    for needed in LIBRARIES:
        text = text or problem(needed, _found(needed.library))
    if text is not None:
        raise ImportError(text)
