"""In:   A code object and the values it starts with.
Out:  An `OutputGraph`: the torch operations as an fx graph, guards, side effects.
"""
