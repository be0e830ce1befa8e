"""In:   The results of the interpreter: the graph, the stack, the locals, the side effects.
Out:  Bytecode that replaces the frame, or a result recipe.
"""
