"""In:   The state of the thread and of the process.
Out:  The same state, restored after each change and after each error.
"""
