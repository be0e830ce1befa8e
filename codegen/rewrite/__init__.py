"""In:   An ATen operator.
Out:  Simpler operators with the same result.
"""
