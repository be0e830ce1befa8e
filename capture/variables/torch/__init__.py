"""In:   torch's own classes and functions: modules, transforms, contexts.
Out:  Nodes of the graph, and changes of the state of the thread.
"""
