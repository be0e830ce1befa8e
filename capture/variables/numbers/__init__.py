"""In:   Numbers that are not known while a frame is translated.
Out:  Symbols, floats of the graph, random draws.
"""
