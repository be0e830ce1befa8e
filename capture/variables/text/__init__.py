"""In:   Strings, formats, regular expressions.
Out:  Constants, or texts that depend on sizes.
"""
