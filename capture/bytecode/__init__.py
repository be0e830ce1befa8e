"""In:   Code objects of CPython, or what new code shall do.
Out:  Instructions with targets and handlers, what is live at each; or new code objects. All that depends on
      CPython's version is in `dialects/`.
"""
