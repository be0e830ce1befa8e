"""Symbolic sizes: one compilation for all sizes.

In:  a graph with symbolic sizes.
Out: one compilation that serves all sizes.
"""
