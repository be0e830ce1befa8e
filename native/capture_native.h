/* What the parts of the extension share: an init function for each part, and the C interfaces that the frame
 * hook calls.
 *
 * The interface of a part that a build may leave out is weak: test the address before the call. */

#ifndef CAPTURE_NATIVE_H
#define CAPTURE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define CAPTURE_WEAK __attribute__((weak))

/* --- parts: add types and functions to the module; 0, or -1 with an exception ------------------------ */

CAPTURE_WEAK int init_entry(PyObject *module);
CAPTURE_WEAK int init_frame(PyObject *module);
CAPTURE_WEAK int init_continuation(PyObject *module);
CAPTURE_WEAK int init_code_entries(PyObject *module);
CAPTURE_WEAK int init_code_history(PyObject *module);
CAPTURE_WEAK int init_eval_frame(PyObject *module);
CAPTURE_WEAK int init_patience(PyObject *module);
CAPTURE_WEAK int init_turns(PyObject *module);
CAPTURE_WEAK int init_running_loops(PyObject *module);
CAPTURE_WEAK int init_held_signals(PyObject *module);
CAPTURE_WEAK int init_hooked_function(PyObject *module);
CAPTURE_WEAK int init_converted_inputs(PyObject *module);
CAPTURE_WEAK int init_tensor_access(PyObject *module);
CAPTURE_WEAK int init_fake_dispatch(PyObject *module);
CAPTURE_WEAK int init_guard_program(PyObject *module);
CAPTURE_WEAK int init_compiled_graph(PyObject *module);
CAPTURE_WEAK int init_plan_template(PyObject *module);
CAPTURE_WEAK int init_set_clone(PyObject *module);
CAPTURE_WEAK int init_class_relatives(PyObject *module);
CAPTURE_WEAK int init_sized_graph(PyObject *module);
CAPTURE_WEAK int init_own_product(PyObject *module);
CAPTURE_WEAK int init_narrow_product(PyObject *module);
CAPTURE_WEAK int init_autograd_node(PyObject *module);
CAPTURE_WEAK int init_direct_call(PyObject *module);
CAPTURE_WEAK int init_young_objects(PyObject *module);
CAPTURE_WEAK int init_file_stamps(PyObject *module);
CAPTURE_WEAK int init_mersenne_twister(PyObject *module);
CAPTURE_WEAK int init_recurrent(PyObject *module);
CAPTURE_WEAK int init_convolution(PyObject *module);

/* --- a frame as guards see it: all references borrowed ----------------------------------------------- */

typedef struct {
    PyObject *const *locals; /* an item for each of the code's co_nlocalsplus; NULL where unbound */
    Py_ssize_t nlocals;
    PyFunctionObject *function;
    PyObject *globals;
    PyObject *builtins;
} FrameState;

/* Accepts what `capture.compile` gives (hooked_function.c), too: PyFunction_Check knows only the type itself.
 */
static inline int is_python_function(PyObject *object)
{
    return PyObject_TypeCheck(object, &PyFunction_Type);
}

/* --- held_signals.c ---------------------------------------------------------------------------------- */

/* Whether the exception that is set comes from the handler of a signal. */
CAPTURE_WEAK int handler_has_raised(void);

/* --- guard_program.c --------------------------------------------------------------------------------- */

/* -1: all guards hold, and `slots` is filled with borrowed references. Else the index of the guard that
 * failed. */
CAPTURE_WEAK int guard_program_run(PyObject *program, const FrameState *state, PyObject **slots);
CAPTURE_WEAK Py_ssize_t guard_program_nslots(PyObject *program);
CAPTURE_WEAK int guard_program_check(PyObject *object); /* is it a GuardProgram? */

/* --- compiled_graph.c, compiled_graph_type.c --------------------------------------------------------- */

/* 0 with new references in `outs`, or -1 with an exception. */
CAPTURE_WEAK int compiled_graph_run(PyObject *graph, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject **outs);
/* Sets _capture.CheckFailed: the graph has done nothing, and eager has to run the program. */
void compiled_graph_refuse(const char *why);
CAPTURE_WEAK Py_ssize_t compiled_graph_nouts(PyObject *graph);
/* Was the graph made for last arguments that lie like these? Expanded ones, and those with gaps, do. */
CAPTURE_WEAK int compiled_graph_expects(PyObject *graph, PyObject *const *last, int64_t count);
CAPTURE_WEAK int compiled_graph_check(PyObject *object); /* is it a CompiledGraph? */

#endif
