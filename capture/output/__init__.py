"""In:   What the interpreter found: the graph, the values on the stack and in the locals, the side effects.
Out:  Bytecode, or a result recipe, that replaces the frame.
"""
