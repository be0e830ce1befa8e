/* The type `_capture.Patience`. What it decides is in patience.c.
 *
 * In:  the callables that it asks, and the rates of captures.
 * Out: a callback for set_callback.
 *
 *     Patience(callback, kind, unit_ns=10000, least_ns=20000000, judge=judge) */

#include "frame/patience_type.h"

#include "frame/autograd_nodes.h"
#include "frame/patience.h"

#include <structmember.h>

static PyObject *patience_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"callback", "kind",      "unit_ns", "least_ns",    "judge",   "glance", "foresee",
                            "first_ns", "surcharge", "twin",    "judge_turns", "turn_ns", NULL};
    PyObject *callback, *kind, *judge = Py_None, *glance = Py_None, *foresee = Py_None;
    PyObject *surcharge = Py_None, *twin = Py_None, *judge_turns = Py_None;
    long long unit_ns = 0, least_ns = 0, first_ns = 0, turn_ns = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$LLOOOLOOOL:Patience", names, &callback, &kind,
                                     &unit_ns, &least_ns, &judge, &glance, &foresee, &first_ns, &surcharge,
                                     &twin, &judge_turns, &turn_ns)) {
        return NULL;
    }
    if (!PyCallable_Check(callback) || !PyCallable_Check(kind)) {
        PyErr_SetString(PyExc_TypeError, "Patience: callback and kind must be callable");
        return NULL;
    }
    init_autograd_nodes();
    if (unit_ns < 0 || least_ns < 0 || first_ns < 0 || turn_ns < 0) {
        PyErr_SetString(PyExc_ValueError,
                        "Patience: unit_ns, least_ns, first_ns and turn_ns can't be negative");
        return NULL;
    }
    Patience *self = (Patience *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->callback = Py_NewRef(callback);
        self->kind = Py_NewRef(kind);
        self->judge = judge == Py_None ? NULL : Py_NewRef(judge);
        self->glance = glance == Py_None ? NULL : Py_NewRef(glance);
        self->foresee = foresee == Py_None ? NULL : Py_NewRef(foresee);
        self->surcharge = surcharge == Py_None ? NULL : Py_NewRef(surcharge);
        self->twin = twin == Py_None ? NULL : Py_NewRef(twin);
        self->judge_turns = judge_turns == Py_None ? NULL : Py_NewRef(judge_turns);
        self->rates = (Rates){unit_ns, least_ns, first_ns, turn_ns};
    }
    return (PyObject *)self;
}

static PyObject *patience_call(Patience *self, PyObject *args, PyObject *kwargs)
{
    return PyObject_Call(self->callback, args, kwargs);
}

static int patience_traverse(Patience *self, visitproc visit, void *arg)
{
    Py_VISIT(self->callback);
    Py_VISIT(self->kind);
    Py_VISIT(self->judge);
    Py_VISIT(self->glance);
    Py_VISIT(self->foresee);
    Py_VISIT(self->surcharge);
    Py_VISIT(self->twin);
    Py_VISIT(self->judge_turns);
    return 0;
}

static int patience_clear(Patience *self)
{
    Py_CLEAR(self->callback);
    Py_CLEAR(self->kind);
    Py_CLEAR(self->judge);
    Py_CLEAR(self->glance);
    Py_CLEAR(self->foresee);
    Py_CLEAR(self->surcharge);
    Py_CLEAR(self->twin);
    Py_CLEAR(self->judge_turns);
    return 0;
}

static void patience_dealloc(Patience *self)
{
    PyObject_GC_UnTrack(self);
    patience_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef members[] = {
    {"callback", T_OBJECT, offsetof(Patience, callback), READONLY, "asked about frames that are hot"},
    {"unit_ns", T_LONGLONG, offsetof(Patience, rates.unit_ns), READONLY, "see the type"},
    {"least_ns", T_LONGLONG, offsetof(Patience, rates.least_ns), READONLY, "see the type"},
    {NULL},
};

PyTypeObject Patience_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.Patience",
    .tp_doc =
        "Patience(callback, kind, *, unit_ns, least_ns): a callback for set_callback that waits until "
        "Python has run frames of a code object for unit_ns nanoseconds for each of their code units, and "
        "for least_ns in all; for first_ns more where nothing has imported the compiler yet.",
    .tp_basicsize = sizeof(Patience),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = patience_new,
    .tp_dealloc = (destructor)patience_dealloc,
    .tp_traverse = (traverseproc)patience_traverse,
    .tp_clear = (inquiry)patience_clear,
    .tp_call = (ternaryfunc)patience_call,
    .tp_members = members,
};

static PyObject *count_waste(PyObject *module, PyObject *object)
{
    const long long ns = PyLong_AsLongLong(object);
    if (ns == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (ns < 0) {
        return PyErr_Format(PyExc_ValueError, "count_waste: a capture does not take %lld ns", ns);
    }
    price_was_wasted(ns);
    Py_RETURN_NONE;
}

static PyObject *forget_prices(PyObject *module, PyObject *ignored)
{
    price_forget();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"count_waste", count_waste, METH_O,
     "count_waste(ns): captures have cost so many nanoseconds, and have given nothing."},
    {"forget_prices", forget_prices, METH_NOARGS,
     "forget_prices(): what the captures of this process have cost says nothing of the next ones."},
    {NULL, NULL, 0, NULL},
};

int init_patience(PyObject *module)
{
    return PyModule_AddType(module, &Patience_Type) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
