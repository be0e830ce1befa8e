"""In:   Definitions.
Out:  Definitions: fewer copies, smaller pieces.
"""
