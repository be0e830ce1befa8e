"""In:   A module of torch calls.
Out:  A functional graph of ATen operators.
"""
