"""In:  a graph of torch calls.
Out: the same graph in terms of torch's primitives, as an `fx.GraphModule`.
"""
