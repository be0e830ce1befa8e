"""Fake tensors: tensors without data.

In:  operators on tensors without data.
Out: the layouts of their results.
"""
