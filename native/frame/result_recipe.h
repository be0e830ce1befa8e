/* A recipe makes the value of a frame from a graph's outputs. It is a small postfix program: checked once,
 * run at every hit. */

#ifndef CAPTURE_RESULT_RECIPE_H
#define CAPTURE_RESULT_RECIPE_H

#include "capture_native.h"

typedef struct {
    int op;
    Py_ssize_t number; /* index of an output or a slot, or the count of items */
    PyObject *object; /* constant or tuple of keys; borrowed from the tuple that the recipe was parsed from */
} RecipeStep;

typedef struct {
    Py_ssize_t count;
    RecipeStep *steps;
    Py_ssize_t depth;   /* deepest stack while running */
    Py_ssize_t max_out; /* greatest index of an output; -1: none */
    Py_ssize_t max_slot;
} Recipe;

/* Parses a tuple of instructions ("out", i) ("slot", i) ("const", obj) ("tuple", n) ("list", n) ("dict",
 * keys). The recipe borrows from `instructions`: keep it alive. 0, or -1 with an exception that names the
 * instruction. */
int recipe_parse(Recipe *recipe, PyObject *instructions);

void recipe_free(Recipe *recipe);

/* A new reference, or NULL with an exception. `outs` and `slots` are borrowed and have at least max + 1
 * items. */
PyObject *recipe_run(const Recipe *recipe, PyObject *const *outs, PyObject *const *slots);

#endif
