"""In:  kernels and calls.
Out: the steps of a Program in an order that keeps all reads right.
"""
