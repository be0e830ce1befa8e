"""In:   Classes, their instances, modules of Python.
Out:  Attribute look-up and calls as Python does them.
"""
