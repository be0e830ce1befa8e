"""In:   An object, or the state of thread and process.
Out:  What guards remember of it, as plain data that can be compared.
"""
