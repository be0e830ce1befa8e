"""What the emitter raises.

In:  loop IR.
Out: `EmitError` where the IR has no meaning as machine code: a defect of what built it, never of the user's
     program.
"""


class EmitError(ValueError):
    """Loop IR that has no meaning as machine code; the text names the buffer, accumulator or axis."""
