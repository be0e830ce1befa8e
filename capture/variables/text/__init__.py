"""In:   Strings, formats, regular expressions.
Out:  Constants, or texts that contain symbolic sizes.
"""
