"""fx graph -> native code. Knows nothing of frames, guards or the code cache.

from codegen.compile_fx import compile_fx
f = compile_fx(gm, [x, y]);  f(x, y)  ->  (tensor, ...)

The package itself imports nothing: a process that finds all graphs in the store needs no compiler.
"""
