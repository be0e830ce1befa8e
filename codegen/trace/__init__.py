"""Tracing: torch calls become ATen operators.

In:  a module of torch calls.
Out: a functional graph of ATen operators.
"""
