/* Functional operators by the C ABI of libtorch_cpu, below autograd, in place of the operator objects.
 *
 * In:  the name of an entry point; the kinds, names and defaults of its arguments; how many tensors it gives;
 * a callable that does the same; whether grad mode has to be on. Out: a callable.
 *
 *     DirectCall("aoti_torch_cpu_topk", "tiibb", ("self", "k", "dim", "largest", "sorted"),
 *                (..., ..., -1, True, True), 2, torch.topk, False)
 *
 * An operator object walks its schema and boxes each argument; torch's own binding parses them. Then the
 * dispatcher goes through the kernels of autograd. For an operator without a derivative (backwards of fused
 * operators) these box all arguments once more. The entry points, which torchgen writes from the schemas,
 * call the operator for the CPU. Convolutions of our own have entry points of the same form.
 *
 * The keys of autograd are off meanwhile, as they are where eager's autograd calls the same function: else
 * autograd would know views that the operator makes on the way. The other callable gets arguments that are no
 * plain tensor or have another kind, and every call that fails here: it raises its own errors.
 */
#include "capture_native.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#include "convolution/entry_points.h"
#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

enum { MOST_WORDS = 32, MOST_FLOATS = 8, MOST_KEPT = 64, MOST_RESULTS = 8 };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    void *address;
    PyObject *symbol, *kinds; /* indexed by an ASCII character: see READERS */
    PyObject *names, *defaults, *otherwise;
    Py_ssize_t nresults;
    int in_grad_mode;
} DirectCall;

/* Arguments as machine code takes them: integers and pointers in one row, floats in another, and what
 * pointers point to. */
typedef struct {
    int64_t words[MOST_WORDS];
    double floats[MOST_FLOATS];
    int64_t kept[MOST_KEPT];
    int nwords, nfloats, nkept;
} Arguments;

static bool add_word(Arguments *to, int64_t word)
{
    if (to->nwords == MOST_WORDS) {
        return false;
    }
    to->words[to->nwords++] = word;
    return true;
}

/* Room for a value that an argument points to, or NULL. */
static int64_t *keep(Arguments *to)
{
    return to->nkept == MOST_KEPT ? NULL : &to->kept[to->nkept++];
}

static bool add_pointer(Arguments *to, int64_t pointed_to)
{
    int64_t *kept = keep(to);
    if (kept == NULL) {
        return false;
    }
    *kept = pointed_to;
    return add_word(to, (int64_t)(intptr_t)kept);
}

static bool int_of(PyObject *argument, int64_t *value)
{
    int overflow = 1;
    if (PyLong_Check(argument)) {
        *value = PyLong_AsLongLongAndOverflow(argument, &overflow);
    }
    return !overflow;
}

static bool float_of(PyObject *argument, double *value)
{
    int64_t whole = 0;
    if (PyFloat_Check(argument)) {
        *value = PyFloat_AS_DOUBLE(argument);
        return true;
    }
    bool is_whole = int_of(argument, &whole);
    *value = (double)whole;
    return is_whole;
}

/* A row of numbers, or of truth values, which are 32 bits each. */
static bool add_items(PyObject *list, Arguments *to, bool truths, const int64_t **first)
{
    if (!PyList_Check(list) && !PyTuple_Check(list)) {
        return false;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
    if (to->nkept + count > MOST_KEPT) {
        return false;
    }
    *first = &to->kept[to->nkept];
    int32_t *halves = (int32_t *)&to->kept[to->nkept];
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);
        if (truths ? !PyBool_Check(item) : !int_of(item, &to->kept[to->nkept + i])) {
            return false;
        }
        if (truths) {
            halves[i] = item == Py_True;
        }
    }
    to->nkept += (int)count;
    return true;
}

static bool read_tensor(PyObject *argument, Arguments *to)
{
    return tensor_is_plain(argument) && add_word(to, (int64_t)(intptr_t)tensor_handle(argument));
}

static bool read_int(PyObject *argument, Arguments *to)
{
    int64_t value;
    return int_of(argument, &value) && add_word(to, value);
}

static bool read_bool(PyObject *argument, Arguments *to)
{
    return PyBool_Check(argument) && add_word(to, argument == Py_True);
}

static bool read_float(PyObject *argument, Arguments *to)
{
    return to->nfloats < MOST_FLOATS && float_of(argument, &to->floats[to->nfloats++]);
}

static bool read_ints(PyObject *argument, Arguments *to)
{
    const int64_t *first;
    return add_items(argument, to, false, &first) && add_word(to, (int64_t)(intptr_t)first)
           && add_word(to, PySequence_Fast_GET_SIZE(argument));
}

static bool read_bools(PyObject *argument, Arguments *to)
{
    const int64_t *first;
    return add_items(argument, to, true, &first) && add_word(to, (int64_t)(intptr_t)first)
           && add_word(to, PySequence_Fast_GET_SIZE(argument));
}

