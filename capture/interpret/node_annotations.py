"""The entries of `torch.fx.traceback.annotate({...})` for the nodes of the graph.

In:  the frame whose instruction runs.
Out: the entries that are in force, for `node.meta["custom"]`.

While the context manager is open, it keeps its entries in a dict of torch's module. If the frame opens the
manager, the interpreter follows its code, and the variable of the dict has the entries. If a caller opened
it, the real dict has them. The entries say nothing about values, so they need no guards.

    with annotate({"part": 1}): y = x + 1    ->    add, meta["custom"] = {"part": 1}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.fx import traceback

from capture.variables.core.base import NotConstant

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def current(tx: Interpreter) -> dict[str, Any] | None:
    meta = tx.output.objects.known_dict(traceback.current_meta)
    if meta is None:
        custom = traceback.current_meta.get("custom")
        return dict(custom) if custom is not None else None
    followed = meta.find_named(tx, "custom")
    if not isinstance(followed, type(meta)):
        return None
    try:
        return {key.as_constant(): value.as_constant() for key, value in followed.items(tx)}
    except NotConstant:  # the entries exist only at run time
        return None
