/* Entries and marks of code objects. CPython gives evaluators an extra slot in each code object for them.
 *
 * In:  code objects, entries.
 * Out: look-ups for the evaluator, and the functions add_entry, entries, clear_entries, remove_entry,
 * added_entries, skip_code, unskip_code, is_skipped, mark_reader, hold_signals_in, mark_resume, leaves_loops,
 * is_resume, all_codes.
 *
 *     add_entry(f.__code__, entry)     ->     the next frame of f whose guards hold runs `entry`
 *
 * A code object owns its entries. The garbage collector does not see code objects, so an entry must not hold
 * strong references to the function that has the code. */

#include "frame/code_entries.h"

#include <string.h>

Py_ssize_t code_extra_index = -1;

static CodeState all_states = {.next = &all_states, .previous = &all_states};

/* --- life -------------------------------------------------------------------------------------------- */

static void release_entries(Entry **entries, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(entries[i]);
    }
    PyMem_Free(entries);
}

static void drop_twin(CodeState *state)
{
    PyCodeObject *twin = state->twin;
    CodeState *of_twin = twin == NULL ? NULL : code_state(twin);
    state->twin = NULL;
    state->twin_is_known = 0;
    if (of_twin != NULL) {
        of_twin->original = NULL;
    }
    Py_XDECREF(twin);
}

/* An entry may run user code when it dies. So the state is consistent and empty before the first one dies. */
static void drop_all_entries(CodeState *state)
{
    Entry **entries = state->entries;
    const Py_ssize_t count = state->count;
    state->entries = NULL;
    state->count = state->capacity = state->max_slots = state->added = state->in_a_row = 0;
    state->usual = NULL;
    state->cold = (ColdRuns){.kind = KIND_UNKNOWN};
    state->looks = (LookUps){.kind = KIND_UNKNOWN};
    state->paid_ns = state->earlier_ns = state->most_ns = 0;
    state->has_left = 0;
    state->turns = (TurnTrial){0};
    drop_twin(state);
    release_entries(entries, count);
}

/* The interpreter calls this when the code object dies. */
static void free_state(void *extra)
{
    CodeState *state = extra;
    if (state == NULL) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    state->next->previous = state->previous;
    state->previous->next = state->next;
    drop_all_entries(state);
    PyMem_Free(state);
    PyErr_Restore(type, value, traceback);
}

