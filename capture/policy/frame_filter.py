"""Which frames are captured, and which functions may be inlined into one.

In:  a code object or a function.
Out: a reason to leave it alone, or None.

User code and the modelling code of libraries is captured. torch's own modules are captured from `forward` on;
the rest of torch, the standard library and tools that run Python frames around the user's (test runners,
debuggers) are left alone, though most of it may be inlined.
"""

from __future__ import annotations

import functools
import itertools
import os
import sysconfig
import weakref
from pathlib import Path
from types import CodeType, FunctionType

import torch
from torch.autograd import forward_ad

from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import decode
from capture.process import function_modes
from guards.properties.tensor_methods import methods_are_replaced

_TORCH = os.path.dirname(torch.__file__) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
_OURS = str(Path(__file__).parents[2]) + os.sep
OUR_PACKAGES = tuple(_OURS + name + os.sep for name in ("capture", "codegen", "guards", "cache"))
# Folders of torch whose frames are worth capturing on their own.
TORCH_CAPTURED = tuple(_TORCH + os.path.join(*p.split("/")) for p in ("nn/modules/", "optim/"))
TORCH_LEFT_ALONE = tuple(
    _TORCH + os.path.join(*p.split("/"))
    for p in ("nn/modules/module.py", "nn/modules/lazy.py", "optim/lr_scheduler.py", "optim/swa_utils.py")
)
# ... but for what makes modules and fills their parameters.
TORCH_NAMES_LEFT_ALONE = ("<module>", "__init__", "reset_", "_reset_")
#: code that does something else where it is compiled: another fast path, no hooks behind an exception
_ASKS_FOR_COMPILERS = tuple(
    _TORCH + os.path.join("nn", "modules", name) for name in ("transformer.py", "module.py")
)
_OPTIMIZERS = _TORCH + "optim" + os.sep
TOOLS = frozenset(
    [
        "pytest",
        "_pytest",
        "pluggy",
        "coverage",
        "hypothesis",
        "IPython",
        "pdb",
        "bdb",
        "debugpy",
        "rich",
        "tqdm",
        "typer",
        "click",
        "numpy",
        "llvmlite",
        "bytecode",
        "pydevd",
        "py",
        "sklearn",
        "scipy",
        "pandas",
        "matplotlib",
        "PIL",
    ]
)
# Standard library modules whose functions are not inlined: they reach outside of the program.
NOT_INLINED_MODULES = frozenset(
    [
        "logging",
        "warnings",
        "threading",
        "traceback",
        "importlib",
        "io",
        "os",
        "sys",
        "subprocess",
        "socket",
        "asyncio",
        "multiprocessing",
        "pickle",
        "random",
        "tempfile",
        "shutil",
        "linecache",
        "unittest",
        "ast",
        "dis",
        "gc",
        "weakref",
        "tokenize",
        "time",
        "datetime",
    ]
)
# Of those, the modules of which a program's own functions make use: the assertions of a test case are plain
# Python.
INLINED_STDLIB = frozenset(["unittest.case", "unittest.util"])
NOT_INLINED_TORCH = (
    "torch._dynamo", "torch._inductor", "torch._functorch", "torch.jit", "torch.utils.data", "torch.distributed", "torch.multiprocessing",
    "torch.fx", "torch._subclasses", "torch.autograd.graph", "torch.autograd.function", "torch.serialization", "torch.hub", "torch.onnx",
    "torch._tensor_str", "torch._compile", "torch.profiler", "torch._ops", "torch._library", "torch.random", "torch._tensor",
    "torch.utils.checkpoint", "torch.autograd", "torch.optim.lr_scheduler", "torch.optim.swa_utils",
)  # fmt: skip
INLINED_TORCH = ("torch.autograd.grad_mode",)
#: what is plain Python of those: (module, name)
INLINED_FUNCTIONS = frozenset(
    [
        ("torch.autograd.graph", "disable_saved_tensors_hooks"),
        ("torch._dynamo._trace_wrapped_higher_order_op", "TransformGetItemToIndex.__torch_function__"),
        ("torch.fx.graph_module", "GraphModule.recompile.<locals>.call_wrapped"),
        ("torch.fx.graph_module", "_WrappedCall.__call__"),
        ("torch.fx.traceback", "annotate"),
        ("torch.fx.traceback", "annotate_fn"),
        ("torch.jit", "annotate"),
        ("torch.jit._script", "_unwrap_optional"),
    ]
)


#: file names of code without a file that is not the user's; other code made at run time (exec, notebooks) is.
# Graphs of torch.fx are : what backends run, who may write them anew: frames of those would be captured
# without end.
GENERATED = ("<frozen ", "<__array_function__ internals>", "<eval_with_key>")
#: by address: code objects compare by value
_requested: weakref.WeakValueDictionary[int, CodeType] = weakref.WeakValueDictionary()


def request(function: object) -> CodeType | None:
    """The user asked to capture this function (a bound method's, a module's forward): it is, wherever it
    comes from. Its code, if it has one.
    """
    if isinstance(function, torch.nn.Module):
        function = type(function).forward
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if not isinstance(code, CodeType):
        return None
    _requested[id(code)] = code
    return code


def why_not_captured(code: CodeType) -> str | None:
    """A reason to run frames of this code object in the default evaluator."""
    if _reads_frame(code):
        return "it may read its own local variables"
    return None if id(code) in _requested else _why_not_from_there(code)


