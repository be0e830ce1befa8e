"""In:   A function, a module or a setting.
Out:  What to do with it: capture, inline, leave to Python.
"""
