"""In:   A frame that the hook has not seen before (`_capture.Frame`).
Out:  An `Entry` that runs in its place. None: Python runs the frame.
"""
