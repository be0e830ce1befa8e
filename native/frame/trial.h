/* Whether entries are faster than Python: trial.c. */

#ifndef CAPTURE_TRIAL_H
#define CAPTURE_TRIAL_H

#include "frame/code_entries.h"
#include "frame/entry.h"
#include "frame/thread_hook.h"

/* The turns of an entry have been compared with those of Python. 0, or -1 with an exception. */
int patience_judge_turns(PyObject *patience, ThreadHook *hook, CodeState *state, Entry *entry,
                         const TurnTrial *trial);

/* An entry on trial has run for `ns`. 0, or -1 with an exception. */
int patience_try(PyObject *patience, ThreadHook *hook, CodeState *state, Entry *entry, long long ns);

/* A frame that fits the entry begins, whose steps are compared. Whether Python runs it. */
int step_is_pythons(ThreadHook *hook, StepTrial *trial);

/* The entry, or Python in its place, has run a frame of such a step for `ns`. 0, or -1 with an exception. */
int patience_try_step(PyObject *patience, ThreadHook *hook, CodeState *state, Entry *entry, long long ns);

/* Python has run a frame that fits the entry, for its second comparison. 0, or -1 with an exception. */
int patience_try_python(PyObject *patience, ThreadHook *hook, CodeState *state, Entry *entry, long long ns);

#endif
