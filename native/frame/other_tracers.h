/* Whether somebody else follows what a thread runs: a tracer of TorchScript, a dispatch mode (fake tensors,
 * make_fx, a mode of the program), a functorch transform, torch.fx, torch.compile, autograd's anomaly mode,
 * or a trace or profile function of Python. They have to see each operation, so frames run as Python then.
 *
 * In:  torch's dispatch keys of the thread, the flags of torch.fx and autograd, the state of the thread.
 * Out: thread_is_followed(tstate), which each frame asks. */

#ifndef CAPTURE_OTHER_TRACERS_H
#define CAPTURE_OTHER_TRACERS_H

#include "frame/pyversion_objects.h"
#include "frame/thread_hook.h"
#include "tensors/torch_symbols.h"

typedef struct {
    uint64_t keys;         /* each of these keys in a thread means that torch follows it; 0: not known yet */
    PyObject *fx_flag;     /* the name of the flag of torch.fx */
    PyObject *fx_local;    /* the threading.local that has it; or NULL */
    PyDictObject *fx_dict; /* else the dict that has it */
    int64_t fx_version;    /* of fx_dict when `fx_traces` was read */
    int fx_traces;
    const bool *anomaly_mode;   /* of the process; or NULL: this build of torch does not export it */
    PyObject *compile_callback; /* a function that gives torch.compile's callback on this thread; or NULL */
} OtherTracers;

extern OtherTracers other_tracers;

/* Reads the flag of torch.fx again: that of the process, or that of this thread. */
int other_tracers_read_flag(void);
int other_tracers_read_local_flag(void);

static inline int torch_follows_thread(void)
{
    if (other_tracers.keys == 0) {
        return 0;
    }
    if (torch_thread_keys()[0] & other_tracers.keys) {
        return 1;
    }
    if (other_tracers.anomaly_mode != NULL && *other_tracers.anomaly_mode) {
        return 1;
    }
    if (other_tracers.fx_local != NULL) {
        return other_tracers_read_local_flag();
    }
    return dict_version(other_tracers.fx_dict) == other_tracers.fx_version ? other_tracers.fx_traces
                                                                           : other_tracers_read_flag();
}

/* Whether torch.compile captures the frames of this thread. Its evaluator is installed then. */
int torch_compile_captures(void);

static inline int thread_is_followed(PyThreadState *tstate)
{
    return thread_is_traced(tstate) || torch_follows_thread()
           || ((previous_evaluator != CPYTHON_EVALUATOR
                || evaluator_of(PyThreadState_GetInterpreter(tstate)) != eval_frame)
               && torch_compile_captures());
}

/* Adds `follow_other_tracers`. */
int init_other_tracers(PyObject *module);

#endif
