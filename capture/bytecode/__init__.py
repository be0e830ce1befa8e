"""In:   Code objects of CPython, or the actions of new code.
Out:  Instructions with targets, handlers and live names; or new code objects. Only `dialects/` depends on
      CPython's version.
"""
