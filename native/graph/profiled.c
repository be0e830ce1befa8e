/* Ranges of torch's profiler, through torch's RecordFunction: see profiled.h.
 *
 * In:  the name of a graph or kernel.
 * Out: a range from range_begin to range_end, which the profiler shows.
 */
#include "graph/profiled.h"

#include <dlfcn.h>
#include <stdint.h>

static bool (*has_callbacks)(void);
static int32_t (*record_start)(const char *name, void *kwargs, void **inputs, uint64_t ninputs, void **range);
static int32_t (*record_end)(void *range);

bool profiler_runs(void)
{
    return has_callbacks != NULL && has_callbacks();
}

void *range_begin(PyObject *name)
{
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "captured graph";
    void *range = NULL;
    if (text == NULL) {
        PyErr_Clear(); /* a name that is no UTF-8: the profiler shows nothing */
        return NULL;
    }
    return record_start(text, NULL, NULL, 0, &range) == 0 ? range : NULL;
}

void range_end(void *range)
{
    if (range != NULL) {
        record_end(range);
    }
}

void init_profiled(void)
{
    void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    if (library == NULL || has_callbacks != NULL) {
        return;
    }
    *(void **)&record_start = dlsym(library, "aoti_record_function_start");
    *(void **)&record_end = dlsym(library, "aoti_record_function_end");
    if (record_start != NULL && record_end != NULL) {
        *(void **)&has_callbacks = dlsym(library, "_ZN2at12hasCallbacksEv");
    }
}
