"""Decides which frames are captured, and which functions are inlined.

In:  a code object or a function.
Out: a reason to leave it alone, or None.

User code and the modelling code of libraries is captured. Of torch's own modules, `forward` and the functions
that it calls are captured. Three kinds of frames are left alone: the rest of torch, the standard library, and
tools around the program (test runners, debuggers). Most of these functions can still be inlined.
"""

from __future__ import annotations

import functools
import itertools
import os
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

from cache.code_table import CodeTable
from capture.bytecode import resume
from capture.bytecode.by_code import cached
from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import decode
from capture.bytecode.top_level import is_top_level
from capture.process import function_modes, other_tracers
from guards.properties.tensor_methods import methods_are_replaced

if TYPE_CHECKING:
    from collections.abc import Mapping

_TORCH = os.path.dirname(torch.__file__) + os.sep
_LLVMLITE = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "llvmlite") + os.sep
_STDLIB = os.path.dirname(os.__file__) + os.sep  # `sysconfig` takes 1 ms to say the same
_OURS = str(Path(__file__).parents[2]) + os.sep
OUR_PACKAGES = (
    *[_OURS + name + os.sep for name in ("capture", "codegen", "guards", "cache")],
    _OURS + "capture_records.py",
)
PART_OF_CAPTURE = "part of capture"
NAMES_OF_A_CLASS = "a class of the program says what its global names are"
_DISTRIBUTIONS = _TORCH + "distributions" + os.sep
# Folders and files of torch whose frames are captured.
TORCH_CAPTURED = (
    _DISTRIBUTIONS,
    *(_TORCH + os.path.join(*p.split("/")) for p in ("nn/modules/", "optim/", "nn/utils/clip_grad.py")),
)
TORCH_LEFT_ALONE = tuple(
    _TORCH + os.path.join(*p.split("/"))
    for p in ("nn/modules/module.py", "nn/modules/lazy.py", "optim/lr_scheduler.py", "optim/swa_utils.py")
)
#: Functions of other files of torch whose frames are captured: what transforms make of functions
TORCH_FUNCTIONS_CAPTURED = frozenset(
    (_TORCH + os.path.join("_functorch", "apis.py"), name)
    for name in ("vmap.<locals>.wrapped", "grad.<locals>.wrapper", "grad_and_value.<locals>.wrapper")
)
# Functions in these folders that are left alone: they make modules and fill their parameters. (What makes a
# distribution checks and normalizes tensors.)
TORCH_NAMES_LEFT_ALONE = ("<module>", "__init__", "reset_", "_reset_")
#: files whose code behaves differently under a compiler: another fast path, no hooks after an exception
_ASKS_FOR_COMPILERS = tuple(
    _TORCH + os.path.join("nn", "modules", name) for name in ("transformer.py", "module.py")
)
#: packages that do: locks of others are not looked at, with a warning
_PACKAGES_ASK_FOR_COMPILERS = frozenset({"tensordict"})
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
# Standard library modules whose functions are not inlined, because they act outside the program.
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
# Submodules of these that are inlined: the assertions of a test case are plain Python.
INLINED_STDLIB = frozenset(["unittest.case", "unittest.util"])
NOT_INLINED_TORCH = (
    "torch._dynamo", "torch._inductor", "torch._functorch", "torch.jit", "torch.utils.data",
    "torch.distributed", "torch.multiprocessing", "torch.fx", "torch._subclasses", "torch.autograd.graph",
    "torch.autograd.function", "torch.serialization", "torch.hub", "torch.onnx", "torch._tensor_str",
    "torch._compile", "torch.profiler", "torch._ops", "torch._library", "torch.random", "torch._tensor",
    "torch.utils.checkpoint", "torch.autograd", "torch.optim.lr_scheduler", "torch.optim.swa_utils",
)  # fmt: skip
INLINED_TORCH = ("torch.autograd.grad_mode",)
#: functions of these modules that are plain Python and inlined: (module, name)
INLINED_FUNCTIONS = frozenset(
    [
        ("torch.autograd.graph", "disable_saved_tensors_hooks"),
        ("torch._dynamo._trace_wrapped_higher_order_op", "TransformGetItemToIndex.__torch_function__"),
        ("torch.fx.graph_module", "GraphModule.recompile.<locals>.call_wrapped"),
        ("torch.fx.graph_module", "_WrappedCall.__call__"),
        ("torch.fx._symbolic_trace", "is_fx_symbolic_tracing"),
        ("torch.fx._symbolic_trace", "is_fx_tracing"),
        ("torch.fx.traceback", "annotate"),
        ("torch.fx.traceback", "annotate_fn"),
        ("torch.jit", "annotate"),
        ("torch.jit._script", "_unwrap_optional"),
        ("warnings", "catch_warnings.__init__"),
        ("warnings", "catch_warnings.__enter__"),
        ("warnings", "catch_warnings.__exit__"),
        ("warnings", "filterwarnings"),
        ("warnings", "simplefilter"),
        ("warnings", "_add_filter"),
    ]
)


