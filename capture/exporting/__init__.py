"""In:   A function or module, arguments like those of later calls.
Out:  Its native code in files that a C program, or a later process, uses.
"""
