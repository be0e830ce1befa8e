"""In:   Any value.
Out:  The base class, constants, and the tables that the families fill.
"""
