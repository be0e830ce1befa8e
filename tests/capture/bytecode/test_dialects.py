"""The parts for CPython's version are in two places, and the running version's dialect is complete."""

from __future__ import annotations

import argparse
import ast
import asyncio.base_events
import contextlib
import dis
import inspect
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest
from bytecode import Bytecode, Label

from capture.bytecode.dialects import Assembler, dialect
from capture.interpret.opcodes import registry

ROOT = Path(__file__).parents[3]
DIALECTS = ROOT / "capture" / "bytecode" / "dialects"
#: here each handler has the name of the instruction that it carries out, or writes as text
HANDLERS = [ROOT / "capture" / "interpret" / "opcodes", ROOT / "capture" / "decompile"]
PYTHON = sorted(path for path in (ROOT / "capture").rglob("*.py") if DIALECTS not in path.parents)
#: names of the library `bytecode` that make instructions
INSTRUCTION_MAKERS = {"Instr", "ConcreteInstr", "BinaryOp", "Compare", "FreeVar", "CellVar"}


def _handler_names(tree: ast.AST) -> set[int]:
    """The constants in `@opcode("BINARY_OP")`, by id."""
    decorators = [d for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for d in f.decorator_list]
    calls = [d for d in decorators if isinstance(d, ast.Call) and getattr(d.func, "id", "") == "opcode"]
    return {id(arg) for call in calls for arg in call.args}


def _raw_names(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    allowed = _handler_names(tree) if path.parent in HANDLERS else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in dis.opmap and id(node) not in allowed:
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.value}"


def test_only_dialects_and_handlers_name_instructions() -> None:
    assert [found for path in PYTHON for found in _raw_names(path)] == []


def test_only_dialects_use_the_modules_that_know_instructions() -> None:
    found = []
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found += [(path.name, a.name) for a in node.names if a.name in ("dis", "opcode")]
            elif isinstance(node, ast.ImportFrom) and node.module in ("dis", "opcode"):
                found.append((path.name, node.module))
            elif isinstance(node, ast.ImportFrom) and node.module == "bytecode":
                inside = path.parent == DIALECTS.parent
                names = {a.name for a in node.names} & INSTRUCTION_MAKERS
                found += [(path.name, name) for name in names if not inside]
    assert found == []


#: internal headers of CPython, its frames and its evaluator
INTERNAL = re.compile(
    r"internal/|pycore_|PY_VERSION_HEX|opcode\.h|_PyInterpreterFrame|_PyEval_|EvalFrameFunc|->f_\w|->dk_"
    r"|->ma_values"
)


def test_only_headers_of_versions_use_internals_of_cpython() -> None:
    files = [p for p in (ROOT / "native").rglob("*.[ch]") if not re.match(r"py(version|\d)\w*\.h$", p.name)]
    found = [p.name for p in files for line in p.read_text().splitlines() if INTERNAL.search(line)]
    assert len(files) > 40
    assert found == []


def test_tables_name_instructions_of_the_version() -> None:
    tables = [v for v in vars(dialect).values() if isinstance(v, frozenset)]
    named = set().union(*(t for t in tables if all(isinstance(name, str) for name in t)))
    assert named | set(dialect.SAME_AS) | set(dialect.UNSUPPORTED) <= set(dis.opmap)


def all_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from all_code(constant)


def test_instructions_are_read_as_dis_reads_them() -> None:
    modules = (argparse, asyncio.base_events, contextlib, inspect)
    texts = [inspect.getsource(module) for module in modules]
    texts.append("\n".join(f"print(name_{i}, {i}, f'{{x!r}}{{x:{i}}}')" for i in range(300)))  # wide operands
    seen = set()
    for text in texts:
        for code in all_code(compile(text, "text", "exec")):
            wanted = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
            found = dialect.raw_instructions(code)
            assert [tuple(i) for i in found] == [
                (i.offset, i.opname, i.arg, i.argval, tuple(i.positions or ())) for i in wanted
            ]
            names = {i.argval for i in wanted if i.opname in dialect.LOADS_NAME}
            assert dialect.names_loaded(code) == names
            seen |= {i.opname for i in found}
    assert {"LOAD_DEREF", "KW_NAMES", "FORMAT_VALUE", "COMPARE_OP", "SEND", "JUMP_BACKWARD"} <= seen


def test_instructions_with_another_name_have_a_handler() -> None:
    assert set(dialect.SAME_AS.values()) <= set(registry.HANDLERS.all())


def test_an_act_is_a_sequence_of_instructions() -> None:
    code = Assembler()
    label = Label()
    code.begin()
    code.load_callable(len)
    code.load_local("x")
    code.call(1)
    code.jump_if_false(label)
    code.load_constant(1)
    code.return_value()
    code.append(label)
    code.load_constant(2)
    code.return_value()
    made = Bytecode(code.instructions)
    made.argnames, made.argcount, made.flags = ["x"], 1, 3  # type: ignore[assignment]
    scope: dict[str, object] = {}
    function = type(lambda: 0)(_released(made), scope)
    assert [function("ab"), function("")] == [1, 2]


def _released(made: Bytecode):  # type: ignore[no-untyped-def]
    from capture.bytecode.emit import release_constants

    return release_constants(made.to_code())


@pytest.mark.parametrize("version", [(3, 10, 0), (3, 12, 0)])
def test_another_version_is_refused_by_name(
    version: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(ImportError, match=f"this is Python 3.{version[1]}: add a file"):
        runpy.run_path(str(DIALECTS / "__init__.py"))
