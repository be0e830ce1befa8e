"""Every file and module that a page, a comment or a docstring names is in the tree; pages are narrow.

In: the project's pages, Python files and C files. Out: one failure, which lists what is named and is not
     there.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("capture", "codegen", "guards", "cache")
FOLDERS = (*PACKAGES, "native", "tests", "scripts", "benchmarks", "examples", "docs")
ENDINGS = (".py", ".c", ".h", ".md")
FILES = sorted(
    path
    for folder in [ROOT, *(ROOT / name for name in FOLDERS)]
    for path in (folder.glob("*") if folder == ROOT else folder.rglob("*"))
    if path.suffix in ENDINGS
)

# A file goes by each tail of its path: `plan.py`, `launch/plan.py`, `codegen/launch/plan.py`.
NAMES = {
    "/".join(parts[start:])
    for parts in (path.relative_to(ROOT).parts for path in FILES)
    for start in range(len(parts))
}
# Files of torch and of CPython, of programs in examples; and what only looks like a file.
NOT_OURS = re.compile(
    r"torch/.*|Python\.h|Objects/.*|nn/modules/.*|optim/.*|(c|generated)/.*\.h|module\.py|transformer\.py"
    r"|train\.py|model\.py|program\.py|capture_minified\.py"
    r"|aten\.c|o\.c|m\.md|x\.py|example\.c|(net|NAME|s)\.h|SCRIPT\.py|nothing\.py"
)
FILE = re.compile(r"(?<![\w./<-])[A-Za-z_][\w/-]*\.(?:py|c|h|md)\b(?![.(]?\w)")
MODULE = re.compile(rf"`((?:{'|'.join(PACKAGES)})(?:\.[a-z_]\w*)+)")


def texts(path: Path) -> str:
    """What a reader reads: all of a page, the comments and docstrings of a program."""
    text = path.read_text()
    if path.suffix == ".py":
        found = re.findall(r'"""(.*?)"""|(#[^\n]*)', text, re.DOTALL)
        return "\n".join(docstring or comment for docstring, comment in found)
    if path.suffix in (".c", ".h"):
        return "\n".join(re.findall(r"/\*.*?\*/|//[^\n]*", text, re.DOTALL))
    return text


def is_module(name: str) -> bool:
    """Whether `codegen.launch.plan`, or `codegen.launch.plan.build_plan`, exists. Package names are API."""
    *folders, last = name.split(".")
    place = ROOT.joinpath(*folders)
    if (place / last).is_dir() or (place / last).with_suffix(".py").exists():
        return True
    code = place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"
    if code.exists():
        return re.search(rf"\b{re.escape(last)}\b", code.read_text()) is not None
    return len(folders) > 1 and is_module(".".join(folders))  # an attribute of what a module has


def test_named_files_exist() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in FILES
        for name in sorted(set(FILE.findall(texts(path))) - NAMES)
        if not NOT_OURS.fullmatch(name)
    ]
    assert missing == []


def test_named_modules_exist() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in FILES
        for name in sorted(set(MODULE.findall(texts(path))))
        if not is_module(name)
    ]
    assert missing == []


def test_links_of_pages_lead_somewhere() -> None:
    missing = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in FILES
        if page.suffix == ".md"
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / link).exists()
    ]
    assert missing == []


def test_lines_of_pages_are_short() -> None:
    """ruff and clang-format see to those of Python and C."""
    others = [ROOT / name for name in ("Makefile", "pyproject.toml", ".pre-commit-config.yaml", ".ci/run")]
    too_long = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in [*others, *(path for path in FILES if path.suffix == ".md")]
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if len(line) > 110
    ]
    assert too_long == []
