"""Tables whose families are imported when one of their keys is asked for."""

import functools
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from capture.interpret.opcodes.registry import HANDLERS
from codegen.kernel.families import Table, name_of, release
from codegen.llvm.arithmetic import EMITTERS
from codegen.lower import contents
from codegen.lower.registry import LOWERINGS

aten = torch.ops.aten
ROOT = Path(__file__).parents[3]


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_contents_are_up_to_date() -> None:
    """They name each key that the import of all modules enters."""
    if contents.MADE_WITH != release():
        pytest.skip("another release of torch imports all families")
    done = subprocess.run(
        [sys.executable, "-m", "scripts.contents", "--check"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("table", [LOWERINGS, EMITTERS, HANDLERS])
def test_a_key_has_one_family(table: Table[Any]) -> None:
    """A function with rules or rewritings may have several."""
    assert all(len(families) == 1 for families in table.families.values())


IMPORTED = """
import sys
from codegen.lower.registry import LOWERINGS
import torch
every = {family for found in LOWERINGS.families.values() for family in found}
def families():
    return sorted(every & sys.modules.keys())
before = families()
"""


def test_a_look_up_imports_the_family_of_the_key() -> None:
    text = """
found = LOWERINGS.get(torch.ops.aten.cumsum.default)
print(before, found.__module__, families())
"""
    assert run(IMPORTED + text) == "[] codegen.lower.scan ['codegen.lower.scan']"


def test_a_key_has_the_rows_of_all_its_families() -> None:
    """The rows of one family were entered when another key was looked up."""
    text = """
import torch
from codegen.rewrite.table import rule_for
from codegen.rewrite.rows import OPERATORS
aten = torch.ops.aten
for op in (aten._softmax.default, aten._log_softmax.default, aten.native_batch_norm.default):
    rule_for(op)
    print(op.name(), len(OPERATORS[op]), sorted(row.body.__module__.split(".")[-1] for row in OPERATORS[op]))
"""
    assert run(text).splitlines() == [
        "aten::_softmax 1 ['norms']",
        "aten::_log_softmax 2 ['half', 'norms']",
        "aten::native_batch_norm 2 ['half', 'norms']",
    ]


def test_a_look_up_that_misses_imports_nothing() -> None:
    text = """
keys = [torch.ops.aten.mm.default, "mm", len, torch.nn.Linear(1, 1), dict]
print([LOWERINGS.get(key) or key in LOWERINGS for key in keys], before == families())
"""
    assert run(IMPORTED + text) == "[False, False, False, False, False] True"


def test_the_whole_table_has_all_families() -> None:
    text = "print(len(LOWERINGS), len(LOWERINGS.all()) > 200, families() == sorted(every))"
    assert run(IMPORTED + text) == "0 True True"


def test_with_another_release_of_torch_the_first_look_up_imports_all() -> None:
    text = """
from codegen.kernel.families import Table
from codegen.lower import contents
contents.MADE_WITH = "torch 2.14"
other = Table(contents, "LOWERINGS")
other.get(torch.ops.aten.mm.default)
print(len(before), families() == sorted(every))
"""
    assert run(IMPORTED + text) == "0 True"


def test_a_family_computes_nothing_when_it_is_imported() -> None:
    """The import may come while modes are on, which would see such a call."""
    text = """
import importlib
import capture.frame.new_entry
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from scripts.contents import TABLES
class Calls(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        raise AssertionError(function)
class Operators(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        raise AssertionError(function)
families = set()
for tables in TABLES.values():
    for name, module in tables.items():
        table = getattr(importlib.import_module(module), name)
        families.update(family for found in table.families.values() for family in found)
with Calls(), Operators():
    for family in sorted(families):
        importlib.import_module(family)
print("imported")
"""
    assert run(text) == "imported"


def test_names() -> None:
    @functools.wraps(torch.relu)
    def wrapper(x: Any) -> Any:
        return x

    assert name_of(aten.add.Tensor) == "aten::add.Tensor"
    assert name_of("prod") == "prod"
    assert name_of(torch.relu) == "torch.relu"
    assert name_of(torch.Tensor.add_) == ".add_"
    assert name_of(torch.nn.Parameter) == "<Parameter>"
    assert name_of(torch.nn.Linear(1, 1)) == "Linear()"
    assert name_of(torch.nn.functional.silu) == "torch.nn.functional.silu"
    assert name_of(np.mean) == name_of(np.zeros) == name_of(np.add) == name_of(np.float32) == "numpy"
    assert name_of(np.random.Generator) == name_of(np.random.default_rng()) == "numpy.random"
    assert name_of(wrapper) == "torch.test_names.<locals>.wrapper"


def test_a_name_runs_no_code_of_the_program() -> None:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise AssertionError(name)

    class Shy(metaclass=Meta):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    assert name_of(object.__new__(Shy)) == "Shy()"
    assert name_of(Shy) == "<Shy>"


def test_keys_with_one_name_are_told_apart() -> None:
    module = types.ModuleType("contents")
    module.MADE_WITH, module.ROWS = release(), {"json.tool": "torch.relu"}  # type: ignore[attr-defined]
    table: Table[int] = Table(module, "ROWS")
    assert table.get(torch.relu) is None and torch.relu not in table
    table[torch.relu] = 1
    assert table[torch.relu] == 1 and table.get(torch.relu, 2) == 1
    with pytest.raises(KeyError):
        table[torch.tanh]


def test_what_the_program_put_in_the_place_of_a_key_is_not_entered() -> None:
    def mine() -> None: ...

    module = types.ModuleType("contents")
    module.MADE_WITH, module.ROWS = release(), {"json.tool": "torch.relu"}  # type: ignore[attr-defined]
    table: Table[Any] = Table(module, "ROWS")
    table[mine] = 1
    table.update({mine: 1, torch.relu: 2})
    assert table.setdefault(mine, 1) == 1 and table.setdefault(torch.relu, 3) == 2
    assert dict(table) == {torch.relu: 2}


def test_a_name_of_a_function_runs_no_code_of_its_module() -> None:
    class Loud:
        def __format__(self, spec: str) -> str:
            raise AssertionError

    def f() -> None: ...

    f.__module__ = Loud()  # type: ignore[assignment]
    assert name_of(f).endswith("<locals>.f")


def test_each_family_can_be_the_first() -> None:
    """Modules that import one another in a circle would depend on the order."""
    text = """
import importlib, os
import capture.frame.new_entry
from scripts.contents import TABLES
families = set()
for contents, tables in TABLES.items():
    for table in tables:
        families.update(getattr(importlib.import_module(contents), table))
for family in sorted(families):
    child = os.fork()
    if child == 0:
        importlib.import_module(family)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print(family)
"""
    assert run(text) == ""
