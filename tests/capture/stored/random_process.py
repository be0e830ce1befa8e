"""Random worlds with the store of entries, in a process of its own. The worlds are a module of the program.

In:  on the command line: a number of worlds, and in which order their changes come.
Out: a line of JSON: the worlds that gave another answer than eager, and how many entries the store had.

    python -m tests.capture.stored.random_process 8 reversed    ->   {"wrong": [], "loaded": 31}
"""

from __future__ import annotations

import json
import operator
import sys
import types
from collections import Counter
from typing import Any

import torch

import capture
import codegen.stored.compile_graph
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.stored.test_stored_cases import operator_by_operator
from tests.random_worlds import RandomWorld
from tests.test_random_worlds import change, outcome

ORDERS: dict[str, Any] = {
    "as they are": lambda changes: [[], *changes],
    "reversed": lambda changes: [[], *changes[::-1]],
}


def world_of(random_world: RandomWorld, torch_break: Any) -> dict[str, Any]:
    """Its functions and classes have a place, as those of a program have: the store takes their entries."""
    module = types.ModuleType("random_world")
    sys.modules[module.__name__] = module
    names = vars(module)
    names.update(torch_break=torch_break, operator=operator, x_shape=3, x_grad=False, grad=True)
    for text in (random_world.definitions, random_world.source):
        exec(compile(text, "<random world>", "exec"), names)
    names["x_dtype"] = torch.float32
    return names


def answers(function: Any, world: dict[str, Any], rounds: list[list[str]]) -> list[str]:
    found = []
    for changes in rounds:
        changed = [change(text, world) is None for text in changes]
        found.append(repr((changed, outcome(function, world))))
    return found


def main(count: int, order: str) -> None:
    codegen.stored.compile_graph.compile_anew = operator_by_operator
    codegen.stored.compile_graph.compile_sizes_anew = lambda *_: None
    wrong, counted = [], Counter[str]()
    for seed in range(count):
        capture.reset()
        random_world = RandomWorld(seed)
        rounds = ORDERS[order](random_world.changes)
        world = world_of(random_world, lambda: None)
        expected = answers(world["f"], world, rounds)
        world = world_of(random_world, capture.graph_break)
        with config.patch(store_entries=True, when="first"):
            found = answers(capture.compile(world["f"]), world, rounds)
        counted.update(counters["entries"])
        wrong += [seed] if found != expected else []
    print(json.dumps({"wrong": wrong, "loaded": counted["loaded"], "stored": counted["stored"]}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
