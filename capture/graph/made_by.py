"""How the value was made that a graph break needed.

In:  the node of the value.
Out: the operations that made it, each as a line of Python with its place, the last one last.

    if b.sum() < 0    ->    sum_1 = l_b_.sum(), lt = sum_1 < 0
"""

from __future__ import annotations

import torch.fx

from capture.graph.node_text import node_text
from capture.graph.program_places import PLACES
from capture.report.break_reasons import GraphBreak

MOST = 6  # operations that are shown


def made_by(signal: GraphBreak, node: torch.fx.Node) -> GraphBreak:
    """The same signal. It says how the value of this node was made."""
    found: dict[torch.fx.Node, None] = {}
    waiting = [node]
    while waiting and len(found) < MOST:
        node = waiting.pop(0)
        if node.meta.get(PLACES) and node not in found:
            found[node] = None
            waiting += node.all_input_nodes
    signal.made_by = tuple((node_text(node), node.meta[PLACES][-1]) for node in sorted(found))
    return signal
