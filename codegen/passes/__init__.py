"""In:  a functional ATen graph, walked by `codegen.lower`.
Out: `pipeline.lower_graph` -> Program: kernels in loop IR, calls of operators, views, in an order to run.
"""
