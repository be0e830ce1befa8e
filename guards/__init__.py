"""In:   Places of a frame and the values that were found there while a frame was captured.
Out:  Guard programs that decide in C whether a later call may use the same capture.
"""
