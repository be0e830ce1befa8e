"""In:   A frame that the hook has not seen before (`_capture.Frame`).
Out:  An `Entry` to run in its place, or None: the frame stays with Python.
"""
