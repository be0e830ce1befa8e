"""In:   Operators on tensors without data.
Out:  What their results look like.
"""
