"""In:  definitions.
Out: groups: what becomes one kernel.
"""
