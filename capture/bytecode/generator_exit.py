"""Whether a generator does anything when it is let go of.

In:  the decoded code, the instruction it is suspended at, and what the names of its except clauses mean.
Out: `ignores_exit(...)`: True where GeneratorExit, raised there, leaves the frame without running any code
     but the tests of except clauses.

    try: yield self[i]                     try: yield 1
    except IndexError: return    -> True   finally: close()    -> False
"""

from __future__ import annotations

from collections.abc import Callable

from capture.bytecode.instructions import Decoded

CLASS_LOADS = ("LOAD_GLOBAL", "BUILD_TUPLE")
CLEANUP = ("COPY", "POP_EXCEPT")  # of an except clause that is left by an exception
FORGETTING = ("STORE_FAST", "DELETE_FAST")  # behind a None: the name of `except E as name` is deleted


def ignores_exit(code: Decoded, index: int, meaning: Callable[[str], object]) -> bool:
    handler = code.handlers[index]
    while handler is not None:
        leaving = _reraises(code, handler.target, meaning)
        if leaving is None:
            return False
        handler = code.handlers[leaving]
    return True


def _reraises(code: Decoded, index: int, meaning: Callable[[str], object]) -> int | None:
    """Where the handler that begins at `index` raises the exception again; None where it does something with
    it.
    """
    steps = code.instructions
    classes: list[object] = []
    while True:
        step = steps[index]
        if step.name == "RERAISE":
            return index
        if step.name == "LOAD_GLOBAL":
            classes.append(meaning(step.value))
        elif step.name == "CHECK_EXC_MATCH":
            if not classes or any(map(_catches_exit, classes)):
                return None
            index, classes = steps[index + 1].target or 0, []  # the jump behind it, taken
            continue
        elif step.name == "LOAD_CONST":
            if step.value is not None or tuple(s.name for s in steps[index + 1 : index + 3]) != FORGETTING:
                return None
            index += len(FORGETTING)
        elif step.name not in (*CLASS_LOADS, *CLEANUP, "PUSH_EXC_INFO"):
            return None
        index += 1


def _catches_exit(found: object) -> bool:
    return not isinstance(found, type) or issubclass(GeneratorExit, found)
