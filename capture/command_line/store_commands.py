"""python -m capture cache info | verify | clear | pack FILE | unpack FILE

In:  a command.
Out: one line that says what was done. The exit status is 1 where it could not be done, or damage was found.
"""

from __future__ import annotations

from typing import Annotated

import typer

from capture import store

app = typer.Typer(help="What is kept on disk for the next process.", no_args_is_help=True)
File = Annotated[str, typer.Argument(help="a file")]


@app.command()
def info() -> None:
    """How much is kept."""
    print(", ".join(f"{number} {name}" for name, number in store.info().items()) or "nothing")


@app.command()
def verify() -> None:
    """Read everything; what is damaged, or what others could have written, is removed."""
    found = store.verify()
    print(f"{found['good']} good, {found['damaged']} damaged")
    raise typer.Exit(1 if found["damaged"] else 0)


@app.command()
def clear() -> None:
    """Remove everything."""
    store.clear()
    print("removed")


@app.command()
def pack(file: File) -> None:
    """Write everything to one file."""
    print(f"{store.pack(file)} objects packed")


@app.command()
def unpack(file: File) -> None:
    """Add what such a file has; only files of people you trust."""
    print(f"{store.unpack(file)} objects unpacked")
