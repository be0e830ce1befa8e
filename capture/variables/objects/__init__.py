"""In:  classes, their instances, Python modules.
Out: attribute look-up and calls as Python does them.
"""
