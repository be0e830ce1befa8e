"""In:  what an operator's arguments look like.
Out: `table.SHAPE_RULES`: what its results look like.
"""
