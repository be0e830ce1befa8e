"""`logging.getLogger` without its lock: a logger that is there stays the one of its name.

In:  the name of a logger.
Out: the logger. Python makes a new one, behind a graph break.
"""

from __future__ import annotations

import logging
from typing import Any


def get_logger(name: Any = None) -> Any:
    if not name or (isinstance(name, str) and name == logging.root.name):
        return logging.root
    manager = logging.Logger.manager
    known = manager.loggerDict.get(name) if type(name) is str else None
    return known if isinstance(known, logging.Logger) else manager.getLogger(name)
