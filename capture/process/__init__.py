"""In:   The state of the thread and of the process.
Out:  The state as it was, whatever happens meanwhile.
"""