CodeState *ensure_code_state(PyCodeObject *code)
{
    CodeState *state = code_state(code);
    if (state != NULL) {
        return state;
    }
    state = PyMem_Calloc(1, sizeof(CodeState));
    if (state == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (set_code_extra(code, code_extra_index, state) < 0) {
        PyMem_Free(state);
        return NULL;
    }
    state->code = code;
    state->next = all_states.next;
    state->previous = &all_states;
    state->next->previous = state->previous->next = state;
    return state;
}

int code_state_set_twin(CodeState *state, PyCodeObject *twin)
{
    CodeState *of_twin = twin == NULL ? NULL : ensure_code_state(twin);
    if (twin != NULL && of_twin == NULL) {
        Py_DECREF(twin);
        return -1;
    }
    if (of_twin != NULL) {
        of_twin->marks |= CODE_OUTPUT;
        of_twin->original = state;
    }
    state->twin = twin;
    state->twin_is_known = 1;
    return 0;
}

/* --- for the evaluator ------------------------------------------------------------------------------- */

static void move_to_front(CodeState *state, Py_ssize_t index)
{
    Entry *entry = state->entries[index];
    memmove(state->entries + 1, state->entries, (size_t)index * sizeof(Entry *));
    state->entries[0] = entry;
}

static Entry *find_in_order(CodeState *state, PyObject *key, const FrameState *frame, PyObject **slots)
{
    /* No user code runs in this loop: guard programs run none. So the list can't change. */
    for (Py_ssize_t i = 0; i < state->count; i++) {
        Entry *entry = state->entries[i];
        if (entry->key == key && entry_guards_run(entry, frame, slots) == -1) {
            if (i > 0 && !entry_is_eager(entry)) {
                move_to_front(state, i);
            }
            return entry;
        }
    }
    return NULL;
}

static void forget_usual(CodeState *state)
{
    state->usual = NULL;
    state->in_a_row = 0;
}

/* Two such entries do the same with a frame. They may differ only in what they do with its callees. */
static void note_usual(CodeState *state, Entry *entry)
{
    if (entry == NULL || !entry_is_eager(entry) || (entry->guards != NULL && !entry->sampled)) {
        forget_usual(state);
        return;
    }
    const Entry *last = state->usual;
    const int alike = last != NULL && last->key == entry->key && last->unhooked == entry->unhooked;
    state->in_a_row = alike ? state->in_a_row + 1 : 1;
    state->usual = entry;
}

Entry *code_state_find(CodeState *state, PyObject *key, const FrameState *frame, PyObject **slots)
{
    Entry *entry = code_state_usual(state, key);
    if (entry == NULL) {
        entry = find_in_order(state, key, frame, slots);
    }
    note_usual(state, entry);
    return entry;
}

PyObject *code_state_failures(CodeState *state, PyObject *key, const FrameState *frame)
{
    PyObject *failures = PyList_New(0);
    /* A new object can start a garbage collection, and that can run any code: so each step reads index and
     * count again. */
    for (Py_ssize_t i = 0; failures != NULL && state != NULL && i < state->count; i++) {
        PyObject *slots[state->max_slots + 1];
        Entry *entry = state->entries[i];
        const int index = entry->key == key ? entry_guards_run(entry, frame, slots) : -1;
        if (index == -1) {
            continue;
        }
        PyObject *pair = Py_BuildValue("(Oi)", entry, index);
        if (pair == NULL || PyList_Append(failures, pair) < 0) {
            Py_CLEAR(failures);
        }
        Py_XDECREF(pair);
    }
    PyObject *tuple = failures == NULL ? NULL : PyList_AsTuple(failures);
    Py_XDECREF(failures);
    return tuple;
}

/* --- functions of the module ------------------------------------------------------------------------- */

PyCodeObject *as_code(PyObject *object, const char *function)
{
    if (!PyCode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a code object, not %.200s", function,
                     Py_TYPE(object)->tp_name);
        return NULL;
    }
    return (PyCodeObject *)object;
}

static int parse_code_and_entry(PyObject *const *args, Py_ssize_t nargs, const char *function,
                                PyCodeObject **code, Entry **entry)
{
    if (nargs != 2) {
        PyErr_Format(PyExc_TypeError, "%s: expected a code object and an Entry, got %zd arguments", function,
                     nargs);
        return -1;
    }
    *code = as_code(args[0], function);
    if (*code == NULL) {
        return -1;
    }
    if (!is_entry(args[1])) {
        PyErr_Format(PyExc_TypeError, "%s: expected an Entry, not %.200s", function,
                     Py_TYPE(args[1])->tp_name);
        return -1;
    }
    *entry = (Entry *)args[1];
    return 0;
}

