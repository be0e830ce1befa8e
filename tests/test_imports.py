"""The imports of the package and of its use: no module of torch.compile, and not much time."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

BARRED = (
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch.aot_autograd",
    "torch._functorch.partitioners",
)

# Parameters are updated by hand: torch.optim itself imports torch._dynamo, at its first optimizer.
PROGRAM = """
import json, sys, time
started = time.perf_counter()
import torch
torch_imported = time.perf_counter()
import capture
capture_imported = time.perf_counter()
loaded = {"import": sorted(sys.modules)}

model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.GELU(), torch.nn.Flatten(),
    torch.nn.Linear(144, 10), torch.nn.Dropout(0.1)
)

def step(x, labels):
    loss = torch.nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
            parameter.grad = None
    return loss

with capture.config.patch(disk_cache=False), capture.enable():
    for size in (4, 4, 6, 8):
        step(torch.randn(size, 1, 8, 8), torch.randint(10, (size,)))
loaded["step"] = sorted(sys.modules)
loaded["graphs"] = capture.counters["graphs"]["compiled"]
loaded["seconds"] = [torch_imported - started, capture_imported - torch_imported]
print(json.dumps(loaded))
"""

STRICT = """
import warnings, torch, capture
warnings.simplefilter("error")
x = torch.ones(3, requires_grad=True)
capture.compile(lambda x: x.exp() + 1)(x).sum().backward()
print(capture.counters["graphs"]["compiled"], x.grad)
"""


def test_warnings_as_errors_do_not_stop_a_training_step():
    """The compiler must not load a module of torch that warns."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(STRICT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 "), done.stdout


def test_neither_import_nor_a_training_step_loads_the_peers():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert loaded["graphs"] >= 1, "nothing was captured"
    for when in ("import", "step"):
        found = [name for name in loaded[when] if name.startswith(BARRED)]
        assert not found, f"loaded after the {when}: {found[:5]}"
    assert "torch.onnx" not in loaded["step"]  # 30 ms
    torch_seconds, capture_seconds = loaded["seconds"]
    print(f"import torch {torch_seconds * 1000:.0f} ms, import capture {capture_seconds * 1000:.0f} ms more")


SMALL = """
import sys, torch, capture
before = set(sys.modules)
with capture.config.patch(disk_cache=False):
    capture.compile(lambda x, y: x * y + 1)(torch.ones(4), torch.ones(4))
assert capture.counters["graphs"]["compiled"] == 1
print(*sorted(set(sys.modules) - before))
"""
#: what the graph of `x * y + 1` has nothing to do with
UNUSED = {
    "capture.interpret.inline", "capture.output.frame_code", "capture.variables.containers.mapping",
    "capture.variables.operations.operators", "capture.variables.tensors.numpy_array",
    "capture.variables.text.strings", "capture.variables.torch.nn_module", "codegen.autograd.segments",
    "codegen.llvm.math", "codegen.lower.reduction", "codegen.passes.verify", "codegen.rewrite.norms",
    "numpy.random",
}  # fmt: skip


#: what a process does not need that finds all its entries in the store
OF_COMPILERS = (
    "capture.interpret.translator", "codegen.compile_fx", "codegen.fake.dispatch", "codegen.kernel.ir",
    "codegen.trace.functionalise", "llvmlite.binding", "bytecode",
)  # fmt: skip
IMPORT = """
import sys, torch, dataclasses
before, made, old = set(sys.modules), [], dataclasses._process_class
dataclasses._process_class = lambda cls, *rest: made.append(cls.__module__) or old(cls, *rest)
import capture
print(*sorted(set(sys.modules) - before), *(f"class of {module}" for module in made), sep="\\n")
"""


def test_the_import_does_no_more_than_it_has_to():
    """A data class of the standard library takes half a millisecond."""
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.splitlines()
    assert not [name for name in loaded if name.startswith(("sysconfig", *OF_COMPILERS))]
    assert not [name for name in loaded if name.startswith("class of ")]


RESUMED = """
import sys, types, capture
from capture.bytecode import resume

def f(x, y):
    y = x + y
    return y * 2

code = resume.resume_code(f.__code__, 5, (), ("y",), 4)
print(types.FunctionType(code, {})(21), "bytecode" in sys.modules)
"""


def test_most_resume_functions_need_no_library():
    done = subprocess.run([sys.executable, "-c", RESUMED], capture_output=True, text=True)
    assert done.stdout.split() == ["42", "False"], done.stdout + done.stderr


def test_a_capture_imports_what_it_uses():
    done = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not UNUSED & set(done.stdout.split())


def test_the_page_of_graph_breaks_is_up_to_date():
    done = subprocess.run(
        [sys.executable, "scripts/make_graph_breaks.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


SETTLED = """
import gc, sys, torch
gc.collect()
if "frozen" in sys.argv:
    gc.freeze()
import capture
assert gc.isenabled()
print(gc.get_freeze_count() > 10000, any(known is capture.config for known in gc.get_objects(generation=2)))
"""


def test_what_the_import_makes_is_in_the_oldest_generation():
    """Objects that the program has frozen stay frozen."""
    for arguments, expected in (([], "False True"), (["frozen"], "True True")):
        command = [sys.executable, "-c", SETTLED, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stdout.strip() == expected, done.stdout + done.stderr
