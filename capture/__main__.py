"""python -m capture: see docs/command_line.md, and `python -m capture --help`.

In:  the arguments of the command.
Out: the exit status.
"""

from __future__ import annotations

import sys

NEEDS = "python -m capture needs typer and rich: pip install 'capture-runtime[cli]'"


def main(arguments: list[str] | None = None) -> int:
    """Run a command. What a program that it runs raises passes through."""
    try:
        from capture.command_line.app import run_command  # lazy: typer is an extra
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        print(NEEDS, file=sys.stderr)
        return 1
    return run_command(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
