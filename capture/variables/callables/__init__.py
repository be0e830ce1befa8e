"""In:  functions, methods, partials, cached functions.
Out: calls that are inlined, folded, or nodes of the graph.
"""
