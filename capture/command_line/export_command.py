"""python -m capture export MODULE:FUNCTION|SCRIPT.py:NAME [--args EXPRESSIONS] -o FOLDER

In:  a function or module of a file or package, expressions of its arguments.
Out: a folder with its native code (`capture.export`).

    python -m capture export model.py:net --args "torch.randn(1, 64)" -o build/net --target aarch64
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from typing import Annotated, Any

import typer

from capture.command_line.explain_command import arguments_of, find
from capture.exporting.export import BLAS, PARAMETERS
from capture.exporting.export import export as exported
from capture.report.errors import UsageError, did_you_mean


def export(
    target: Annotated[str, typer.Argument(help="MODULE:FUNCTION or SCRIPT.py:NAME; names may have dots")],
    output: Annotated[str, typer.Option("-o", "--output", help="the new folder")],
    args: Annotated[str, typer.Option(help="Python expressions, with the names of MODULE and torch")] = "",
    name: Annotated[str | None, typer.Option(help="of the function in C")] = None,
    machine: Annotated[str | None, typer.Option("--target", help="x86-64, aarch64, ... or a triple")] = None,
    cpu: Annotated[str | None, typer.Option(help="a processor of the target")] = None,
    features: Annotated[str, typer.Option(help="of the processor: +neon,-vfp4")] = "",
    parameters: Annotated[str, typer.Option(help=f"where they are: {' or '.join(PARAMETERS)}")] = "inside",
    blas: Annotated[str, typer.Option(help=f"for matrix products: {' or '.join(BLAS)}")] = "generated",
    dynamic_sizes: Annotated[
        str, typer.Option(help="sizes that the caller chooses, as in Python: {'x': {0: 'batch'}}")
    ] = "{}",
) -> None:
    """Write native code of one call: an object file, a C header, an example in C."""
    function, names = _find(target)
    made = exported(
        function,
        arguments_of(args, names),
        name=name,
        target=machine,
        cpu=cpu,
        features=features,
        parameters=parameters,
        blas=blas,
        dynamic_sizes=_literal(dynamic_sizes),
    )
    made.save(output)
    print(f"{output}: {', '.join(sorted(os.listdir(output)))}")


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        raise UsageError(f"--dynamic-sizes is {text}: write it as {{'x': {{0: 'batch'}}}}") from None


def _find(target: str) -> tuple[Any, dict[str, Any]]:
    path, _, name = target.rpartition(":")
    if not path.endswith(".py"):
        return find(target)
    if not os.path.isfile(path):
        raise UsageError(f"there is no file {path!r}")
    module_name = os.path.basename(path).removesuffix(".py")
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None, "a file that ends in .py has a loader"
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise UsageError(f"{path} has no {name!r}: {did_you_mean(part, dir(value))}")
        value = getattr(value, part)
    return value, vars(module)
