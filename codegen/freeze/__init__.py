"""Freezing: parameters become constants.

In:  a graph whose parameters do not change.
Out: the graph with constants computed and weights packed.
"""
