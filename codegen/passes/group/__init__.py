"""In:   Definitions.
Out:  Groups: what becomes one kernel.
"""
