"""In:  a node of a GraphDef.
Out: calls of torch, by the rule of its operator; a file for each family.
"""
