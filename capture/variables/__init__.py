"""In:   A Python value and the place it comes from.
Out:  A `Variable`: what the interpreter knows of the value. One folder for each family.
"""
