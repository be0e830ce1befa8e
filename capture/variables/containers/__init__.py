"""In:   Lists, tuples, dicts, sets, ranges.
Out:  Their variables, and the rules of their methods.
"""
