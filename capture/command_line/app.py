"""The commands of `python -m capture`.

In:  arguments.
Out: the exit status: 0; 1 where the command failed; 2 for wrong arguments.

    run_command(["run", "--backend", "eager", "train.py", "--epochs", "3"])     ->     runs train.py
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from capture.command_line import (
    doctor_command,
    explain_command,
    export_command,
    report_command,
    store_commands,
)
from capture.command_line.program import Program
from capture.report.errors import CaptureError, UsageError

app = typer.Typer(
    help="Captures PyTorch programs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(store_commands.app, name="cache")


def run_command(arguments: list[str]) -> int:
    """Run the command. A program runs after its arguments are read: nothing of typer is below it."""
    try:
        outcome = app(arguments, prog_name="python -m capture", standalone_mode=False)
    except CaptureError as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except OSError as error:  # of a file that the user has named, in most cases
        print(f"{error.filename}: {error.strerror}" if error.filename else error, file=sys.stderr)
        return 1
    except typer.Abort:
        return 1
    except Exception as error:
        if not hasattr(error, "show"):  # typer's own errors of arguments show themselves
            raise
        error.show()
        return int(getattr(error, "exit_code", 2))
    if isinstance(outcome, Program):
        return outcome.run()
    return int(outcome or 0)


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
def run(
    script: Annotated[str, typer.Argument(help="a file; with -m the name of a module")],
    arguments: Annotated[list[str] | None, typer.Argument(help="of the script")] = None,
    module: Annotated[bool, typer.Option("-m", help="SCRIPT is a module, as in `python -m`")] = False,
    backend: Annotated[str, typer.Option(help="a name of capture.backends")] = "llvm",
    fullgraph: Annotated[bool, typer.Option(help="a graph break is an error")] = False,
    dynamic: Annotated[bool | None, typer.Option(help="sizes are symbols from the start, or never")] = None,
    check: Annotated[bool, typer.Option(help="compare each new graph with eager and float64")] = False,
    report: Annotated[str | None, typer.Option(help="write a report of the run to this folder")] = None,
) -> Any:
    """Run a program with capture.enable() around it.

    sys.argv, exit status, tracebacks and __main__ are those of `python SCRIPT`.
    """
    settings = {"backend": backend, "fullgraph": fullgraph, "dynamic": dynamic}
    return Program(script, arguments or [], settings, is_module=module, check=check, trace_to=report)


app.command("explain")(explain_command.explain)
app.command("export")(export_command.export)
app.command("report")(report_command.report)
app.command("doctor")(doctor_command.doctor)
