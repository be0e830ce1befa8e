"""In:   A traced graph and what needs gradients.
Out:  A forward and a backward.
"""
