"""In:  a group.
Out: a draft: the statements of the group before its loops are arranged.
"""
