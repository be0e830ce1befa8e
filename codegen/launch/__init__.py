"""In:   A Program and its kernels.
Out:  Machine code and the launch plan that runs it.
"""
