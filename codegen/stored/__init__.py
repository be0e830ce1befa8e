"""Compiled graphs as data: a second process compiles nothing of what an earlier one has compiled.

In:  a captured graph and its inputs, and a store (`cache.store.KernelStore`).
Out: `compile_graph(gm, inputs, store=store)`: what `compile_fx` gives. Where the store has the graph, nothing
     is traced, lowered or compiled; the callable is made from data.

    compile_graph(gm, inputs, store=store)     first process: compile_fx, then put
    compile_graph(gm, inputs, store=store)     second process: found by the digest of the graph
    key_of(compiled)                           the key under which the store has it, or None
    restore(key, store)                        the same callable from the key alone, or None

`codegen/stored/compile_graph.py` has these three. What the data are made of:

- `captured.py`: what decides the result of a compilation (the graph, its inputs, the state of the process,
  versions). Its digest is the key. None: such a graph is not stored, which is always allowed.
- `state.py`, `inputs.py`, `modules.py`, `names.py`: its four parts, each as plain data.
- `graphs.py`, `plans.py`, `training.py`: the compiled graph as plain data, and back.
- `layouts.py`, `examples.py`, `sizes.py`: graphs that are compiled for all sizes at once.
- `floats.py`: graphs that are compiled for each value of a float.
- `values.py`, `container.py`: plain data as bytes. Reading executes nothing; machine code is linked only.

A damaged or foreign file raises `Malformed` (`values.py`) in `from_data`, and is a miss for the others. Rare
requests (a failed check, gradients of gradients, gradients that are missing) need the graph itself: it is
made anew from the data when they come.
"""
