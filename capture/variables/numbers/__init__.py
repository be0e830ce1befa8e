"""In:  numbers that are not known while a frame is translated.
Out: symbols, floats of the graph, random draws.
"""
