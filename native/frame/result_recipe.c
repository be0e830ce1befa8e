/* Result recipes: from the outputs of a graph to the value of the frame.
 *
 * In:  the `result` tuple of an Entry, postfix instructions.
 * Out: an array of steps without strings, run on a stack of references.
 *
 *     (("out", 0), ("slot", 2), ("tuple", 2))     ->     the frame returns (outs[0], slots[2]) */

#include "frame/result_recipe.h"

#include <string.h>

enum { OP_OUT, OP_SLOT, OP_CONST, OP_TUPLE, OP_LIST, OP_DICT };

typedef struct {
    const char *name;
    int has_object; /* the operand is an object and not a number */
} OpInfo;

static const OpInfo ops[] = {
    [OP_OUT] = {"out", 0},     [OP_SLOT] = {"slot", 0}, [OP_CONST] = {"const", 1},
    [OP_TUPLE] = {"tuple", 0}, [OP_LIST] = {"list", 0}, [OP_DICT] = {"dict", 1},
};

enum { OP_COUNT = sizeof(ops) / sizeof(ops[0]) };

/* The stack of a recipe is on the C stack. A longer recipe is a mistake of its maker. */
static const Py_ssize_t MAX_STEPS = 1 << 16;

static int bad_instruction(Py_ssize_t index, PyObject *instruction, const char *what)
{
    PyErr_Format(PyExc_ValueError, "result instruction %zd is %R: %s", index, instruction, what);
    return -1;
}

static int find_op(PyObject *name)
{
    for (int op = 0; op < OP_COUNT; op++) {
        if (PyUnicode_CompareWithASCIIString(name, ops[op].name) == 0) {
            return op;
        }
    }
    return -1;
}

/* Keys must be hashable. The check is here, so that the first hit can't fail. */
static int check_keys(Py_ssize_t index, PyObject *instruction, PyObject *keys)
{
    if (!PyTuple_CheckExact(keys)) {
        return bad_instruction(index, instruction, "the keys of a dict must be a tuple");
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        if (PyObject_Hash(PyTuple_GET_ITEM(keys, i)) == -1) {
            return -1;
        }
    }
    return 0;
}

static int parse_step(RecipeStep *step, Py_ssize_t index, PyObject *instruction)
{
    if (!PyTuple_CheckExact(instruction) || PyTuple_GET_SIZE(instruction) != 2
        || !PyUnicode_Check(PyTuple_GET_ITEM(instruction, 0))) {
        return bad_instruction(index, instruction, "expected a pair (name, operand)");
    }
    PyObject *operand = PyTuple_GET_ITEM(instruction, 1);
    step->op = find_op(PyTuple_GET_ITEM(instruction, 0));
    if (step->op < 0) {
        return bad_instruction(index, instruction, "the name is none of out, slot, const, tuple, list, dict");
    }
    if (ops[step->op].has_object) {
        step->object = operand;
        return step->op == OP_DICT ? check_keys(index, instruction, operand) : 0;
    }
    if (!PyLong_CheckExact(operand)) {
        return bad_instruction(index, instruction, "the operand must be an int");
    }
    step->number = PyLong_AsSsize_t(operand);
    if (step->number < 0 || step->number > MAX_STEPS) {
        PyErr_Clear();
        return bad_instruction(index, instruction, "the operand must be between 0 and 65536");
    }
    return 0;
}

/* How many values the step takes from the stack. Each step pushes one value. */
static Py_ssize_t step_arity(const RecipeStep *step)
{
    switch (step->op) {
    case OP_TUPLE:
    case OP_LIST:
        return step->number;
    case OP_DICT:
        return PyTuple_GET_SIZE(step->object);
    default:
        return 0;
    }
}

