"""In:   Nothing: this is the language that the other layers speak.
Out:  Loop IR, Programs, index algebra, printers and checks of them.
"""
