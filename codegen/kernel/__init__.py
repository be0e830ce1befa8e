"""In:  nothing: this is the language that the other layers speak.
Out: loop IR, Programs, index algebra, printers and checks of them.
"""
