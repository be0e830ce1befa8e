"""In:   An object.
Out:  What guards remember of it.
"""
