"""In:   Kernels and calls.
Out:  The steps of a Program in an order that keeps all reads right.
"""