static bool read_maybe_tensor(PyObject *argument, Arguments *to)
{
    return argument == Py_None
               ? add_word(to, 0)
               : tensor_is_plain(argument) && add_pointer(to, (int64_t)(intptr_t)tensor_handle(argument));
}

static bool read_maybe_int(PyObject *argument, Arguments *to)
{
    int64_t value;
    return argument == Py_None ? add_word(to, 0) : int_of(argument, &value) && add_pointer(to, value);
}

static bool read_maybe_bool(PyObject *argument, Arguments *to)
{
    return argument == Py_None ? add_word(to, 0)
                               : PyBool_Check(argument) && add_pointer(to, argument == Py_True);
}

static bool read_maybe_float(PyObject *argument, Arguments *to)
{
    union {
        double value;
        int64_t bits;
    } number;
    return argument == Py_None ? add_word(to, 0)
                               : float_of(argument, &number.value) && add_pointer(to, number.bits);
}

static bool read_maybe_ints(PyObject *argument, Arguments *to)
{
    if (argument == Py_None) {
        return add_word(to, 0) && add_word(to, 0);
    }
    const int64_t *first;
    return add_items(argument, to, false, &first) && add_pointer(to, (int64_t)(intptr_t)first)
           && add_word(to, PySequence_Fast_GET_SIZE(argument));
}

static bool read_none(PyObject *argument, Arguments *to)
{
    return argument == Py_None && add_word(to, 0);
}

/* Indexed by the character of the kind. Upper case: may be None. Keep equal to
 * codegen/launch/direct_calls.py. */
static bool (*const READERS[128])(PyObject *, Arguments *) = {
    ['t'] = read_tensor, ['T'] = read_maybe_tensor, ['i'] = read_int,   ['I'] = read_maybe_int,
    ['b'] = read_bool,   ['B'] = read_maybe_bool,   ['d'] = read_float, ['D'] = read_maybe_float,
    ['l'] = read_ints,   ['L'] = read_maybe_ints,   ['m'] = read_bools, ['N'] = read_none,
};

/* The argument of that number, borrowed. NULL where the call does not give it and it has no default
 * (Ellipsis). */
static PyObject *argument_of(const DirectCall *self, Py_ssize_t number, PyObject *const *args,
                             Py_ssize_t npositional, PyObject *keywords)
{
    if (number < npositional) {
        return args[number];
    }
    PyObject *name = PyTuple_GET_ITEM(self->names, number);
    for (Py_ssize_t i = 0; keywords != NULL && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *keyword = PyTuple_GET_ITEM(keywords, i);
        if (keyword == name || PyUnicode_Compare(keyword, name) == 0) {
            return args[npositional + i];
        }
    }
    PyObject *given = PyTuple_GET_ITEM(self->defaults, number);
    return given == Py_Ellipsis ? NULL : given;
}

static bool read_arguments(const DirectCall *self, PyObject *const *args, Py_ssize_t npositional,
                           PyObject *keywords, Arguments *to)
{
    const Py_UCS1 *kinds = PyUnicode_1BYTE_DATA(self->kinds);
    Py_ssize_t count = PyUnicode_GET_LENGTH(self->kinds);
    if (npositional > count) {
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *argument = argument_of(self, i, args, npositional, keywords);
        if (argument == NULL || !READERS[kinds[i]](argument, to)) {
            return false;
        }
    }
    return true;
}

/* Integers and floats go in different registers, and in their order onto the stack. A function does not see
 * arguments beyond its own (System V on x86-64, AAPCS64). */
typedef int (*EntryPoint)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                          int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                          int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                          int64_t, int64_t, int64_t, int64_t, int64_t, double, double, double, double, double,
                          double, double, double);

static int call_entry_point(void *address, const Arguments *arguments)
{
    const int64_t *w = arguments->words;
    const double *f = arguments->floats;
    return ((EntryPoint)address)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
                                 w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22],
                                 w[23], w[24], w[25], w[26], w[27], w[28], w[29], w[30], w[31], f[0], f[1],
                                 f[2], f[3], f[4], f[5], f[6], f[7]);
}

/* Takes over the handles. An undefined tensor becomes None. */
static PyObject *tensors_of(Handle *handles, Py_ssize_t count)
{
    if (count == 1) {
        return tensor_from_handle(handles[0]);
    }
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *tensor = tensor_from_handle(handles[i]);
        if (tensor == NULL || tuple == NULL) {
            Py_CLEAR(tuple);
            Py_XDECREF(tensor);
        } else {
            PyTuple_SET_ITEM(tuple, i, tensor);
        }
    }
    return tuple;
}

