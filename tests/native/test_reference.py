"""native/README.md, the reference of the extension, names everything that the extension has."""

from __future__ import annotations

import re
from pathlib import Path

import _capture

import capture

README = (Path(__file__).parents[2] / "native" / "README.md").read_text()


def test_every_name_of_the_module_is_described():
    assert [name for name in dir(_capture) if name[0] != "_" and not re.search(rf"\b{name}\b", README)] == []


def test_every_attribute_of_its_types_is_described():
    types = [
        value
        for value in vars(_capture).values()
        if isinstance(value, type) and value.__module__ == "_capture"
    ]
    names = {name for found in types for name in vars(found) if name[0] != "_"}
    assert len(names) > 20
    assert [name for name in sorted(names) if not re.search(rf"`?\.?\b{name}\b", README)] == []


def test_every_signature_names_something_of_the_module():
    called = set(re.findall(r"^    (\w+)\(", README, re.MULTILINE)) - {"callback"}
    assert [name for name in sorted(called) if not hasattr(_capture, name)] == []


def test_every_file_is_in_a_table():
    assert capture  # the extension is complete only after this import
    files = [path.name for path in (Path(__file__).parents[2] / "native").rglob("*.c")]
    assert [name for name in files if name not in README] == []
