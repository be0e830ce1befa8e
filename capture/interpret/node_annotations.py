"""`torch.fx.traceback.annotate({...})` around operations: its entries go to their `node.meta["custom"]`.

The manager keeps the entries in a dict of torch's module for as long as it is open. Its code is followed like
any other where the frame opens it; one that was open before is in the real dict. They say nothing about
values, so nothing is guarded for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.fx import traceback

from capture.variables.containers.mapping import DictVariable
from capture.variables.core.base import NotConstant

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def current(tx: Interpreter) -> dict[str, Any] | None:
    meta = tx.output.objects.known(traceback.current_meta)
    if not isinstance(meta, DictVariable):
        custom = traceback.current_meta.get("custom")
        return dict(custom) if custom is not None else None
    followed = meta.find_named(tx, "custom")
    if not isinstance(followed, DictVariable):
        return None
    try:
        return {key.as_constant(): value.as_constant() for key, value in followed.items(tx)}
    except NotConstant:  # entries that only the run makes
        return None
