"""In:   Python frames.
Out:  Calls of the converter, by the extension (PEP 523) or by `sys.settrace`.
"""
