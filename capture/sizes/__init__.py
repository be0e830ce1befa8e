"""In:   Sizes and numbers that may change from call to call.
Out:  Symbols, their guards, and the checks of symbols in the graph.
"""
