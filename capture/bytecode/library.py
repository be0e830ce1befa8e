"""The library `bytecode`, which assembles code objects. It is imported when the first name is asked for.

In:  a name of the library.
Out: its class.

    library.Instr("NOP")

The import takes 8 ms. A process that runs stored graphs in place of whole frames assembles nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bytecode import BinaryOp as BinaryOp
    from bytecode import Bytecode as Bytecode
    from bytecode import CellVar as CellVar
    from bytecode import Compare as Compare
    from bytecode import FreeVar as FreeVar
    from bytecode import Instr as Instr
    from bytecode import Label as Label
    from bytecode import TryBegin as TryBegin
    from bytecode import TryEnd as TryEnd
    from bytecode.instr import InstrLocation as InstrLocation
else:

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):  # Python asks for names of its own
            raise AttributeError(name)
        from bytecode import Bytecode, instr  # lazy: import time

        found = globals()[name] = Bytecode if name == "Bytecode" else getattr(instr, name)
        return found
