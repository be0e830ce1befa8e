"""In:  a Program and its kernels.
Out: machine code and the launch plan that runs it.
"""
