"""In:  a traced graph and what needs gradients.
Out: a forward and a backward.
"""
