"""In:  a group.
Out: a draft: its statements before the loops are arranged.
"""
