"""In:  a draft.
Out: loop IR.
"""
