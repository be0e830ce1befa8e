"""Operators and functions that are rewritten as simpler ones.

In:  an ATen operator, or a function of torch.
Out: simpler operators with the same result.
"""
