"""In:   Tensors and NumPy arrays.
Out:  Nodes of the graph.
"""
