"""In:   A graph with symbolic sizes.
Out:  One compilation that serves all sizes.
"""
