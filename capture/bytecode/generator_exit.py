"""Finds out whether a generator runs code of its own when the program drops it.

In:  its decoded code, the instruction at which it is suspended, and the values of its globals.
Out: True if a GeneratorExit at that instruction leaves the frame, and only tests of `except` clauses run
     before that.

    try: yield self[i]                     try: yield 1
    except IndexError: return    -> True   finally: close()    -> False
"""

from __future__ import annotations

from collections.abc import Callable

from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import Decoded

#: instructions of an `except` clause without any effect on the program
HARMLESS = dialect.BUILDS_CLASSES | dialect.LEAVES_HANDLER | dialect.ENTERS_HANDLER


def ignores_exit(code: Decoded, index: int, meaning: Callable[[str], object]) -> bool:
    handler = code.handlers[index]
    while handler is not None:
        leaving = _reraises(code, handler.target, meaning)
        if leaving is None:
            return False
        handler = code.handlers[leaving]
    return True


def _reraises(code: Decoded, index: int, meaning: Callable[[str], object]) -> int | None:
    """The index at which the handler raises the exception again. None if the handler does anything else."""
    steps = code.instructions
    classes: list[object] = []
    while True:
        step = steps[index]
        if step.name in dialect.RERAISES:
            return index
        if step.name in dialect.LOADS_GLOBAL:
            classes.append(meaning(step.value))
        elif step.name in dialect.TESTS_EXCEPTION:
            if not classes or any(map(_catches_exit, classes)):
                return None
            index, classes = steps[index + 1].target or 0, []  # no match: the jump after the test is taken
            continue
        elif step.name in dialect.LOADS_CONSTANT:
            following = tuple(s.name for s in steps[index + 1 : index + 3])
            if step.value is not None or following != dialect.FORGETS_NAME:
                return None
            index += len(following)
        elif step.name not in HARMLESS:
            return None
        index += 1


def _catches_exit(found: object) -> bool:
    return not isinstance(found, type) or issubclass(GeneratorExit, found)
