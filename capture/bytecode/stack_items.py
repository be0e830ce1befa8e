"""Kinds of stack items, as a resume function has to put them back.

In:  what lies on the stack at a break.
Out: one word for each item.

    NULL, print, 3     ->     ("null", "value", "value")
"""

VALUE = "value"  # any object
NULL = "null"  # the empty place of CPython's calling convention
HANDLED = "handled"  # what the interpreter saved when it entered an `except` block
METHOD = "method "  # + name: a bound method of a built-in object, taken from the object again
