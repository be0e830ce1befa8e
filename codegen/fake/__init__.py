"""In:  operators on tensors without data.
Out: what their results look like.
"""
