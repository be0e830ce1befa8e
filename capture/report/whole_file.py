"""A file that is written whole or not at all.

In:  a path and a text.
Out: the file. Where the disk is full or the process is killed, what was there before is still there.

    write_whole("report.html", page)    ->    report.html has the page; or an OSError, and the old report.html
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_whole(path: str | os.PathLike[str], text: str) -> Path:
    """Write a file under a temporary name beside it, and rename it. A pipe or device is written to directly.

    Errors: OSError, as `open` and `write` raise it.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")
        return target
    place = Path(os.path.realpath(target))  # a link stays a link
    temporary = place.with_name(f".{place.name[:100]}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(place.stat().st_mode)
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return target
