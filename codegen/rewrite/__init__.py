"""In:  an ATen operator.
Out: simpler operators with the same result.
"""
