"""In:   Functions, methods, partials, cached functions.
Out:  Calls: inlined, folded, or nodes of the graph.
"""
