"""In:  definitions.
Out: definitions: fewer copies, smaller pieces.
"""
