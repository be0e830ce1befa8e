"""In:   Iterators and generators.
Out:  Variables that return one item at a time.
"""
