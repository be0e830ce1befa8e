"""What all tests share: golden files, the marks `slow` and `sweep`, a folder for machine code.

`golden(name, text)` compares with tests/<folder>/golden/<name>; `pytest --update-golden` writes the file.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[1]
# Not the user's folder. The processes of one run share it, and `make clean` removes it.
os.environ.setdefault("CAPTURE_CACHE_DIR", str(ROOT / "build" / "test-kernels"))
# Tests look at how a frame is captured. Those of stored entries switch the store on.
os.environ.setdefault("CAPTURE_STORE_ENTRIES", "0")
# Tests call a function once and look at its graph.
os.environ.setdefault("CAPTURE_WHEN", "first")

#: Folders, modules and tests that `make quick` leaves out. They train, they start a process of Python, they
#: compile whole programs or they run a program very often. Sweeps carry the mark `sweep` in their modules.
SLOW = (
    "capture/backends/test_torch_compile.py",
    "capture/interpret/test_instruction_limit.py",
    "capture/process/test_other_tracers.py",
    "capture/process/test_replaced_tensor_methods.py",
    "capture/report/test_break_reasons.py::test_reason[too_many_places]",
    "capture/sizes/test_dynamic.py",
    "capture/sizes/test_unbacked.py",
    "capture/test_models.py",
    "capture/test_worlds.py",
    "capture/variables/numbers/test_random_draws.py",
    "capture/variables/tensors/test_hook_gradients.py",
    "capture/variables/tensors/test_numpy_array.py",
    "capture/variables/torch/test_flex_attention.py",
    "capture/variables/torch/test_optimizers.py",
    "codegen/autograd/test_derivatives.py",
    "codegen/autograd/test_partial_backward.py",
    "codegen/dynamic/test_symbolic_graph.py",
    "codegen/dynamic/test_symbolic_training.py",
    "codegen/fake/test_fake.py::test_nothing_barred_is_imported",
    "codegen/fake/test_layouts.py",
    "codegen/fake/test_plain_numbers.py",
    "codegen/launch/test_direct_calls.py",
    "codegen/launch/test_host_memory.py",
    "codegen/launch/test_jit.py::test_another_process_uses_what_is_stored",
    "codegen/launch/test_jit.py::test_code_lives_as_long_as_its_users",
    "codegen/launch/test_jit.py::test_the_process_ends_cleanly_with_code_alive",
    "codegen/launch/test_kernel_versions.py",
    "codegen/llvm/test_loops.py",
    "codegen/llvm/test_memory.py",
    "codegen/llvm/test_reduce.py",
    "codegen/llvm/test_scans.py",
    "codegen/lower/test_ordered_writes.py",
    "codegen/lower/test_pointwise.py",
    "codegen/passes/draft/test_column_sums.py",
    "codegen/passes/loops/",
    "codegen/passes/test_pipeline.py",
    "codegen/rewrite/",
    "codegen/test_compile_fx.py",
    "codegen/trace/test_autocast.py",
    "guards/test_constants.py",
    "guards/test_guard_set.py::test_a_key_object_is_not_kept",
    "guards/test_guard_set.py::test_identity_guards_hold_weakly",
    "native/test_attribute_cache.py",
    "native/test_compiled_graph.py",
    "native/test_entries.py",
    "native/test_guard_program.py::test_under_the_debug_allocator",
    "native/test_tensor_access.py::test_calibration_in_any_state",
    "native/test_tensor_access.py::test_calibration_in_memory_that_was_used_before",
    "native/test_training_function.py",
    "opinfo/test_operators.py",
    "test_bad_input.py::test_wrong_environment",
    "test_imports.py",
    "test_logs.py",
    "test_memory.py::test_nothing_stays",
    "test_random_flow.py",
    "test_random_objects.py",
    "test_random_programs.py",
    "test_random_worlds.py",
    "test_settrace.py::test_without_the_extension",
    "test_tour.py",
)


@pytest.fixture(scope="session", autouse=True)
def compiles_every_graph() -> Iterator[None]:
    """Graphs come from the store in tests/codegen/stored alone: others look at how a graph was compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("codegen.stored.compile_graph.enabled", False)
        yield


@pytest.fixture(scope="session", autouse=True)
def frames_of_tests_go_on() -> Iterator[None]:
    """A test's own loop in a block runs as it is, unless the test asks for more: when its frame ends would
    depend on the clock.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capture.hooks.running_loops.LEAST_NS", 1 << 60)
        yield


@pytest.fixture(autouse=True)
def draws_the_same_numbers() -> None:
    """Whatever ran before it in its process, and alone."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def counts_from_zero() -> None:
    """`capture.counters` has what the test itself counts."""
    from capture.report.counters import counters  # here: the settings above come first

    counters.clear()


@pytest.fixture(autouse=True)
def autocast_is_left() -> Iterator[None]:
    """A program that stays in autocast keeps casts of parameters, which the next test would see."""
    before = _autocast_depth()
    yield
    assert _autocast_depth() == before


def _autocast_depth() -> int:
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files instead of comparing with them"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = tuple(f"tests/{name}" for name in SLOW)
    for item in items:
        if item.nodeid.startswith(slow):
            item.add_marker("slow")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    folder = request.path.parent / "golden"

    def check(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.exists(), f"no golden file {path}: run pytest --update-golden and read what it writes"
        assert text == path.read_text(), f"{path} differs: run pytest --update-golden and read the difference"

    return check
