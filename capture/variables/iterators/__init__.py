"""In:   Iterators and generators.
Out:  Variables that give one item at a time.
"""
