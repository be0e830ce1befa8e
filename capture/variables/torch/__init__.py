"""In:  torch's own classes and functions: modules, transforms, contexts.
Out: nodes of the graph, and changes of the thread's state.
"""
