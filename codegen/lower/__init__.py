"""In:  a functional ATen graph.
Out: `graph.Lowering`: what is stored, each element as an expression of its index; calls of operators; views.
"""
