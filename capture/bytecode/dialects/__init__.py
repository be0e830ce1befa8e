"""The Python code that depends on CPython's version: one file for each version.

In:  the version of the running interpreter.
Out: `dialect`, the module of that version. Its `Assembler` writes instructions; its tables and functions
     classify the instructions of existing code.

A new version is a new file. Its `Assembler` may be a subclass of the version before, and its tables are
changed copies. `tests/capture/bytecode/test_dialects.py` lists the names that a dialect must have.
"""

import sys

if sys.version_info[:2] == (3, 11):
    from capture.bytecode.dialects import py311 as dialect
else:
    raise ImportError(
        f"capture supports the bytecode of Python 3.11, and this is Python {sys.version_info[0]}."
        f"{sys.version_info[1]}: add a file to capture/bytecode/dialects"
    )

Assembler = dialect.Assembler