static int reserve(CodeState *state)
{
    if (state->count < state->capacity) {
        return 0;
    }
    const Py_ssize_t capacity = state->capacity == 0 ? 4 : 2 * state->capacity;
    Entry **entries = PyMem_Realloc(state->entries, (size_t)capacity * sizeof(Entry *));
    if (entries == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    state->entries = entries;
    state->capacity = capacity;
    return 0;
}

static int mark_output(Entry *entry)
{
    CodeState *state = entry->code == NULL ? NULL : ensure_code_state(entry->code);
    if (state != NULL) {
        state->marks |= CODE_OUTPUT;
    }
    return entry->code == NULL || state != NULL ? 0 : -1;
}

static PyObject *add_entry(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    PyCodeObject *code;
    Entry *entry;
    if (parse_code_and_entry(args, nargs, "add_entry", &code, &entry) < 0 || entry_fits(entry, code) < 0) {
        return NULL;
    }
    if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
        return PyErr_Format(PyExc_ValueError,
                            "add_entry: %R is a generator or coroutine, the frame hook never runs those",
                            code);
    }
    CodeState *state = ensure_code_state(code);
    if (state == NULL || mark_output(entry) < 0 || reserve(state) < 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < state->count; i++) {
        if (state->entries[i] == entry) {
            return PyErr_Format(PyExc_ValueError, "add_entry: %R is an entry of %R already", entry, code);
        }
    }
    state->entries[state->count] = (Entry *)Py_NewRef(entry);
    if (!entry_is_eager(entry)) {
        move_to_front(state, state->count);
    }
    state->count++;
    state->added++;
    entry->trial = (Trial){.python = state->cold.whole};
    state->cold = cold_runs_from_now(&state->cold);
    forget_usual(state); /* the new entry may fit */
    state->max_slots = Py_MAX(state->max_slots, entry->nslots);
    Py_RETURN_NONE;
}

static PyObject *remove_entry(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    PyCodeObject *code;
    Entry *entry;
    if (parse_code_and_entry(args, nargs, "remove_entry", &code, &entry) < 0) {
        return NULL;
    }
    CodeState *state = code_state(code);
    for (Py_ssize_t i = 0; state != NULL && i < state->count; i++) {
        if (state->entries[i] == entry) {
            state->count--;
            forget_usual(state);
            memmove(state->entries + i, state->entries + i + 1, (size_t)(state->count - i) * sizeof(Entry *));
            Py_DECREF(entry);
            Py_RETURN_TRUE;
        }
    }
    Py_RETURN_FALSE;
}

static PyObject *list_entries(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "entries");
    PyObject *list = code == NULL ? NULL : PyList_New(0);
    CodeState *state = code == NULL ? NULL : code_state(code);
    for (Py_ssize_t i = 0; list != NULL && state != NULL && i < state->count; i++) {
        if (PyList_Append(list, (PyObject *)state->entries[i]) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *added_entries(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "added_entries");
    if (code == NULL) {
        return NULL;
    }
    const CodeState *state = code_state(code);
    return PyLong_FromSsize_t(state == NULL ? 0 : state->added);
}

static PyObject *clear_entries(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "clear_entries");
    if (code == NULL) {
        return NULL;
    }
    CodeState *state = code_state(code);
    if (state != NULL) {
        drop_all_entries(state);
    }
    Py_RETURN_NONE;
}

static PyObject *set_mark(PyObject *object, const char *function, unsigned mark)
{
    PyCodeObject *code = as_code(object, function);
    CodeState *state = code == NULL ? NULL : ensure_code_state(code);
    if (state == NULL) {
        return NULL;
    }
    state->marks |= mark;
    Py_RETURN_NONE;
}

static PyObject *has_mark(PyObject *object, const char *function, unsigned mark)
{
    PyCodeObject *code = as_code(object, function);
    if (code == NULL) {
        return NULL;
    }
    CodeState *state = code_state(code);
    return PyBool_FromLong(state != NULL && (state->marks & mark));
}

static PyObject *skip_code(PyObject *module, PyObject *object)
{
    return set_mark(object, "skip_code", CODE_SKIPPED);
}

static PyObject *unskip_code(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "unskip_code");
    if (code == NULL) {
        return NULL;
    }
    CodeState *state = code_state(code);
    if (state != NULL) {
        state->marks &= ~(unsigned)CODE_SKIPPED;
    }
    Py_RETURN_NONE;
}

static PyObject *is_skipped(PyObject *module, PyObject *object)
{
    return has_mark(object, "is_skipped", CODE_SKIPPED);
}

/* leaves_loops(code): frames of earlier processes have left loops of it. */
static PyObject *leaves_loops(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "leaves_loops");
    CodeState *state = code == NULL ? NULL : ensure_code_state(code);
    if (state == NULL) {
        return NULL;
    }
    state->has_left = 1;
    Py_RETURN_NONE;
}

