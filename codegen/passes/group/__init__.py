"""In:  definitions.
Out: groups. Each group becomes one kernel.
"""