#: File names of generated code that is left alone. Other code that is made at run time (exec, notebooks) is
#: the user's. "<eval_with_key>" is a graph of torch.fx: a backend runs it and may generate it again, so the
#: capture of its frames would never end.
GENERATED = ("<frozen ", "<__array_function__ internals>", "<eval_with_key>")
_requested: CodeTable[bool] = CodeTable()


def request(function: object) -> CodeType | None:
    """Note that the user asked to capture this function, method or module, whatever file it comes from.

    Returns its code object, if it has one.
    """
    if isinstance(function, torch.nn.Module):
        function = type(function).forward
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if not isinstance(code, CodeType):
        return None
    _requested[code] = True
    return code


def why_not_captured(code: CodeType) -> str | None:
    """A reason to run frames of this code object in the default evaluator, or None."""
    if reads_frame(code):
        return "it may read its own local variables"
    if resume.is_orphan(code):
        return "the function that it resumes is gone"
    return None if code in _requested else _why_not_from_there(code)


def names_are_plain(globals_: Mapping[str, Any], builtins: Mapping[str, Any]) -> bool:
    """Whether a global name is an entry of a dict. A subclass may say what it is, each time anew."""
    return type(globals_) is dict and type(builtins) is dict


def makes_distributions(code: CodeType) -> bool:
    """Whether it is code of torch's distributions: what makes one checks and normalizes tensors."""
    return code.co_filename.startswith(_DISTRIBUTIONS)


@cached(maxsize=8192)
def _why_not_from_there(code: CodeType) -> str | None:
    path = code.co_filename
    if path.startswith(GENERATED):
        return "generated code"
    if path.startswith(OUR_PACKAGES):
        return PART_OF_CAPTURE
    if path.startswith(_TORCH):
        if (path, code.co_qualname) in TORCH_FUNCTIONS_CAPTURED:
            return None
        captured = path.startswith(TORCH_CAPTURED) and path not in TORCH_LEFT_ALONE
        makes_modules = not makes_distributions(code) and code.co_name.startswith(TORCH_NAMES_LEFT_ALONE)
        return None if captured and not makes_modules else "part of torch"
    if path.startswith(_STDLIB) and os.sep + "site-packages" + os.sep not in path:
        return "standard library"
    if _package_of(path) in TOOLS:
        return "a tool around the program"
    if is_top_level(code):
        return "module level"
    if code.co_name.startswith("<") and code.co_name not in ("<lambda>", "<module>"):
        return "comprehension or generator expression"
    return None


#: What the names of files begin with, and whether their functions are the program's: else they are ours, or
#: what we call, such as the constructors of named tuples ("<string>"). The first that fits counts.
FILE_OWNERS = (
    *((path, False) for path in (*OUR_PACKAGES, _TORCH, _LLVMLITE, *GENERATED, "<string>")),
    (_STDLIB + "site-packages" + os.sep, True),
    (_STDLIB, False),
)
#: names of the code objects of comprehensions and generator expressions
COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
#: builtins with which a function reads its own frame: the default evaluator must run such a frame
READS_FRAME = frozenset(("eval", "exec"))
#: the same for attributes and imported functions
READS_FRAMES = frozenset(("_getframe", "currentframe"))
#: builtins that return the variables of the frame if they get no arguments
ASKS_FOR_LOCALS = frozenset(("locals", "vars", "dir"))


@cached(maxsize=8192)
def reads_frame(code: CodeType) -> bool:
    """Whether a frame of this code may read its own variables, or those of its callers, through its frame."""
    names = set(code.co_names)
    if names & READS_FRAMES:
        return True
    # The names alone don't decide: `model.eval()` is no call of the builtin.
    return bool(names & READS_FRAME) and not READS_FRAME.isdisjoint(dialect.names_loaded(code))


def reads_other_locals(code: CodeType) -> bool:
    """Whether a function of this code may read the variables of its callers.

    A resume function has other variables than the original.
    """
    return "f_locals" in code.co_names


#: what a tensor of compiled code may have another answer for: its base, its version, its object in C++
OF_EAGER_TENSORS = frozenset(("_base", "_is_view", "_version", "_cdata"))


def reads_eager_tensors(code: CodeType) -> bool:
    """Whether a frame of this code may read, behind a break, what only eager's own tensors have."""
    return not OF_EAGER_TENSORS.isdisjoint(code.co_names)


@cached(maxsize=8192)
def asks_for_locals(code: CodeType) -> bool:
    """Whether a frame of this code may read its own variables: then it can't be cut by a graph break."""
    if not ASKS_FOR_LOCALS.intersection(code.co_names):
        return False
    return any(
        step.name in dialect.LOADS_NAME
        and step.value in ASKS_FOR_LOCALS
        and (step.value == "locals" or dialect.begins_call_without_arguments(following))
        for step, following in itertools.pairwise(decode(code).instructions)
    )


