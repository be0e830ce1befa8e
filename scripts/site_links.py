"""A hook of mkdocs: links from a page to files outside of docs/ become plain text.

In:  the markdown of a page, with links such as [convert.py](../capture/frame/convert.py).
Out: the same with the link's text alone; the repository's own view of the page keeps the links.
"""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    return OUTSIDE.sub(r"\1", markdown)
