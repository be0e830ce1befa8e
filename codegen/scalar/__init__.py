"""In:  an fx graph over scalars.
Out: a native function of numbers, with its texts.
"""
