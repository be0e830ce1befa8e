/* The layouts of CPython's objects and its evaluator, behind names that do not change with its version.
 *
 * Everything in native/ that touches a frame of the interpreter, the evaluator or an internal header does so
 * through this header, or through pyversion_objects.h. For each version there are two files with the same
 * functions: py311.h and py311_objects.h. A new version is two new files, and one line in each header.
 *
 * Known changes: in 3.12 the evaluator pops the frame that a hook returns from. 3.13 renames the frame's code
 * (`f_executable`) and instruction pointer (`instr_ptr`). */

#ifndef CAPTURE_PYVERSION_H
#define CAPTURE_PYVERSION_H

#include "capture_native.h"

/* What the interpreter knows of signals. Handlers, and pending calls, run on its main thread only. */
typedef struct {
    volatile unsigned long *main_thread; /* NO_THREAD: there is none */
    const volatile int *signals, *calls; /* whether there are some that wait */
} InterpreterSignals;

enum { NO_THREAD = 0 };

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#include "frame/py311.h"
#else
#error "capture's native frame hook supports CPython 3.11 only; use hook=\"settrace\" elsewhere"
#endif

#endif
