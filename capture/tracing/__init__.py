"""In:   The stream of events (`capture.report.observe`).
Out:  Trace files, one for each process, and what is made of them.
"""
