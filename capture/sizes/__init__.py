"""In:   Sizes and numbers that may change from call to call.
Out:  Symbols, their guards, and the checks that the graph makes of them.
"""
