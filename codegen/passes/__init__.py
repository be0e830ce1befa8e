"""From definitions to kernels. `pipeline.build_kernels` is the list of passes in order; each has a file of
its own.
"""
