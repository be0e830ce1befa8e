"""In:  kernels and operator calls.
Out: the steps of a Program, in an order that keeps all reads correct.
"""
