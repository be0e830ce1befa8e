"""In:  the arguments of `python -m capture`.
Out: what the command prints, and its exit status.
"""
