"""The handlers of the bytecode instructions, one file for each family.

In:  `handler_of(name)(tx, instruction)` (`registry.py`).
Out: changes of `tx`: its stack, its locals, its position, the graph.

Each instruction of the running Python version either has a handler, or is in the dialect's `UNSUPPORTED` with
the reason for its graph break.
"""
