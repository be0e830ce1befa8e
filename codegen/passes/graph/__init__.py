"""In:  definitions.
Out: definitions with fewer copies and smaller pieces.
"""
