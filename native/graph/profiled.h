/* Ranges of torch's profiler: each run of a graph, and each kernel where its names are known. */
#ifndef CAPTURE_PROFILED_H
#define CAPTURE_PROFILED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* Whether anything records: torch.profiler, or another user of torch's RecordFunction. Some nanoseconds. */
bool profiler_runs(void);
/* A range of this name begins. NULL where it can't: the profiler then does not show it. */
void *range_begin(PyObject *name);
void range_end(void *range);

/* Finds torch's functions; without them nothing is recorded. */
void init_profiled(void);

#endif
