"""python -m capture cache info | verify | clear | pack FILE | unpack FILE

In:  a command.
Out: one line that says what was done. The exit status is 1 where it could not be done, or damage was found.
"""

from __future__ import annotations

import argparse
import sys

from capture import store
from capture.report.errors import CaptureError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m capture", description="Captures PyTorch programs.")
    groups = parser.add_subparsers(dest="group", required=True)
    cache = groups.add_parser("cache", help="what is kept on disk for the next process")
    commands = cache.add_subparsers(dest="command", required=True)
    for name, help_text in {
        "info": "how much is kept",
        "verify": "read everything; what is damaged is removed",
        "clear": "remove everything",
        "pack": "write everything to one file",
        "unpack": "add what such a file has; only files of people you trust",
    }.items():
        command = commands.add_parser(name, help=help_text)
        if name in ("pack", "unpack"):
            command.add_argument("file")
    given = parser.parse_args(arguments)
    try:
        return RUN[given.command](given)
    except (CaptureError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


def _info(_: argparse.Namespace) -> int:
    print(", ".join(f"{number} {name}" for name, number in store.info().items()) or "nothing")
    return 0


def _verify(_: argparse.Namespace) -> int:
    found = store.verify()
    print(f"{found['good']} good, {found['damaged']} damaged")
    return 1 if found["damaged"] else 0


def _clear(_: argparse.Namespace) -> int:
    store.clear()
    print("removed")
    return 0


def _pack(given: argparse.Namespace) -> int:
    print(f"{store.pack(given.file)} objects packed")
    return 0


def _unpack(given: argparse.Namespace) -> int:
    print(f"{store.unpack(given.file)} objects unpacked")
    return 0


RUN = {"info": _info, "verify": _verify, "clear": _clear, "pack": _pack, "unpack": _unpack}


if __name__ == "__main__":
    sys.exit(main())
