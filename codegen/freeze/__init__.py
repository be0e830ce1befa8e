"""In:   A graph whose parameters do not change.
Out:  The graph with constants computed and weights packed.
"""
