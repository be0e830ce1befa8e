"""A backend of one's own: it gets the captured graph, changes it, and hands it on to native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.fx

import capture


@capture.backends.register("without_dropout")
def without_dropout(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    """Takes each dropout out of the graph; what is left is compiled as usual."""
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and node.target is torch.nn.functional.dropout:
            print("removed:", node.name)
            node.replace_all_uses_with(node.args[0])
            gm.graph.erase_node(node)
    gm.recompile()
    return capture.backends.lookup("llvm")(gm, example_inputs)


def main() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.ReLU())
    x = torch.randn(2, 4)
    fast = capture.compile(model, backend="without_dropout")
    torch.testing.assert_close(fast(x), model[2](model[0](x)))
    print("without dropout, also in training mode")


if __name__ == "__main__":
    main()
