"""Whole programs under `with capture.enable():`, measured from their first step on.

In:  `python -m benchmarks.programs [NAME ...]`.
Out: for each program: what the first steps cost, the settled ratio to eager, the step from which on it has
     paid; cold and with a filled store.

A program is a function of this package that is written as people write scripts: it builds a model, loops over
data and calls `tick(loss)` behind each step. Nothing in it knows of capture.
"""
