"""In:   Two variables and an operator.
Out:  The variable of the result, or the error that Python raises.
"""
