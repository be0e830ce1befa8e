/* The loads of guard programs out of an object: fields of functions, methods, cells and containers.
 *
 * In:  the owner, and the operands behind the head word.
 * Out: a borrowed reference, or NULL where the place does not exist.
 */
#include "guards/guard_program.h"
#include "tensors/tensor_access.h"

#include <stddef.h>

/* In the order of guards.sources.FUNCTION_FIELDS. */
static const size_t FUNCTION_FIELDS[] = {
    offsetof(PyFunctionObject, func_code),       offsetof(PyFunctionObject, func_defaults),
    offsetof(PyFunctionObject, func_kwdefaults), offsetof(PyFunctionObject, func_closure),
    offsetof(PyFunctionObject, func_globals),    offsetof(PyFunctionObject, func_name),
    offsetof(PyFunctionObject, func_qualname),   offsetof(PyFunctionObject, func_doc),
    offsetof(PyFunctionObject, func_module),     offsetof(PyFunctionObject, func_annotations),
};

/* A read of `__annotations__` makes the dict: Python keeps none at first, or the names beside the values.
 * No finalizer runs meanwhile. Without memory, the place does not exist.
 */
static void make_annotations(PyObject **place)
{
    PyObject *names = *place;
    int collecting = PyGC_Disable();
    PyObject *made = PyDict_New();
    for (Py_ssize_t i = 0; made != NULL && names != NULL && i < PyTuple_GET_SIZE(names); i += 2) {
        if (PyDict_SetItem(made, PyTuple_GET_ITEM(names, i), PyTuple_GET_ITEM(names, i + 1)) < 0) {
            Py_CLEAR(made);
        }
    }
    if (made == NULL) {
        PyErr_Clear();
    } else {
        *place = made;
        Py_XDECREF(names); /* the dict holds what was in it */
    }
    if (collecting) {
        PyGC_Enable();
    }
}

static PyObject *load_annotations(PyObject **place)
{
    if (*place == NULL || PyTuple_CheckExact(*place)) {
        make_annotations(place);
    }
    return *place != NULL && PyDict_Check(*place) ? *place : NULL;
}

static PyObject *load_function_field(PyObject *owner, const int64_t *operands)
{
    if (!is_python_function(owner)
        || (uint64_t)operands[0] >= sizeof FUNCTION_FIELDS / sizeof *FUNCTION_FIELDS) {
        return NULL;
    }
    size_t offset = FUNCTION_FIELDS[operands[0]];
    PyObject **place = (PyObject **)((char *)owner + offset);
    if (offset == offsetof(PyFunctionObject, func_annotations)) {
        return load_annotations(place);
    }
    return *place == NULL ? Py_None : *place;
}

/* A name of a class written in Python. (The names of other classes do not change.) */
static PyObject *load_class_name(PyObject *owner, const int64_t *operands)
{
    if (!PyType_Check(owner) || !PyType_HasFeature((PyTypeObject *)owner, Py_TPFLAGS_HEAPTYPE)) {
        return NULL;
    }
    PyHeapTypeObject *type = (PyHeapTypeObject *)owner;
    return operands[0] == 0 ? type->ht_name : type->ht_qualname;
}

static PyObject *load_module_dict(PyObject *owner, const int64_t *operands)
{
    return PyModule_CheckExact(owner) ? PyModule_GetDict(owner) : NULL;
}

static PyObject *load_dict(PyObject *owner, const int64_t *operands)
{
    PyObject *dict = raw_instance_dict(owner);
    return dict != NULL && PyDict_Check(dict) ? dict : NULL;
}

static PyObject *load_type(PyObject *owner, const int64_t *operands)
{
    return (PyObject *)Py_TYPE(owner);
}

static PyObject *load_mro_item(PyObject *owner, const int64_t *operands)
{
    PyObject *mro = PyType_Check(owner) ? ((PyTypeObject *)owner)->tp_mro : NULL;
    return mro != NULL && operands[0] >= 0 && operands[0] < PyTuple_GET_SIZE(mro)
               ? PyTuple_GET_ITEM(mro, operands[0])
               : NULL;
}

static PyObject *load_cell(PyObject *owner, const int64_t *operands)
{
    return PyCell_Check(owner) ? PyCell_GET(owner) : NULL;
}

