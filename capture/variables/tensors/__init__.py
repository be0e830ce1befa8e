"""In:  tensors and NumPy arrays.
Out: nodes of the graph.
"""
