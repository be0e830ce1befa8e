"""The kinds of stack items: a resume function restores each kind in its own way.

In:  the items on the stack at a graph break.
Out: one word for each item.

    NULL, print, 3     ->     ("null", "value", "value")
"""

VALUE = "value"  # any object
NULL = "null"  # the empty place of CPython's calling convention
HANDLED = "handled"  # the state that the interpreter saves when it enters an `except` block
METHOD = "method "  # + name: a bound method of a built-in object, taken from the object again
