/* Finds torch's entry points, and reads the state of thread and process through them: see torch_symbols.h. */
#define PY_SSIZE_T_CLEAN
#include "tensors/torch_symbols.h"
#include "tensors/tensor_access.h"
#include "tensors/tensor_methods.h"

#include <dlfcn.h>

TorchSymbols torch_symbols;

typedef struct {
    const char *library;
    const char *name;
    void **target;
} Wanted;

#define CPU "libtorch_cpu.so"
#define C10 "libc10.so"
#define PYTHON "libtorch_python.so"

static const Wanted WANTED[] = {
    {CPU, "aoti_torch_empty_strided", (void **)&torch_symbols.empty_strided},
    {CPU, "aoti_torch_delete_tensor_object", (void **)&torch_symbols.delete_tensor},
    {CPU, "aoti_torch_get_dim", (void **)&torch_symbols.get_dim},
    {CPU, "aoti_torch_get_numel", (void **)&torch_symbols.get_numel},
    {CPU, "aoti_torch_get_storage_offset", (void **)&torch_symbols.get_storage_offset},
    {CPU, "aoti_torch_get_sizes", (void **)&torch_symbols.get_sizes},
    {CPU, "aoti_torch_get_strides", (void **)&torch_symbols.get_strides},
    {CPU, "aoti_torch_get_dtype", (void **)&torch_symbols.get_dtype},
    {CPU, "aoti_torch_get_device_type", (void **)&torch_symbols.get_device_type},
    {CPU, "aoti_torch_get_device_index", (void **)&torch_symbols.get_device_index},
    {CPU, "aoti_torch_get_data_ptr", (void **)&torch_symbols.get_data_ptr},
    {PYTHON, "_Z16THPVariable_WrapRKN2at10TensorBaseE", (void **)&torch_symbols.wrap},
    {C10, "_ZN3c108GradMode10is_enabledEv", (void **)&torch_symbols.grad_mode},
    {C10, "_ZN3c108GradMode11set_enabledEb", (void **)&torch_symbols.set_grad_mode},
    {C10, "_ZN3c1031get_default_dtype_as_scalartypeEv", (void **)&torch_symbols.default_dtype},
    {CPU, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv", (void **)&torch_symbols.function_stack_len},
    {CPU, "_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv",
     (void **)&torch_symbols.function_disabled_state},
    {C10, "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv", (void **)&torch_symbols.dispatch_stack_len},
    {CPU, "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE",
     (void **)&torch_symbols.autocast_enabled},
    {CPU, "_ZN2at8autocast25is_autocast_cache_enabledEv", (void **)&torch_symbols.autocast_cache},
    {CPU, "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE", (void **)&torch_symbols.autocast_dtype},
    {CPU, "_ZN2at13globalContextEv", (void **)&torch_symbols.global_context},
    {CPU, "_ZNK2at7Context23deterministicAlgorithmsEv", (void **)&torch_symbols.deterministic},
    {CPU, "_ZNK2at7Context31deterministicAlgorithmsWarnOnlyEv",
     (void **)&torch_symbols.deterministic_warn_only},
    {CPU, "_ZNK2at7Context36deterministicFillUninitializedMemoryEv",
     (void **)&torch_symbols.deterministic_fill},
};

static const Wanted OPTIONAL[] = {
/* These C++ functions are called by the rules of this processor's C++ ABI. Only on x86-64 is the place of a
 * result in memory an ordinary first argument. */
#if defined(__x86_64__)
    {CPU, "_ZN2at6detail17empty_strided_cpuEN3c108ArrayRefIlEES3_NS1_10ScalarTypeEb",
     (void **)&torch_symbols.empty_cpu},
    {PYTHON, "_Z16THPVariable_WrapON2at10TensorBaseE", (void **)&torch_symbols.wrap_moved},
#endif
    {NULL, NULL, NULL},
};

/* Libraries that `import torch` has loaded; the reference to each is kept for the life of the process. */
static void *find_symbol(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    return handle == NULL ? NULL : dlsym(handle, name);
}

void *torch_cpu_symbol(const char *name)
{
    return find_symbol(CPU, name);
}

static PyTypeObject *torch_type(const char *module_name, const char *name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *type = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    Py_XDECREF(module);
    if (type != NULL && !PyType_Check(type)) {
        PyErr_Format(PyExc_TypeError, "%s.%s is not a type", module_name, name);
        Py_CLEAR(type);
    }
    return (PyTypeObject *)type;
}

int load_torch_symbols(void)
{
    if (torch_symbols.tensor_type != NULL) {
        return 0;
    }
    PyObject *torch = PyImport_ImportModule("torch");
    if (torch == NULL) {
        return -1;
    }
    Py_DECREF(torch);
    for (size_t i = 0; i < sizeof WANTED / sizeof *WANTED; i++) {
        *WANTED[i].target = find_symbol(WANTED[i].library, WANTED[i].name);
        if (*WANTED[i].target == NULL) {
            PyErr_Format(PyExc_ImportError,
                         "this build of torch has no %s in %s, which capture's native code needs; use "
                         "hook='settrace', or torch 2.13",
                         WANTED[i].name, WANTED[i].library);
            return -1;
        }
    }
    for (const Wanted *wanted = OPTIONAL; wanted->name != NULL; wanted++) {
        *wanted->target = find_symbol(wanted->library, wanted->name);
    }
    torch_symbols.context = torch_symbols.global_context();
    const struct {
        PyTypeObject **target;
        const char *module, *name;
    } types[] = {
        {&torch_symbols.parameter_type, "torch.nn", "Parameter"},
        {&torch_symbols.module_type, "torch.nn", "Module"},
        {&torch_symbols.size_type, "torch", "Size"},
        {&torch_symbols.device_type, "torch", "device"},
        {&torch_symbols.tensor_type, "torch", "Tensor"}, /* last: says that all is loaded */
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *types[i].target = torch_type(types[i].module, types[i].name);
        if (*types[i].target == NULL) {
            return -1;
        }
    }
    return 0;
}

/* --- state of the thread ----------------------------------------------------------------------------- */

/* c10::impl::raw_local_dispatch_key_set: {included, excluded}, both as differences from the defaults. dlsym
 * gives this thread's copy. */
_Thread_local uint64_t *torch_own_keys __attribute__((tls_model("initial-exec")));

uint64_t *torch_find_thread_keys(void)
{
    return torch_own_keys = find_symbol(C10, "_ZN3c104impl26raw_local_dispatch_key_setE");
}

uint64_t leave_autograd(void)
{
    uint64_t *keys = torch_thread_keys(), before = keys[1];
    keys[1] =
        ((before ^ torch_symbols.exclude_default) | torch_symbols.grad_keys) ^ torch_symbols.exclude_default;
    return before;
}

void enter_autograd(uint64_t before)
{
    torch_thread_keys()[1] = before;
}

/* In the order of guards.properties.global_state.GlobalState. */
enum {
    GRAD_MODE,
    INCLUDE_KEYS,
    EXCLUDE_KEYS,
    DEFAULT_DTYPE,
    DETERMINISTIC,
    WARN_ONLY,
    FILL,
    FUNCTION_MODES,
    FUNCTION_ENABLED,
    DISPATCH_MODES,
    AUTOCAST,
    AUTOCAST_DTYPE,
    AUTOCAST_CACHE,
    METHODS_REPLACED
};

/* Of what fits each grad mode: ANY_MODE of global_state.py. */
enum { ANY_MODE = -1 };

void tensor_global_state(int64_t out[GLOBAL_STATE_FIELDS])
{
    const TorchSymbols *t = &torch_symbols;
    const uint64_t *keys = torch_thread_keys();
    int autocast = t->autocast_enabled(0);
    out[GRAD_MODE] = t->grad_mode();
    out[INCLUDE_KEYS] = (int64_t)(keys[0] ^ t->include_default);
    out[EXCLUDE_KEYS] = (int64_t)(keys[1] ^ t->exclude_default);
    out[DEFAULT_DTYPE] = t->default_dtype();
    out[DETERMINISTIC] = t->deterministic(t->context);
    out[WARN_ONLY] = t->deterministic_warn_only(t->context);
    out[FILL] = t->deterministic_fill(t->context);
    out[FUNCTION_MODES] = t->function_stack_len();
    out[FUNCTION_ENABLED] = t->function_disabled_state() == 0;
    out[DISPATCH_MODES] = t->dispatch_stack_len();
    out[AUTOCAST] = autocast;
    out[AUTOCAST_DTYPE] =
        autocast ? t->autocast_dtype(0) : 0; /* the dtype of an autocast that is off does not count */
    out[AUTOCAST_CACHE] = autocast ? t->autocast_cache() : 0;
    out[METHODS_REPLACED] = tensor_methods_replaced();
}

/* The first mode on the dispatch stack and the first autocast change the thread's keys. So where the keys are
 * equal and none was expected, there is none: no second look is needed. */
int tensor_global_state_is(const int64_t expected[GLOBAL_STATE_FIELDS])
{
    const TorchSymbols *t = &torch_symbols;
    const uint64_t *keys = torch_thread_keys();
    if ((int64_t)(keys[0] ^ t->include_default) != expected[INCLUDE_KEYS]
        || (int64_t)(keys[1] ^ t->exclude_default) != expected[EXCLUDE_KEYS]
        || (expected[GRAD_MODE] != ANY_MODE && t->grad_mode() != expected[GRAD_MODE])
        || t->default_dtype() != expected[DEFAULT_DTYPE]
        || t->deterministic(t->context) != expected[DETERMINISTIC]
        || t->deterministic_fill(t->context) != expected[FILL]
        || t->deterministic_warn_only(t->context) != expected[WARN_ONLY]
        || t->function_stack_len() != expected[FUNCTION_MODES]
        || (t->function_disabled_state() == 0) != expected[FUNCTION_ENABLED]
        || tensor_methods_replaced() != expected[METHODS_REPLACED]) {
        return 0;
    }
    if (expected[DISPATCH_MODES] != 0 && t->dispatch_stack_len() != expected[DISPATCH_MODES]) {
        return 0;
    }
    return !expected[AUTOCAST]
           || (t->autocast_enabled(0) && t->autocast_dtype(0) == expected[AUTOCAST_DTYPE]
               && t->autocast_cache() == expected[AUTOCAST_CACHE]);
}

/* --- what Python says once --------------------------------------------------------------------------- */

static int call_raw_keys(PyObject *torch_c, const char *function, PyObject *argument, uint64_t *out)
{
    PyObject *keys = argument == NULL ? PyObject_CallMethod(torch_c, function, NULL)
                                      : PyObject_CallMethod(torch_c, function, "O", argument);
    PyObject *raw = keys == NULL ? NULL : PyObject_CallMethod(keys, "raw_repr", NULL);
    Py_XDECREF(keys);
    if (raw == NULL) {
        return -1;
    }
    *out = PyLong_AsUnsignedLongLong(raw);
    Py_DECREF(raw);
    return PyErr_Occurred() ? -1 : 0;
}

static int load_thread_defaults(PyObject *torch_c)
{
    uint64_t included, excluded;
    if (torch_thread_keys() == NULL) {
        PyErr_SetString(
            PyExc_ImportError,
            "this build of torch does not export its thread's dispatch keys; use hook='settrace'");
        return -1;
    }
    if (call_raw_keys(torch_c, "_dispatch_tls_local_include_set", NULL, &included) < 0
        || call_raw_keys(torch_c, "_dispatch_tls_local_exclude_set", NULL, &excluded) < 0) {
        return -1;
    }
    torch_symbols.include_default = included ^ torch_thread_keys()[0];
    torch_symbols.exclude_default = excluded ^ torch_thread_keys()[1];
    return 0;
}

/* An ordinary tensor and one made in inference mode differ by the keys of autograd. */
static int load_tensor_keys(PyObject *torch_c)
{
    PyObject *module = PyImport_ImportModule("guards.properties.tensor");
    PyObject *samples = module == NULL ? NULL : PyObject_CallMethod(module, "samples", NULL);
    Py_XDECREF(module);
    PyObject *tensor, *leaf, *made_in_inference;
    uint64_t ordinary, inference;
    if (samples == NULL || !PyArg_ParseTuple(samples, "OOO", &tensor, &leaf, &made_in_inference)
        || call_raw_keys(torch_c, "_dispatch_keys", tensor, &ordinary) < 0
        || call_raw_keys(torch_c, "_dispatch_keys", made_in_inference, &inference) < 0) {
        Py_XDECREF(samples);
        return -1;
    }
    torch_symbols.grad_keys = ordinary ^ inference;
    torch_symbols.plain_keys = ordinary & ~torch_symbols.grad_keys;
    if (tensor_offsets.by_offset) {
        char *impl = *(char **)tensor_handle(leaf), *meta = *(char **)(impl + tensor_offsets.autograd_meta);
        torch_symbols.undefined_tensor = *(char **)(meta + tensor_offsets.meta_grad);
    }
    Py_DECREF(samples);
    return 0;
}

int load_plain_tensor(void)
{
    PyObject *torch_c = PyImport_ImportModule("torch._C");
    int status = torch_c == NULL || load_thread_defaults(torch_c) < 0 ? -1 : load_tensor_keys(torch_c);
    Py_XDECREF(torch_c);
    return status;
}