static PyObject *load_method_field(PyObject *owner, const int64_t *operands)
{
    if (!PyMethod_Check(owner)) {
        return NULL;
    }
    return operands[0] == 0 ? PyMethod_GET_SELF(owner) : PyMethod_GET_FUNCTION(owner);
}

/* The list of `[].append`. The descriptor says that the method is `list.append`. */
static PyObject *load_builtin_self(PyObject *owner, const int64_t *operands)
{
    const PyMethodDescrObject *descriptor = (PyMethodDescrObject *)(uintptr_t)operands[0];
    if (!PyCFunction_CheckExact(owner) || ((PyCFunctionObject *)owner)->m_ml != descriptor->d_method) {
        return NULL;
    }
    return ((PyCFunctionObject *)owner)->m_self;
}

static PyTypeObject *deque_type;

int init_guard_loads(void)
{
    PyObject *module = PyImport_ImportModule("collections");
    deque_type = module == NULL ? NULL : (PyTypeObject *)PyObject_GetAttrString(module, "deque");
    Py_XDECREF(module);
    return deque_type == NULL ? -1 : 0;
}

int guard_is_deque(PyObject *object)
{
    return PyObject_TypeCheck(object, deque_type);
}

/* sq_item of the deque type itself runs C code alone, and the deque keeps the item. */
static PyObject *load_deque_item(PyObject *owner, const int64_t *operands)
{
    if (!guard_is_deque(owner) || operands[0] < 0 || operands[0] >= Py_SIZE(owner)) {
        return NULL;
    }
    PyObject *item = deque_type->tp_as_sequence->sq_item(owner, (Py_ssize_t)operands[0]);
    if (item == NULL) {
        PyErr_Clear();
        return NULL;
    }
    Py_DECREF(item);
    return item;
}

static PyObject *load_dict_key(PyObject *owner, const int64_t *operands)
{
    PyObject *key = NULL, *value = NULL;
    return PyDict_Check(owner) && operands[0] >= 0
                   && raw_dict_position(owner, (Py_ssize_t)operands[0], &key, &value) == RAW_FOUND
               ? key
               : NULL;
}

static PyObject *load_dict_value(PyObject *owner, const int64_t *operands)
{
    PyObject *key = NULL, *value = NULL;
    return PyDict_Check(owner) && operands[0] >= 0
                   && raw_dict_position(owner, (Py_ssize_t)operands[0], &key, &value) == RAW_FOUND
               ? value
               : NULL;
}

static PyObject *load_grad(PyObject *owner, const int64_t *operands)
{
    int collecting =
        PyGC_Disable(); /* torch may make the Python object of the gradient: no finalizer may run now */
    PyObject *grad = tensor_grad(owner);
    if (collecting) {
        PyGC_Enable();
    }
    return grad;
}

static PyObject *load_weakref(PyObject *owner, const int64_t *operands)
{
    PyObject *target = Py_IS_TYPE(owner, &_PyWeakref_RefType) ? PyWeakref_GET_OBJECT(owner) : Py_None;
    return target == Py_None ? NULL : target;
}

typedef PyObject *(*Load)(PyObject *owner, const int64_t *operands);
static const Load LOADS[OP_COUNT] = {
    [OP_LOAD_MODULE_DICT] = load_module_dict,
    [OP_LOAD_DICT] = load_dict,
    [OP_LOAD_TYPE] = load_type,
    [OP_LOAD_MRO_ITEM] = load_mro_item,
    [OP_LOAD_FUNCTION_FIELD] = load_function_field,
    [OP_LOAD_CLASS_NAME] = load_class_name,
    [OP_LOAD_CELL] = load_cell,
    [OP_LOAD_METHOD_FIELD] = load_method_field,
    [OP_LOAD_BUILTIN_SELF] = load_builtin_self,
    [OP_LOAD_DEQUE_ITEM] = load_deque_item,
    [OP_LOAD_DICT_KEY] = load_dict_key,
    [OP_LOAD_DICT_VALUE] = load_dict_value,
    [OP_LOAD_ITERATOR_PART] = guard_load_iterator_part,
    [OP_LOAD_GRAD] = load_grad,
    [OP_LOAD_WEAKREF] = load_weakref,
};

PyObject *guard_load_member(int op, PyObject *owner, const int64_t *operands)
{
    return LOADS[op](owner, operands);
}