static PyObject *mark_resume(PyObject *module, PyObject *object)
{
    return set_mark(object, "mark_resume", CODE_RESUME);
}

static PyObject *mark_reader(PyObject *module, PyObject *object)
{
    return set_mark(object, "mark_reader", CODE_READS);
}

static PyObject *hold_signals_in(PyObject *module, PyObject *object)
{
    return set_mark(object, "hold_signals_in", CODE_HOLDS_SIGNALS);
}

static PyObject *is_resume(PyObject *module, PyObject *object)
{
    return has_mark(object, "is_resume", CODE_RESUME);
}

/* A dying code object has no references, and nobody may give it new ones. */
static int is_listed(const CodeState *state)
{
    const int known = state->added > 0 || (state->marks & CODE_SKIPPED) || state->cold.kind != KIND_UNKNOWN;
    return known && Py_REFCNT(state->code) > 0;
}

static PyObject *all_codes(PyObject *module, PyObject *ignored)
{
    Py_ssize_t count = 0;
    for (CodeState *state = all_states.next; state != &all_states; state = state->next) {
        count += is_listed(state);
    }
    PyObject *codes = PyList_New(count);
    if (codes == NULL) {
        return NULL;
    }
    /* The new list can start a garbage collection, and code objects may die: this fills in those that are
     * left, and cuts the rest. */
    Py_ssize_t filled = 0;
    for (CodeState *state = all_states.next; state != &all_states && filled < count; state = state->next) {
        if (is_listed(state)) {
            PyList_SET_ITEM(codes, filled++, Py_NewRef(state->code));
        }
    }
    if (filled < count && PyList_SetSlice(codes, filled, count, NULL) < 0) {
        Py_CLEAR(codes);
    }
    return codes;
}

static PyMethodDef functions[] = {
    {"add_entry", (PyCFunction)(void (*)(void))add_entry, METH_FASTCALL,
     "add_entry(code, entry): put an entry in front of the entries of a code object, or behind them if it "
     "runs "
     "nothing."},
    {"remove_entry", (PyCFunction)(void (*)(void))remove_entry, METH_FASTCALL,
     "remove_entry(code, entry) -> bool: whether it was there."},
    {"entries", list_entries, METH_O, "entries(code) -> list of its entries, most recently hit first."},
    {"added_entries", added_entries, METH_O,
     "added_entries(code) -> int: entries added since the last clear_entries, also those removed since."},
    {"clear_entries", clear_entries, METH_O, "clear_entries(code): remove all entries; marks stay."},
    {"skip_code", skip_code, METH_O,
     "skip_code(code): frames of this code run in the default evaluator; their callees are hooked."},
    {"unskip_code", unskip_code, METH_O, "unskip_code(code): take skip_code back."},
    {"is_skipped", is_skipped, METH_O, "is_skipped(code) -> bool."},
    {"mark_reader", mark_reader, METH_O,
     "mark_reader(code): its frames may read the variables of their callers."},
    {"hold_signals_in", hold_signals_in, METH_O,
     "hold_signals_in(code): handlers of signals wait for the end of its frames, while the thread has a "
     "callback."},
    {"leaves_loops", leaves_loops, METH_O,
     "leaves_loops(code): frames of earlier processes have left loops of it, and its frames may, too."},
    {"mark_resume", mark_resume, METH_O, "mark_resume(code): this is the code of a resume function."},
    {"is_resume", is_resume, METH_O, "is_resume(code) -> bool."},
    {"all_codes", all_codes, METH_NOARGS,
     "all_codes() -> list of the code objects that hold or held entries, or have a skip mark, or ran "
     "under a Patience."},
    {NULL, NULL, 0, NULL},
};

int init_code_entries(PyObject *module)
{
    code_extra_index = request_code_extra(free_state);
    if (code_extra_index < 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "_capture: all extra slots of code objects are taken by other evaluators");
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
