"""Gradients: the backward of a traced graph.

In:  a traced graph, and the inputs that need gradients.
Out: a forward and a backward.
"""