@functools.lru_cache(maxsize=8192)
def _why_not_from_there(code: CodeType) -> str | None:
    path = code.co_filename
    if path.startswith(GENERATED):
        return "generated code"
    if path.startswith(OUR_PACKAGES):
        return "part of capture"
    if path.startswith(_TORCH):
        captured = path.startswith(TORCH_CAPTURED) and path not in TORCH_LEFT_ALONE
        return None if captured and not code.co_name.startswith(TORCH_NAMES_LEFT_ALONE) else "part of torch"
    if path.startswith(_STDLIB) and os.sep + "site-packages" + os.sep not in path:
        return "standard library"
    if _package_of(path) in TOOLS:
        return "a tool around the program"
    if code.co_name == "<module>":
        return "module level"
    if code.co_name.startswith("<") and code.co_name != "<lambda>":
        return "comprehension or generator expression"
    return None


#: builtins by which a function gets at its own frame, which has to be Python's then; and of attributes or
# imported functions
READS_FRAME = frozenset(("eval", "exec"))
READS_FRAMES = frozenset(("_getframe", "currentframe"))
#: builtins that tell the variables of the frame, where they get no arguments
ASKS_FOR_LOCALS = frozenset(("locals", "vars", "dir"))


@functools.lru_cache(maxsize=8192)
def _reads_frame(code: CodeType) -> bool:
    names = set(code.co_names)
    if names & READS_FRAMES:
        return True
    # `model.eval()` is no call of the builtin.
    return bool(names & READS_FRAME) and any(
        step.name in dialect.LOADS_NAME and step.value in READS_FRAME for step in decode(code).instructions
    )


def reads_other_locals(code: CodeType) -> bool:
    """Whether a function of this code may ask for the variables of its callers: the code behind a break has
    others.
    """
    return "f_locals" in code.co_names


@functools.lru_cache(maxsize=8192)
def asks_for_locals(code: CodeType) -> bool:
    """Whether a frame of this code may ask for its own variables: then Python runs either all of it or
    nothing.
    """
    if not ASKS_FOR_LOCALS.intersection(code.co_names):
        return False
    return any(
        step.name in dialect.LOADS_NAME
        and step.value in ASKS_FOR_LOCALS
        and (step.value == "locals" or dialect.begins_call_without_arguments(behind))
        for step, behind in itertools.pairwise(decode(code).instructions)
    )


def why_not_now() -> str | None:
    """A reason to run this frame, whatever it is, in the default evaluator."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "inside of a torch.func transform: tensors are wrapped in those of its level"
    if torch._C._len_torch_dispatch_stack() or not function_modes.are_followed():
        return "a mode sees each operation of torch"
    if torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.Python):
        return "operations are kept from fake tensors (_DisableTorchDispatch)"
    if forward_ad._current_level >= 0:
        return "forward-mode differentiation: tensors carry tangents, which no graph computes"
    if methods_are_replaced():
        return "a method of torch.Tensor is not torch's own"
    if saves_through_hooks():
        return "tensors that autograd saves go through hooks (checkpoint), which count them"
    return None


_torch_compile = torch._C._dynamo.eval_frame  # C only: there without an import of torch's Python compiler


#: of this thread; None or False: torch.compile is not at work
callback_of_torch_compile = _torch_compile.get_eval_frame_callback


def hide_from_torch_compile(code: CodeType) -> None:
    """Frames of this code are not captured by torch.compile; those that they call are, where it is at work."""
    action = _torch_compile._FrameAction
    _torch_compile.set_code_exec_strategy(
        code, _torch_compile._FrameExecStrategy(action.SKIP, action.DEFAULT)
    )


def saves_through_hooks() -> bool:
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


def gives_compilers_other_values(code: CodeType) -> bool:
    """Code of torch whose results depend on `torch.compiler.is_compiling()`: there the answer has to be
    eager's.
    """
    return code.co_filename in _ASKS_FOR_COMPILERS


def is_whole_or_nothing(code: CodeType) -> bool:
    """Code whose parts are not worth a graph each: the loops of an optimizer over its parameters."""
    return code.co_filename.startswith(_OPTIMIZERS)


def _package_of(path: str) -> str | None:
    """Name of the package in site-packages that a file belongs to."""
    parts = path.split(os.sep)
    for index, part in enumerate(parts):
        if part == "site-packages" and index + 1 < len(parts):
            return parts[index + 1].removesuffix(".py")
    return None


def _is_polyfills(module: str) -> bool:
    """Library functions in plain Python: `capture.variables.<family>.polyfills` and `..._polyfills`."""
    return module.startswith("capture.variables.") and module.endswith("polyfills")


@functools.lru_cache(maxsize=8192)
def _why_not_inlined(module: str, path: str) -> str | None:
    top = module.split(".")[0]
    if top in NOT_INLINED_MODULES and module not in INLINED_STDLIB and path.startswith(_STDLIB):
        return f"part of {top}"
    if module.startswith(NOT_INLINED_TORCH) and not module.startswith(INLINED_TORCH):
        return f"part of {module}"
    if path.startswith(OUR_PACKAGES) and not _is_polyfills(module):
        return "part of capture"
    if _package_of(path) in TOOLS:
        return f"part of {_package_of(path)}"
    return None


def is_plain_python(function: FunctionType) -> bool:
    """One of torch's helpers in modules that are otherwise left alone."""
    return (function.__module__, function.__qualname__) in INLINED_FUNCTIONS


def why_not_inlined(function: FunctionType) -> str | None:
    """A reason to leave a call of this function to Python."""
    if is_plain_python(function):
        return None
    return _why_not_inlined(function.__module__ or "", function.__code__.co_filename)
