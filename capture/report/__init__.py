"""In:   What happened.
Out:  Errors, logs, counters, settings.
"""
