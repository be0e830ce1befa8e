"""In:   A place of the frame and the value that was found there.
Out:  Guards, one class for each kind: what it costs, how it is made, checked, encoded and described.
"""
