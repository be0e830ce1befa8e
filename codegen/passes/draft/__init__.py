"""In:   A group.
Out:  A draft: its statements before the loops are arranged.
"""
