/* The extension module `_capture`: a table of parts, each of which adds its own types and functions.
 *
 * A build may leave out the parts that capture_native.h declares weak. `_capture.parts` names those that are
 * present. */

#include "capture_native.h"

typedef struct {
    const char *name;
    int (*init)(PyObject *module);
} Part;

static int init_parts(PyObject *module)
{
    const Part parts[] = {
        {"tensor_access", init_tensor_access},
        {"fake_dispatch", init_fake_dispatch},
        {"guard_program", init_guard_program},
        {"compiled_graph", init_compiled_graph},
        {"plan_template", init_plan_template},
        {"own_product", init_own_product},
        {"narrow_product", init_narrow_product},
        {"set_clone", init_set_clone},
        {"class_relatives", init_class_relatives},
        {"sized_graph", init_sized_graph},
        {"autograd_node", init_autograd_node},
        {"direct_call", init_direct_call},
        {"continuation", init_continuation},
        {"entry", init_entry},
        {"frame", init_frame},
        {"code_entries", init_code_entries},
        {"code_history", init_code_history},
        {"eval_frame", init_eval_frame},
        {"patience", init_patience},
        {"turns", init_turns},
        {"running_loops", init_running_loops},
        {"held_signals", init_held_signals},
        {"hooked_function", init_hooked_function},
        {"converted_inputs", init_converted_inputs},
        {"young_objects", init_young_objects},
        {"file_stamps", init_file_stamps},
        {"mersenne_twister", init_mersenne_twister},
        {"recurrent", init_recurrent},
        {"convolution", init_convolution},
    };
    PyObject *names = PyList_New(0);
    if (names == NULL) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].init == NULL) {
            continue;
        }
        PyObject *name = PyUnicode_FromString(parts[i].name);
        int failed = name == NULL || PyList_Append(names, name) < 0 || parts[i].init(module) < 0;
        Py_XDECREF(name);
        if (failed) {
            Py_DECREF(names);
            return -1;
        }
    }
    PyObject *tuple = PyList_AsTuple(names);
    Py_DECREF(names);
    int failed = tuple == NULL || PyModule_AddObjectRef(module, "parts", tuple) < 0;
    Py_XDECREF(tuple);
    return failed ? -1 : 0;
}

static struct PyModuleDef capture_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_capture",
    .m_doc = "Native half of capture: the frame hook, guard programs, tensor access and compiled graphs.",
    /* Single-phase initialisation: the frame hook is state of the process, so a second interpreter can't have
       its own copy. */
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__capture(void)
{
    PyObject *module = PyModule_Create(&capture_module);
    if (module == NULL) {
        return NULL;
    }
    if (init_parts(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