/* NULL without an exception: the other callable has to be called. */
static PyObject *call_directly(const DirectCall *self, PyObject *const *args, Py_ssize_t npositional,
                               PyObject *keywords)
{
    Arguments arguments;
    arguments.nwords = arguments.nfloats = arguments.nkept = 0;
    Handle results[MOST_RESULTS] = {NULL};
    if (!read_arguments(self, args, npositional, keywords, &arguments)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < self->nresults; i++) {
        if (!add_word(&arguments, (int64_t)(intptr_t)&results[i])) {
            return NULL;
        }
    }
    uint64_t before = leave_autograd();
    bool grad_mode = torch_symbols.grad_mode();
    if (self->in_grad_mode) {
        torch_symbols.set_grad_mode(true);
    }
    int error;
    Py_BEGIN_ALLOW_THREADS error = call_entry_point(self->address, &arguments);
    Py_END_ALLOW_THREADS if (self->in_grad_mode)
    {
        torch_symbols.set_grad_mode(grad_mode);
    }
    enter_autograd(before);
    return error ? NULL : tensors_of(results, self->nresults);
}

static PyObject *call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    DirectCall *self = (DirectCall *)callable;
    PyObject *result =
        self->address == NULL ? NULL : call_directly(self, args, PyVectorcall_NARGS(nargsf), keywords);
    return result == NULL && !PyErr_Occurred() ? PyObject_Vectorcall(self->otherwise, args, nargsf, keywords)
                                               : result;
}

static bool are_kinds(PyObject *kinds)
{
    if (!PyUnicode_IS_ASCII(kinds)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(kinds); i++) {
        if (READERS[PyUnicode_1BYTE_DATA(kinds)[i]] == NULL) {
            return false;
        }
    }
    return true;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *symbol, *kinds, *names, *defaults, *otherwise;
    Py_ssize_t nresults;
    int in_grad_mode;
    if (!PyArg_ParseTuple(args, "UUO!O!nOp", &symbol, &kinds, &PyTuple_Type, &names, &PyTuple_Type, &defaults,
                          &nresults, &otherwise, &in_grad_mode)) {
        return NULL;
    }
    Py_ssize_t count = PyUnicode_GET_LENGTH(kinds);
    if (!are_kinds(kinds) || PyTuple_GET_SIZE(names) != count || PyTuple_GET_SIZE(defaults) != count
        || nresults < 1 || nresults > MOST_RESULTS) {
        PyErr_SetString(PyExc_ValueError, "DirectCall: a kind that is none, or numbers that don't fit");
        return NULL;
    }
    if (!tensor_access_ready()) {
        PyErr_SetString(PyExc_RuntimeError, "DirectCall: calibrate() first");
        return NULL;
    }
    const char *name = PyUnicode_AsUTF8(symbol);
    DirectCall *self = name == NULL ? NULL : (DirectCall *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = call;
    self->address = convolution_entry_point == NULL ? NULL : convolution_entry_point(name);
    if (self->address == NULL) {
        self->address = torch_cpu_symbol(name);
    }
    self->symbol = Py_NewRef(symbol);
    self->kinds = Py_NewRef(kinds);
    self->names = Py_NewRef(names);
    self->defaults = Py_NewRef(defaults);
    self->otherwise = Py_NewRef(otherwise);
    self->nresults = nresults;
    self->in_grad_mode = in_grad_mode;
    return (PyObject *)self;
}

static int traverse(DirectCall *self, visitproc visit, void *arg)
{
    Py_VISIT(self->names);
    Py_VISIT(self->defaults);
    Py_VISIT(self->otherwise);
    return 0;
}

static int clear(DirectCall *self)
{
    Py_CLEAR(self->otherwise);
    return 0;
}

static void dealloc(DirectCall *self)
{
    PyObject_GC_UnTrack(self);
    clear(self);
    Py_XDECREF(self->symbol);
    Py_XDECREF(self->kinds);
    Py_XDECREF(self->names);
    Py_XDECREF(self->defaults);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *is_direct(DirectCall *self, void *closure)
{
    return PyBool_FromLong(self->address != NULL);
}

static PyMemberDef members[] = {
    {"symbol", T_OBJECT_EX, offsetof(DirectCall, symbol), READONLY, "the name of the entry point"},
    {"kinds", T_OBJECT_EX, offsetof(DirectCall, kinds), READONLY, "of its arguments"},
    {"otherwise", T_OBJECT_EX, offsetof(DirectCall, otherwise), READONLY,
     "what is called where the entry point can't be"},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"direct", (getter)is_direct, NULL, "whether this build of torch has the entry point", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject DirectCallType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.DirectCall",
    .tp_doc = "DirectCall(symbol, kinds, names, defaults, results, otherwise, in_grad_mode): a functional "
              "operator, called below autograd",
    .tp_basicsize = sizeof(DirectCall),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = new,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(DirectCall, vectorcall),
    .tp_traverse = (traverseproc)traverse,
    .tp_clear = (inquiry)clear,
    .tp_dealloc = (destructor)dealloc,
    .tp_members = members,
    .tp_getset = getters,
};

int init_direct_call(PyObject *module)
{
    return PyModule_AddType(module, &DirectCallType);
}
