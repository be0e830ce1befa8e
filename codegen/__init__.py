"""fx graph -> native code. Knows nothing of frames, guards or the code cache.

from codegen import compile_fx
f = compile_fx(gm, [x, y]);  f(x, y)  ->  (tensor, ...)
"""

from __future__ import annotations

from codegen.compile_fx import compile_fx

__all__ = ["compile_fx"]
