"""python -m capture explain MODULE:FUNCTION [--args EXPRESSIONS]

In:  a function or module of a file or package, expressions of its arguments.
Out: the report of `capture.explain`.

    python -m capture explain model:toy_example --args "torch.randn(10), torch.ones(10)"
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Annotated, Any

import torch
import typer

from capture.explain import explain as explained
from capture.report.errors import UsageError, did_you_mean


def explain(
    target: Annotated[str, typer.Argument(help="MODULE:FUNCTION; FUNCTION may have dots")],
    args: Annotated[str, typer.Option(help="Python expressions, with the names of MODULE and torch")] = "",
    backend: Annotated[str, typer.Option(help="a name of capture.backends")] = "llvm",
    fullgraph: Annotated[bool, typer.Option(help="a graph break is an error")] = False,
    dynamic: Annotated[bool | None, typer.Option(help="sizes are symbols from the start, or never")] = None,
) -> None:
    """Call a function once and tell what was captured."""
    function, names = find(target)
    given = arguments_of(args, names)
    try:
        inspect.signature(function).bind(*given)
    except TypeError as error:
        raise UsageError(f"{target}: {error}; give arguments with --args 'torch.randn(3), 2'") from None
    settings: dict[str, Any] = {"backend": backend, "fullgraph": fullgraph, "dynamic": dynamic}
    print(explained(function, **settings)(*given))


def find(target: str) -> tuple[Any, dict[str, Any]]:
    """What a name like `package.module:Class.method` means, and the names of its module."""
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise UsageError(f"write MODULE:FUNCTION, such as model:forward, not {target!r}")
    if module_name.endswith(".py"):
        raise UsageError(f"write {module_name.removesuffix('.py').replace(os.sep, '.')}:{path}: no file")
    sys.path[0] = os.getcwd()
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise UsageError(f"no module is named {module_name!r} in {os.getcwd()} or on sys.path") from None
    value: Any = module
    for name in path.split("."):
        if not hasattr(value, name):
            raise UsageError(f"{module_name} has no {path!r}: {did_you_mean(name, dir(value))}")
        value = getattr(value, name)
    return value, vars(module)


def arguments_of(text: str, names: dict[str, Any]) -> tuple[Any, ...]:
    if not text.strip():
        return ()
    try:
        return eval(f"({text},)", {"torch": torch, **names})
    except Exception as error:  # an expression may raise anything
        raise UsageError(f"--args {text!r} raised {type(error).__name__}: {error}") from None
