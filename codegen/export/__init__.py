"""In:   A Program; a machine.
Out:  Its object code, LLVM text and assembly, a C header, an example in C: what leaves the process.
"""
