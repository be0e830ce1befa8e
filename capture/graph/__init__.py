"""In:   A node of a graph that needs more than a torch function.
Out:  Functions that such nodes call, and what is done to a finished graph.
"""
