"""In:  a node of a graph that needs more than a torch function.
Out: functions that such nodes call, and the changes to a finished graph.
"""
