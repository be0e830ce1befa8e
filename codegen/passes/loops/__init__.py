"""In:   A draft.
Out:  Loop IR.
"""
