"""In:  a functional ATen graph, after `codegen.lower` has walked it.
Out: `pipeline.lower_graph` gives a Program: kernels in loop IR, operator calls and views, in order.
"""
