"""CPython's own tests, with torch operations added to each, so that its frame is captured.

In:  the name of a module of the interpreter's `test` package.
Out: its test cases, to run as they are or with their methods captured; the outcome of each as a list of
     words.

    def test_len(self):          def test_len(self):
        self.assertEqual(...) ->     _tensor = _torch.ones(2) + 1
                                     self.assertEqual(...)
                                     self._result = _tensor + 1
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
import os
import sys
import types
import unittest
from collections.abc import Iterator
from typing import Any

import torch

import capture

FOLDER = os.path.join(os.path.dirname(os.path.dirname(unittest.__file__)), "test")


class WithTensors(ast.NodeTransformer):
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name.startswith("test") and item.args.args:
                surround(item)
        return node


def surround(function: ast.FunctionDef) -> None:
    owner = function.args.args[0].arg
    before = ast.parse("_tensor = _torch.ones(2) + 1").body
    after = ast.parse(f"{owner}._result = _tensor + 1").body
    has_text = ast.get_docstring(function) is not None
    for new, place in ((before, function.body[0]), (after, function.body[-1])):
        for part in ast.walk(new[0]):
            if isinstance(part, (ast.expr, ast.stmt)):
                ast.copy_location(part, place)
    function.body[has_text:] = [*before, *function.body[has_text:], *after]


class Loader(importlib.abc.Loader):
    """Loads a module of tests as the user's own code, so that its frames are captured."""

    def __init__(self, path: str) -> None:
        self.path = path

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        with open(self.path, encoding="utf-8") as file:
            tree = WithTensors().visit(ast.parse(file.read()))
        module.__dict__.update(__file__=self.path, _torch=torch)
        name = f"<cpython>/{os.path.basename(self.path)}"
        exec(compile(ast.fix_missing_locations(tree), name, "exec"), module.__dict__)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        package, _, leaf = name.partition(".")
        file = os.path.join(FOLDER, f"{leaf}.py")
        if package != "test" or not leaf.startswith("test_") and not leaf.endswith("_tests"):
            return None
        return importlib.util.spec_from_file_location(name, file, loader=Loader(file))


def is_there() -> bool:
    """Whether the interpreter has its tests."""
    return os.path.exists(os.path.join(FOLDER, "support", "__init__.py"))


def load(name: str) -> types.ModuleType:
    """The module with tensors in its tests; the package's modules that it imported are removed again."""
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(f"test.{name}")
    finally:
        sys.meta_path.remove(finder)
        for held in [n for n in sys.modules if n.startswith("test.") and not n.startswith("test.support")]:
            del sys.modules[held]


def cases(module: types.ModuleType) -> Iterator[unittest.TestCase]:
    todo: list[Any] = [unittest.defaultTestLoader.loadTestsFromModule(module)]
    while todo:
        item = todo.pop()
        if isinstance(item, unittest.TestCase):
            yield item
        else:
            todo.extend(item)


class Outcomes(unittest.TestResult):
    """The outcome of a test: a word for each thing that was reported."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def addSuccess(self, test: Any) -> None:
        self.words.append("passed")

    def addError(self, test: Any, err: Any) -> None:
        self.words.append(f"raised {err[0].__name__}: {err[1]}")

    def addFailure(self, test: Any, err: Any) -> None:
        self.words.append(f"failed: {err[1]}")

    def addSkip(self, test: Any, reason: str) -> None:
        self.words.append("skipped")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.words.append(f"{subtest._subDescription()} raised {err[0].__name__}: {err[1]}")


def outcome(test: unittest.TestCase, captured: bool) -> list[str]:
    name = test._testMethodName
    if captured:
        capture.reset()
        setattr(test, name, capture.compile(getattr(test, name), backend="eager"))
    result = Outcomes()
    try:
        test.run(result)
    finally:
        test.__dict__.pop(name, None)
    return result.words
