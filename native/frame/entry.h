/* Entry: one captured version of a code object: when it holds (guards, key) and what to run then (code, or
 * graph and result). */

#ifndef CAPTURE_ENTRY_H
#define CAPTURE_ENTRY_H

#include "capture_native.h"
#include "frame/result_recipe.h"

typedef struct {
    PyObject_HEAD
    PyObject *guards; /* a GuardProgram, or NULL: always passes */
    PyObject *key;    /* NULL until __init__ has run */
    PyCodeObject *code;
    PyObject *graph;
    PyObject *result; /* the tuple that `recipe` borrows from */
    PyObject *on_failure;
    Py_ssize_t hits;
    Py_ssize_t nslots;
    Py_ssize_t ninputs; /* the graph takes the first so many slots */
    Py_ssize_t nouts;   /* of a native graph */
    char graph_is_native;
    char unhooked; /* Python runs the frame and all that it calls: no callback below */
    char sampled;  /* having left many frames in a row to Python, it is not asked for each of the next */
    Recipe recipe;
    PyObject *dict;
    PyObject *weakrefs;
} Entry;

extern PyTypeObject Entry_Type;

static inline int is_entry(PyObject *object)
{
    return PyObject_TypeCheck(object, &Entry_Type);
}

/* Under these guards the frame is Python's. Such an entry stands behind all that have something to run. */
static inline int entry_is_eager(const Entry *entry)
{
    return entry->code == NULL && entry->graph == NULL;
}

/* -1: the guards hold and `slots` (room for entry->nslots) has borrowed references; else the index of the
 * guard that failed. */
static inline int entry_guards_run(Entry *entry, const FrameState *state, PyObject **slots)
{
    return entry->guards == NULL ? -1 : guard_program_run(entry->guards, state, slots);
}

/* May this entry run in the place of `code`? 0, or -1 with an exception that says why not. */
int entry_fits(Entry *entry, PyCodeObject *code);

/* How many of a function's localsplus are its arguments. */
int code_formals(const PyCodeObject *code);

/* The value of the frame by the entry's graph. NULL with an exception; *failed is set where the graph itself
 * raised. */
PyObject *entry_run_graph(Entry *entry, PyObject *const *slots, int *failed);

#endif
