"""In:   A code object and the values with which it starts.
Out:  An `OutputGraph`: the torch operations as an fx graph, the guards, the side effects.
"""