static int check_stack(Recipe *recipe, PyObject *instructions)
{
    Py_ssize_t height = 0;
    for (Py_ssize_t i = 0; i < recipe->count; i++) {
        const RecipeStep *step = &recipe->steps[i];
        const Py_ssize_t arity = step_arity(step);
        if (arity > height) {
            return bad_instruction(i, PyTuple_GET_ITEM(instructions, i),
                                   "it takes more values than the stack has");
        }
        height += 1 - arity;
        recipe->depth = Py_MAX(recipe->depth, height);
        if (step->op == OP_OUT) {
            recipe->max_out = Py_MAX(recipe->max_out, step->number);
        }
        if (step->op == OP_SLOT) {
            recipe->max_slot = Py_MAX(recipe->max_slot, step->number);
        }
    }
    if (height != 1) {
        PyErr_Format(PyExc_ValueError, "result leaves %zd values on the stack, but must leave one", height);
        return -1;
    }
    return 0;
}

int recipe_parse(Recipe *recipe, PyObject *instructions)
{
    *recipe = (Recipe){.max_out = -1, .max_slot = -1};
    if (!PyTuple_CheckExact(instructions) || PyTuple_GET_SIZE(instructions) > MAX_STEPS) {
        PyErr_Format(PyExc_TypeError, "result must be a tuple of at most %zd instructions, not %.200s",
                     MAX_STEPS, Py_TYPE(instructions)->tp_name);
        return -1;
    }
    recipe->count = PyTuple_GET_SIZE(instructions);
    recipe->steps = PyMem_Calloc((size_t)recipe->count + 1, sizeof(RecipeStep));
    if (recipe->steps == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < recipe->count; i++) {
        if (parse_step(&recipe->steps[i], i, PyTuple_GET_ITEM(instructions, i)) < 0) {
            recipe_free(recipe);
            return -1;
        }
    }
    if (check_stack(recipe, instructions) < 0) {
        recipe_free(recipe);
        return -1;
    }
    return 0;
}

void recipe_free(Recipe *recipe)
{
    PyMem_Free(recipe->steps);
    *recipe = (Recipe){.max_out = -1, .max_slot = -1};
}

/* On success, the three builders own the references in `items`. */

static PyObject *build_tuple(PyObject **items, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, items[i]);
    }
    return tuple;
}

static PyObject *build_list(PyObject **items, Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyList_SET_ITEM(list, i, items[i]);
    }
    return list;
}

static PyObject *build_dict(PyObject **items, PyObject *keys)
{
    PyObject *dict = PyDict_New();
    const Py_ssize_t count = PyTuple_GET_SIZE(keys);
    for (Py_ssize_t i = 0; dict != NULL && i < count; i++) {
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(keys, i), items[i]) < 0) {
            Py_CLEAR(dict);
        }
    }
    for (Py_ssize_t i = 0; dict != NULL && i < count; i++) {
        Py_DECREF(items[i]);
    }
    return dict;
}

static PyObject *run_step(const RecipeStep *step, PyObject **items, PyObject *const *outs,
                          PyObject *const *slots)
{
    switch (step->op) {
    case OP_OUT:
        return Py_NewRef(outs[step->number]);
    case OP_SLOT:
        return Py_NewRef(slots[step->number]);
    case OP_CONST:
        return Py_NewRef(step->object);
    case OP_TUPLE:
        return build_tuple(items, step->number);
    case OP_LIST:
        return build_list(items, step->number);
    default:
        return build_dict(items, step->object);
    }
}

PyObject *recipe_run(const Recipe *recipe, PyObject *const *outs, PyObject *const *slots)
{
    PyObject *stack[recipe->depth];
    PyObject **top = stack;
    for (const RecipeStep *step = recipe->steps, *end = step + recipe->count; step < end; step++) {
        PyObject **items = top - step_arity(step);
        PyObject *value = run_step(step, items, outs, slots);
        if (value == NULL) {
            while (top > stack) {
                Py_DECREF(*--top);
            }
            return NULL;
        }
        *items = value;
        top = items + 1;
    }
    return stack[0];
}
