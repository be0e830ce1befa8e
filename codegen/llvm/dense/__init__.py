"""In:  the form of a matrix product or of a convolution (`forms`), a `target.Target`.
Out: LLVM functions that compute it and call no library; the bytes of memory that they need.
"""
