"""Shape rules: the layout of an operator's results.

In:  the layouts of an operator's arguments.
Out: `table.SHAPE_RULES`: the layouts of its results.
"""
