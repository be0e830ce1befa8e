/* Entry points of torch's libraries, found by name in what `import torch` has loaded. */
#ifndef CAPTURE_TORCH_SYMBOLS_H
#define CAPTURE_TORCH_SYMBOLS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef void *Handle; /* AtenTensorHandle: an at::Tensor* */

typedef struct {
    /* C ABI of libtorch_cpu (torch/csrc/inductor/aoti_torch/c/shim.h); int results are 0 or an error */
    int (*empty_strided)(int64_t ndim, const int64_t *sizes, const int64_t *strides, int32_t dtype,
                         int32_t device, int32_t index, Handle *out);
    int (*delete_tensor)(Handle);
    int (*get_dim)(Handle, int64_t *), (*get_numel)(Handle, int64_t *),
        (*get_storage_offset)(Handle, int64_t *);
    int (*get_sizes)(Handle, int64_t **), (*get_strides)(Handle, int64_t **);
    int (*get_dtype)(Handle, int32_t *), (*get_device_type)(Handle, int32_t *),
        (*get_device_index)(Handle, int32_t *);
    int (*get_data_ptr)(Handle, void **);
    /* libtorch_python */
    PyObject *(*wrap)(Handle tensor); /* THPVariable_Wrap(at::TensorBase const&) */
    /* A faster way to a new tensor, past the dispatcher; both are NULL where this build or processor does not
     * have it. at::detail::empty_strided_cpu(IntArrayRef, IntArrayRef, ScalarType, bool) returns a TensorBase
     * through a hidden pointer; THPVariable_Wrap(at::TensorBase&&) takes it over. */
    void *(*empty_cpu)(void **tensor, const int64_t *sizes, size_t nsizes, const int64_t *strides,
                       size_t nstrides, int8_t dtype, bool pinned);
    PyObject *(*wrap_moved)(void **tensor);
    /* state of thread and process */
    bool (*grad_mode)(void);
    void (*set_grad_mode)(bool);
    int8_t (*default_dtype)(void);
    int64_t (*function_stack_len)(void), (*dispatch_stack_len)(void);
    int (*function_disabled_state)(void);
    bool (*autocast_enabled)(int8_t device_type), (*autocast_cache)(void);
    int8_t (*autocast_dtype)(int8_t device_type);
    void *(*global_context)(void);
    bool (*deterministic)(const void *), (*deterministic_warn_only)(const void *),
        (*deterministic_fill)(const void *);
    /* objects */
    PyTypeObject *tensor_type, *parameter_type, *module_type, *size_type, *device_type;
    void *context;          /* at::globalContext() */
    char *undefined_tensor; /* the TensorImpl that stands for "no gradient" */
    uint64_t plain_keys;    /* dispatch keys of a dense CPU tensor, without grad_keys */
    uint64_t grad_keys;     /* the keys that autograd adds and inference mode leaves out */
    uint64_t include_default,
        exclude_default; /* the thread's key sets are stored as differences from these */
} TorchSymbols;
extern TorchSymbols torch_symbols;

/* 0, or -1 with an ImportError that names what is missing. */
int load_torch_symbols(void);
/* Learns what a plain tensor looks like, and the thread's default keys. Call it after the accessors work. */
int load_plain_tensor(void);
/* An entry point of libtorch_cpu by name, or NULL. */
void *torch_cpu_symbol(const char *name);
/* This thread's dispatch keys {included, excluded}, as differences from the defaults; NULL where this build
 * of torch does not export them. */
extern _Thread_local uint64_t *torch_own_keys __attribute__((tls_model("initial-exec")));
uint64_t *torch_find_thread_keys(void);
static inline uint64_t *torch_thread_keys(void)
{
    return torch_own_keys != NULL ? torch_own_keys : torch_find_thread_keys();
}
/* Turns off the keys of autograd, and those that track views and versions, for this thread. Gives what
 * enter_autograd takes to restore them. */
uint64_t leave_autograd(void);
void enter_autograd(uint64_t before);
int init_tensor_new(PyObject *module);
int init_torch_build(PyObject *module);

#endif