def may_go_on_elsewhere(code: CodeType) -> bool:
    """Whether a frame of this code may end in another frame: it is the program's, and reads no frame."""
    return origin_of(code.co_filename) == "program" and not (asks_for_locals(code) or reads_frame(code))


def why_not_now() -> str | None:
    """A reason in the state of the thread to run every frame in the default evaluator, or None."""
    followed = other_tracers.why_followed()
    if followed is not None:
        return followed
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a torch.func transform is active: it wraps the tensors"
    if torch._C._len_torch_dispatch_stack() or not function_modes.are_followed():
        return "a mode sees each operation of torch"
    if torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.Python):
        return "_DisableTorchDispatch is active: fake tensors don't work under it"
    if forward_ad._current_level >= 0:
        return "forward-mode differentiation is active: no graph computes the tangents of tensors"
    if methods_are_replaced():
        return "a method of torch.Tensor is not torch's own"
    if saves_through_hooks():
        return "hooks see the tensors that autograd saves, and may count them (checkpoint)"
    return None


_torch_compile = torch._C._dynamo.eval_frame  # in C: this does not import torch's Python compiler


def hide_from_torch_compile(code: CodeType) -> None:
    """torch.compile skips frames of this code. It still captures the frames that they call."""
    action = _torch_compile._FrameAction
    _torch_compile.set_code_exec_strategy(
        code, _torch_compile._FrameExecStrategy(action.SKIP, action.DEFAULT)
    )


def saves_through_hooks() -> bool:
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


def gives_compilers_other_values(code: CodeType) -> bool:
    """Whether the results of this code of a library depend on `torch.compiler.is_compiling()`.

    The answer must then be the answer of eager.
    """
    path = code.co_filename
    return path in _ASKS_FOR_COMPILERS or _package_of(path) in _PACKAGES_ASK_FOR_COMPILERS


def is_whole_or_nothing(code: CodeType) -> bool:
    """Whether parts of this code are no good graphs: the loops of an optimizer over its parameters."""
    return code.co_filename.startswith(_OPTIMIZERS)


def _package_of(path: str) -> str | None:
    """Name of the package in site-packages that a file belongs to."""
    parts = path.split(os.sep)
    for index, part in enumerate(parts):
        if part == "site-packages" and index + 1 < len(parts):
            return parts[index + 1].removesuffix(".py")
    return None


@cached(maxsize=1024)
def is_of_the_program(code: CodeType) -> bool:
    """Whether the code comes neither from an installed package nor from the standard library."""
    path = code.co_filename
    in_package = _package_of(path) is not None or path.startswith((_TORCH, *OUR_PACKAGES))
    return not in_package and not path.startswith((_STDLIB, *GENERATED))


@functools.lru_cache(maxsize=1024)
def origin_of(path: str) -> str:
    """Where a file belongs, for the rules of this module: the same in each process. Of torch's files the
    name counts, of those of other packages only the package.
    """
    if path.startswith(GENERATED):
        return f"generated {path}"
    if path.startswith(_TORCH):
        return f"torch {path.removeprefix(_TORCH)}"
    if path.startswith(OUR_PACKAGES):
        return "capture"
    package = _package_of(path)
    if package is not None:
        return f"package {package}"
    return "standard library" if path.startswith(_STDLIB) else "program"


def _is_for_graphs(module: str) -> bool:
    """Whether the functions of one of our modules belong into graphs: polyfills
    (`capture.variables.<family>.polyfills`, `..._polyfills`), and what imported graphs call.
    """
    polyfills = module.startswith("capture.variables.") and module.endswith("polyfills")
    return polyfills or module.startswith("capture.graphdef.functions.")


@functools.lru_cache(maxsize=8192)
def _why_not_inlined(module: str, path: str) -> str | None:
    top = module.split(".")[0]
    if top in NOT_INLINED_MODULES and module not in INLINED_STDLIB and path.startswith(_STDLIB):
        return f"part of {top}"
    if module.startswith(NOT_INLINED_TORCH) and not module.startswith(INLINED_TORCH):
        return f"part of {module}"
    if path.startswith(OUR_PACKAGES) and not _is_for_graphs(module):
        return PART_OF_CAPTURE
    if _package_of(path) in TOOLS:
        return f"part of {_package_of(path)}"
    return None


def is_plain_python(function: FunctionType) -> bool:
    """Whether it is one of the plain helpers in the modules of torch that are left alone."""
    return (function.__module__, function.__qualname__) in INLINED_FUNCTIONS


def why_not_inlined(function: FunctionType) -> str | None:
    """A reason to leave a call of this function to Python, or None."""
    scope: Any = function  # types of Python 3.11 do not all know `__builtins__`
    if not names_are_plain(scope.__globals__, scope.__builtins__):
        return NAMES_OF_A_CLASS
    if is_plain_python(function):
        return None
    return _why_not_inlined(function.__module__ or "", function.__code__.co_filename)
