"""load: an exported function as a callable.

In:  a folder that `Exported.save` has written.
Out: `cache.exported.Loaded`. ExportError where the folder can't be used.

    f = capture.load("build/model");  f(x)

`from cache.exported import load` gives the same without importing all of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.report.arguments import checked_arguments
from capture.report.errors import ExportError

if TYPE_CHECKING:
    from cache.exported import Loaded


@checked_arguments
def load(folder: str) -> Loaded:
    """The function of a folder, to be called with tensors like those of the export.

    Errors: ExportError where a file is missing, damaged or foreign, where others could have written it, or
    where the code is for another machine.
    """
    from cache import exported  # lazy: import time

    try:
        return exported.load(folder)
    except exported.LoadError as error:
        raise ExportError(str(error)) from None
